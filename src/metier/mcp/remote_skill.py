"""A skill that another MCP server offers, as far as its listing tells: checked before anything is believed.

A server is a stranger. Its entries are taken only if they are complete and consistent, its files only if they have
the size and digest that the entry names, its SKILL.md only if that says what the entry says. A digest that matches is
no reason to trust; it only means that what was approved is what is used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, unquote

from metier.catalog import Offer, OfferFlag, encoded_needs
from metier.errors import RefusedError
from metier.spec import SKILL_FILE, Json, MapNode, is_name, read_yaml, resource_path, split_document, to_json, to_text
from metier.values import dataclass, field, replace

from .published_skill import MOST_BYTES, MOST_FILES, ListedFile

__all__ = ["RemoteSkill", "labelled", "offer_of_remote", "read_entry"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SKILL_URI = re.compile(r"(?P<root>[A-Za-z][A-Za-z0-9+.-]*://(?P<path>(?:(?![?#])[!-~])+))/SKILL\.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSkill:
    server: str
    """What the user calls the server: with the URI it is the skill's identity, and its name alone never is."""
    uri: str
    frontmatter: Mapping[str, Json]
    files: Mapping[str, ListedFile] | None
    """By path; None where the server makes them up as it goes, so that nothing can be verified."""
    uris: Mapping[str, str] = field(default_factory=dict)
    """Of the files, as the server writes them."""
    label: str = ""
    """Its name here, in which the server is always part: a stranger's skill never has the name of one of ours."""

    @property
    def name(self) -> str:
        return str(self.frontmatter["name"])

    @property
    def root(self) -> str:
        return self.uri.removesuffix(f"/{SKILL_FILE}")

    @property
    def path(self) -> str:
        return self.root.partition("://")[2]

    @property
    def folder(self) -> str:
        """Where it is, for people and models: an address that names the origin and no path of this machine."""
        return f"mcp://{self.server}/{self.path}"

    @property
    def digest(self) -> str:
        """Of all that an approval is bound to: every file, and what the entry says. Empty where nothing can be pinned."""
        if self.files is None:
            return ""
        files = {path: [listed.size, listed.digest] for path, listed in self.files.items()}
        text = json.dumps([self.server, self.uri, dict(self.frontmatter), files], sort_keys=True)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def uri_of(self, path: str) -> str:
        return self.uris.get(path) or f"{self.root}/{quote(path)}"

    def verified(self, path: str, data: bytes) -> bytes:
        """The same bytes, if they are what the entry promised."""
        if self.files is not None:
            if path not in self.files:
                raise self._refused(f"lists no file {path!r}", "unlisted")
            listed = self.files[path]
            if len(data) != listed.size:
                raise self._refused(f"sent {len(data):,} bytes as {path!r}, and listed {listed.size:,}", "size")
            if ListedFile.of(data).digest != listed.digest:
                raise self._refused(f"sent other content as {path!r} than it listed", "digest")
        if path == SKILL_FILE and not _says(data, self.frontmatter):
            raise self._refused("sent a SKILL.md that says other things than its listing", "frontmatter")
        return data

    def _refused(self, what: str, rule: str) -> RefusedError:
        return RefusedError(
            f"the MCP server {self.server!r} {what}", rule=f"mcp-{rule}",
            hint=f"nothing of it was used; `metier mcp refresh {self.server}` asks for the listing again",
        )  # fmt: skip


def read_entry(server: str, entry: object) -> RemoteSkill:
    """One entry of a server's listing; Refused with the reason if it breaks the extension's rules."""
    fields = entry if isinstance(entry, dict) else {}
    uri, head = fields.get("uri"), fields.get("frontmatter")
    match = _SKILL_URI.fullmatch(uri) if isinstance(uri, str) else None
    if match is None or not isinstance(uri, str):
        raise _invalid(server, "an entry has no URI of a SKILL.md")
    if not isinstance(head, dict) or not all(isinstance(key, str) for key in head):
        raise _invalid(server, f"{uri} has no frontmatter")
    name, description = head.get("name"), head.get("description")
    if not isinstance(name, str) or not is_name(name) or unquote(match["path"].rpartition("/")[2]) != name:
        raise _invalid(server, f"{uri} is not named as its URI says")
    if not isinstance(description, str) or not 0 < len(description.strip()) <= 1024:
        raise _invalid(server, f"{uri} has no description of up to 1,024 characters")
    if _is_deep(head):
        raise _invalid(server, f"{uri} has a frontmatter that is nested too deeply")
    if fields.get("resources") == "dynamic":
        return RemoteSkill(server=server, uri=uri, frontmatter=head, files=None)
    files, uris = _files(server, uri, match["root"], fields.get("resources"))
    return RemoteSkill(server=server, uri=uri, frontmatter=head, files=files, uris=uris)


def labelled(skills: Sequence[RemoteSkill]) -> tuple[RemoteSkill, ...]:
    """Each with its name here: `server:name`, and the whole path where one server has two of a name."""
    names = [skill.name for skill in skills]
    labels = [skill.name if names.count(skill.name) == 1 else skill.path for skill in skills]
    return tuple(replace(skill, label=f"{skill.server}:{label}") for skill, label in zip(skills, labels, strict=True))


def offer_of_remote(skill: RemoteSkill) -> Offer:
    """As a catalog has it. Of the frontmatter only what describes is taken: a stranger grants itself nothing."""
    head = {key: value for key in ("license", "compatibility") if isinstance(value := skill.frontmatter.get(key), str)}
    about = f"{str(skill.frontmatter['description']).strip()} (From the MCP server {skill.server}.)"
    fields = json.dumps(head) if head else ""
    flags = OfferFlag.HIDDEN_FROM_MODEL if skill.frontmatter.get("disable-model-invocation") in (True, "true") else 0
    number = int(skill.digest.rpartition(":")[2][:15] or "0", 16)
    needs = encoded_needs(head.get("compatibility", ""), "")
    # The number stands where a file's time would: another digest is another skill to every cache.
    return Offer(skill.folder, number, len(fields), skill.label, about, flags, needs, fields)


def _files(server: str, uri: str, root: str, resources: object) -> tuple[dict[str, ListedFile], dict[str, str]]:
    if not isinstance(resources, list):
        raise _invalid(server, f"{uri} lists no resources")
    if len(resources) > MOST_FILES:
        raise _invalid(server, f"{uri} has {len(resources):,} files, and {MOST_FILES} are allowed")
    files: dict[str, ListedFile] = {}
    uris: dict[str, str] = {}
    for row in resources:
        fields = row if isinstance(row, dict) else {}
        where, digest, size = fields.get("uri"), fields.get("digest"), fields.get("size")
        if not isinstance(where, str) or not where.startswith(f"{root}/") or "?" in where or "#" in where:
            raise _invalid(server, f"{uri} lists a file that is not below it")
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise _invalid(server, f"{uri} lists a file without a SHA-256")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise _invalid(server, f"{uri} lists a file without a size")
        path = _path(server, uri, where[len(root) + 1 :])
        if path in files:
            raise _invalid(server, f"{uri} lists {path!r} twice")
        files[path], uris[path] = ListedFile(size, digest), where
    if any(parent in files for path in files for parent in _parents(path)):
        raise _invalid(server, f"{uri} lists a file as a folder")
    if SKILL_FILE not in files:
        raise _invalid(server, f"{uri} does not list its SKILL.md")
    if sum(each.size for each in files.values()) > MOST_BYTES:
        raise _invalid(server, f"{uri} is larger than {MOST_BYTES:,} bytes")
    return files, uris


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _path(server: str, uri: str, quoted: str) -> str:
    parts = quoted.split("/")
    try:
        names = [unquote(part, errors="strict") for part in parts]
        clean = resource_path("/".join(names))
    except (RefusedError, UnicodeDecodeError):
        raise _invalid(server, f"{uri} lists a path that leads elsewhere") from None
    # A path that is another one once it is cleaned, or that hides a slash, has two readings: none is taken.
    if clean != "/".join(names) or any("/" in name for name in names):
        raise _invalid(server, f"{uri} lists a path that leads elsewhere")
    return clean


def _says(data: bytes, expected: Mapping[str, Json]) -> bool:
    """Does a SKILL.md say what its entry does, field by field? A number may be told as the text that stands there."""
    tree = read_yaml(split_document(data).frontmatter)
    if not isinstance(tree.root, MapNode) or tree.problems:
        return False
    written = {key.text: value for key, value in tree.root.entries}
    if written.keys() != expected.keys():
        return False
    return all(expected[key] in (to_json(value), to_text(value)) for key, value in written.items())


def _is_deep(value: Json, left: int = 24) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left == 0 or any(_is_deep(each, left - 1) for each in inner)


def _invalid(server: str, why: str) -> RefusedError:
    return RefusedError(f"the MCP server {server!r}: {why}", rule="mcp-entry", hint="its author must mend the listing")
