"""A skill as the Skills extension of MCP (SEP-2640) lists it: a URI, the frontmatter as JSON, every file with size and digest.

Some clients drop a whole listing because of one invalid entry. So a skill that breaks the extension's rules is withheld
with the reason, even if other loaders accept it; the tools and prompts still offer it.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final
from urllib.parse import quote, unquote

from metier.catalog import Entry
from metier.errors import MetierError, RefusedError
from metier.sources import DiskFiles
from metier.spec import (
    SKILL_FILE,
    Files,
    Json,
    MapNode,
    OwnFiles,
    Verdict,
    is_name,
    parse,
    read_yaml,
    resource_path,
    split_document,
    to_json,
    to_text,
)
from metier.values import dataclass

__all__ = [
    "DIRECTORY",
    "EXTENSION",
    "MOST_BYTES",
    "MOST_FILES",
    "SCHEME",
    "ListedFile",
    "PublishedSkill",
    "WithheldSkill",
    "frontmatter",
    "is_text",
    "media_type",
    "publish_entry",
]

EXTENSION: Final = "io.modelcontextprotocol/skills"
SCHEME: Final = "skill://"
MOST_FILES: Final = 512
MOST_BYTES: Final = 16 * 1024 * 1024
# The standard's string fields stay strings: `version: 1.0` below `metadata` is the string 1.0.
_TEXTS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_FORGIVEN = frozenset({"SK160"})
"""Keys that the standard does not define are kept, as the extension requires."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of a skill, as it was when it was listed."""

    size: int
    digest: str
    """`sha256:` and 64 hexadecimal digits, of the raw bytes."""

    @classmethod
    def of(cls, data: bytes) -> ListedFile:
        return cls(len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")


@dataclass(frozen=True)  # no slots: the answer is worked out once
class PublishedSkill:
    source: Entry
    frontmatter: Mapping[str, Json]
    files: Mapping[str, ListedFile]
    """By path inside the skill, SKILL.md first."""

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def uri(self) -> str:
        return self.uri_of(SKILL_FILE)

    def uri_of(self, path: str) -> str:
        return f"{SCHEME}{self.name}/{quote(path)}"

    @cached_property
    def entry(self) -> dict[str, Json]:
        """The entry of `skills/list` and `skills/get`."""
        resources: list[Json] = [
            {"uri": self.uri_of(path), "digest": listed.digest, "size": listed.size} for path, listed in self.files.items()
        ]
        return {"uri": self.uri, "frontmatter": dict(self.frontmatter), "resources": resources}

    def read(self, path: str) -> bytes:
        """Returns the current content of a listed file. A file that is not listed cannot be verified, so it is not served."""
        if path not in self.files:
            raise RefusedError(
                f"{self.name} lists no file {path!r}", rule="unlisted", hint="read only what the skill's entry lists"
            )
        return DiskFiles(self.source.folder).read(path, limit=MOST_BYTES)


@dataclass(frozen=True, slots=True)
class WithheldSkill:
    """A skill that breaks the extension's rules, and why."""

    source: Entry
    reason: str


def publish_entry(entry: Entry) -> PublishedSkill | WithheldSkill:
    """Reads the skill in an entry's folder and computes the digests of its files."""
    try:
        return _publish(entry, DiskFiles(entry.folder))
    except (MetierError, OSError) as error:
        return WithheldSkill(entry, str(error))


def frontmatter(data: bytes) -> dict[str, Json]:
    """The head of a SKILL.md as JSON, all keys; empty where there is none."""
    tree = read_yaml(split_document(data).frontmatter)
    if not isinstance(tree.root, MapNode):
        return {}
    return {key.text: to_text(value) if key.text in _TEXTS else to_json(value) for key, value in tree.root.entries}


def path_in(uri: str) -> tuple[str, str]:
    """Splits a URI into skill and path; the path is empty for the skill's own folder. Raises RefusedError for other URIs."""
    match = re.fullmatch(r"skill://([^/?#]+)(?:/([^?#]*))?", uri)
    if match is None:
        raise RefusedError(f"{uri!r} is not the URI of a skill's file", rule="uri", hint="such as skill://pdf-forms/SKILL.md")
    # Split before it is unquoted: an encoded slash is part of a name, and no name here has one.
    parts = [unquote(part, errors="strict") for part in (match[2] or "").split("/") if part]
    if any("/" in part for part in parts):
        raise RefusedError(f"{uri!r} hides a slash", rule="uri", hint="write the path plainly")
    return unquote(match[1]), resource_path("/".join(parts)) if parts else ""


def _publish(entry: Entry, files: Files) -> PublishedSkill | WithheldSkill:
    if not is_name(entry.name):
        return WithheldSkill(entry, f"the name {entry.name!r} breaks the standard's rules")
    listing = list(OwnFiles(files).list())
    if len(listing) > MOST_FILES:
        return WithheldSkill(entry, f"it has {len(listing):,} files, and the extension allows {MOST_FILES}")
    if sum(each.size for each in listing) > MOST_BYTES:
        return WithheldSkill(entry, f"it is larger than {MOST_BYTES:,} bytes")
    data = files.read(SKILL_FILE, limit=MOST_BYTES)
    report = parse(data, folder=entry.name, verdict=Verdict.STRICT).report
    for problem in report.errors:
        if problem.code not in _FORGIVEN:
            return WithheldSkill(entry, problem.message)
    listed = {SKILL_FILE: ListedFile.of(data)}
    for each in listing:
        if each.path != SKILL_FILE:
            listed[each.path] = ListedFile.of(files.read(each.path, limit=MOST_BYTES))
    return PublishedSkill(entry, frontmatter(data), listed)


DIRECTORY = "inode/directory"
_TEXT = frozenset({"application/json", "application/xml", "application/javascript", "application/yaml", "image/svg+xml"})
# Types that Python's table lacks or has differently.
_TYPES = {
    ".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript", ".ts": "text/x-typescript",
    ".js": "text/javascript", ".json": "application/json", ".toml": "text/x-toml", ".yaml": "application/yaml",
    ".yml": "application/yaml", ".csv": "text/csv", ".txt": "text/plain", ".html": "text/html", ".css": "text/css",
}  # fmt: skip


def media_type(path: str) -> str:
    suffix = f".{path.rpartition('.')[2].lower()}" if "." in path.rpartition("/")[2] else ""
    return _TYPES.get(suffix) or mimetypes.guess_type(path, strict=False)[0] or "application/octet-stream"


def is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in _TEXT
