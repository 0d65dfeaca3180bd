"""A skill that another MCP server lists. Nothing of it is used before it is checked.

A remote server is not trusted. Its entries must be complete and consistent, its files must have the size and digest of the
entry, and its SKILL.md must agree with the entry. A matching digest is no reason to trust a skill; it only means that the
files in use are the ones that were approved.
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
    """The user's name for the server. Server and URI together identify the skill."""
    uri: str
    frontmatter: Mapping[str, Json]
    files: Mapping[str, ListedFile] | None
    """By path; None if the server generates them, so that they cannot be verified."""
    uris: Mapping[str, str] = field(default_factory=dict)
    """The URIs of the files, as the server spells them."""
    label: str = ""
    """Its local name. It contains the server's name, so it never equals the name of a local skill."""

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
        """An address for users and models: it names the origin, and no path on this machine."""
        return f"mcp://{self.server}/{self.path}"

    @property
    def digest(self) -> str:
        """The digest that approvals are bound to: of every file and of the entry. Empty if the files cannot be verified."""
        if self.files is None:
            return ""
        files = {path: [listed.size, listed.digest] for path, listed in self.files.items()}
        text = json.dumps([self.server, self.uri, dict(self.frontmatter), files], sort_keys=True)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def uri_of(self, path: str) -> str:
        return self.uris.get(path) or f"{self.root}/{quote(path)}"

    def verified(self, path: str, data: bytes) -> bytes:
        """Returns the bytes if they match the entry; raises RefusedError otherwise."""
        if self.files is not None:
            if path not in self.files:
                raise self._refused(f"lists no file {path!r}", "unlisted")
            listed = self.files[path]
            if len(data) != listed.size:
                raise self._refused(f"sent {len(data):,} bytes for {path!r} but listed {listed.size:,}", "size")
            if ListedFile.of(data).digest != listed.digest:
                raise self._refused(f"sent different content for {path!r} than it listed", "digest")
        if path == SKILL_FILE and not _says(data, self.frontmatter):
            raise self._refused("sent a SKILL.md that differs from its listing", "frontmatter")
        return data

    def _refused(self, what: str, rule: str) -> RefusedError:
        return RefusedError(
            f"the MCP server {self.server!r} {what}", rule=f"mcp-{rule}",
            hint=f"the file was not used; `metier mcp refresh {self.server}` fetches the listing again",
        )  # fmt: skip


def read_entry(server: str, entry: object) -> RemoteSkill:
    """Parses one entry of a server's listing. Raises RefusedError if it breaks the extension's rules."""
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
    """Sets the local names: `server:name`, or the whole path if a server has two skills of one name."""
    names = [skill.name for skill in skills]
    labels = [skill.name if names.count(skill.name) == 1 else skill.path for skill in skills]
    return tuple(replace(skill, label=f"{skill.server}:{label}") for skill, label in zip(skills, labels, strict=True))


def offer_of_remote(skill: RemoteSkill) -> Offer:
    """Returns the catalog's offer. Only descriptive fields are taken: a remote skill cannot grant itself permissions."""
    head = {key: value for key in ("license", "compatibility") if isinstance(value := skill.frontmatter.get(key), str)}
    about = f"{str(skill.frontmatter['description']).strip()} (From the MCP server {skill.server}.)"
    fields = json.dumps(head) if head else ""
    flags = OfferFlag.HIDDEN_FROM_MODEL if skill.frontmatter.get("disable-model-invocation") in (True, "true") else 0
    number = int(skill.digest.rpartition(":")[2][:15] or "0", 16)
    needs = encoded_needs(head.get("compatibility", ""), "")
    # The number takes the place of a file's time, so that caches see another digest as a change.
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
    # A path that changes when it is normalised, or contains an encoded slash, is ambiguous and rejected.
    if clean != "/".join(names) or any("/" in name for name in names):
        raise _invalid(server, f"{uri} lists a path that leads elsewhere")
    return clean


def _says(data: bytes, expected: Mapping[str, Json]) -> bool:
    """Returns True if a SKILL.md agrees with its entry, field by field. A number may be given as its text."""
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
