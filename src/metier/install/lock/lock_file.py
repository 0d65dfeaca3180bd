"""The lock, `metier.lock`: what is needed to restore the same skills on another machine, byte for byte.

It is TOML in a fixed order, so equal locks are equal files. Every skill is a table and every file a line, so that git merges
the installs of two people, and a review shows which files changed. It has names of agents and no folders: a lock from another
user cannot direct a write anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any

from metier.errors import ConfigError, SkillNotFoundError
from metier.hosts import HOSTS
from metier.install.targets.scope import InstallMode
from metier.spec import CAPABILITY_KINDS, Capabilities, clean_capability, is_name, is_version, resource_path
from metier.values import dataclass, field, replace

from .locked_packages import LockedPackages, parse_packages, render_packages

__all__ = [
    "REGISTRY_KINDS", "Hashes", "Lock", "LockEntry", "Origin", "identity_of", "parse_lock", "publisher_of_origin",
    "render_lock",
]  # fmt: skip

REGISTRY_KINDS = frozenset({"registry", "clawhub"})
"""The kinds of origins that have versions by name."""
_VERSION = 2
_FIRST_VERSION = 1
"""Without capabilities. It is still read, and written if no skill has any list."""
_AGAIN = "restore the file from version control, or delete it and install again"
_HEAD = "# Written by metier; `metier skill install` restores it, `metier skill verify` checks it.\n"
_KINDS = frozenset({"git", "http", "well-known", "registry", "clawhub", "oci", "path", "archive"})
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_FILE = re.compile(r"(100644|100755|120000) ([0-9a-f]{64})")
_MARK = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?: |$)")

Hashes = Mapping[str, tuple[str, str]]
"""Mode and SHA-256 of every file, by path; see `metier.archive.digest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The source of a skill and its path there. Two skills of one name from two origins are two skills."""

    kind: str
    """git, http, well-known, registry, clawhub, oci, path or archive."""
    url: str
    """Without credentials."""
    path: str = ""
    """The skill's folder in the source."""
    ref: str = ""
    """The branch, tag or version that the user asked for; empty for the default."""
    commit: str = ""
    """The commit, or the digest of an OCI manifest, that the ref resolved to."""
    etag: str = ""
    version: str = ""
    """The version that a registry resolved the ref to."""

    @property
    def folder_name(self) -> str:
        """The name of the skill's folder in the source; at the top of a source, the name of that."""
        return self.path.rpartition("/")[2] or self.url.rstrip("/").rpartition("/")[2].partition(".")[0]


def publisher_of_origin(origin: Origin) -> str:
    """Returns the owner of a repository, else the host; empty for a path, and for a registry, which checks its own owners."""
    if origin.kind in ("path", "archive", "registry", "clawhub"):
        return ""
    plain = origin.url.partition("://")[2] or origin.url.replace(":", "/", 1)
    host, _, path = plain.rpartition("@")[2].partition("/")
    owner, slash, _ = path.partition("/")
    return owner if slash and origin.kind in ("git", "oci") else host.partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockEntry:
    """One installed skill."""

    name: str
    """`NAME@VERSION` for an extra version, which is installed beside the skill of that name."""
    origin: Origin
    digest: str
    """The digest of the source's files."""
    files: Hashes
    """The hashes of the installed files; they differ from the source's if the skill was renamed."""
    asked: str = ""
    """The ref that the user typed."""
    called: str = ""
    """Its name in the source, if it was renamed."""
    version: str = ""
    targets: tuple[str, ...] = ()
    mode: InstallMode = InstallMode.LINK
    pinned: bool = False
    dependencies: tuple[str, ...] = ()
    installed: str = ""
    """The time of the installation, as UTC in ISO 8601."""
    packages: tuple[LockedPackages, ...] = ()
    """The packages of its scripts, once they were prepared."""
    capabilities: Capabilities | None = None
    """The capabilities that need no further question about the list; None in a lock of version 1, or without a scan."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Two skills are the same if their origins are, whatever their names."""
        return identity_of(self.origin)

    @property
    def base_name(self) -> str:
        return self.name.partition("@")[0]

    @property
    def is_extra(self) -> bool:
        """Returns True for an extra version. Only metier sees it, and no update changes it."""
        return "@" in self.name


def identity_of(origin: Origin) -> tuple[str, str, str]:
    return origin.kind, origin.url.removesuffix("/").removesuffix(".git"), origin.path


@dataclass(frozen=True, slots=True)
class Lock:
    skills: Mapping[str, LockEntry] = field(default_factory=dict)

    def __iter__(self) -> Iterator[LockEntry]:
        return iter(self.skills[name] for name in sorted(self.skills))

    def __len__(self) -> int:
        return len(self.skills)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __getitem__(self, name: str) -> LockEntry:
        """Returns the skill of that name or `NAME@VERSION`. Raises SkillNotFoundError."""
        if entry := self.find(name):
            return entry
        here = ", ".join(entry.version for entry in self.versions(name.partition("@")[0]) if entry.version)
        hint = f"installed versions: {here}" if here and "@" in name else "" if self.skills else "no skills are installed yet"
        raise SkillNotFoundError(name, known=self.skills, hint=hint)

    def get(self, name: str) -> LockEntry | None:
        """Returns the entry that has exactly this name in the lock."""
        return self.skills.get(name)

    def find(self, name: str) -> LockEntry | None:
        """Like `get`; `NAME@VERSION` also finds the skill itself if it has that version."""
        if entry := self.skills.get(name):
            return entry
        base, _, version = name.partition("@")
        entry = self.skills.get(base)
        return entry if entry and version and entry.version == version else None

    def versions(self, name: str) -> tuple[LockEntry, ...]:
        """Returns the skill and its extra versions."""
        return tuple(entry for entry in self if entry.base_name == name)

    def with_(self, entries: Iterable[LockEntry], without: Iterable[str] = ()) -> Lock:
        gone = frozenset(without)
        kept = {name: entry for name, entry in self.skills.items() if name not in gone}
        return Lock({**kept, **{entry.name: entry for entry in entries}})


def render_lock(lock: Lock) -> str:
    version = _VERSION if any(entry.capabilities is not None for entry in lock) else _FIRST_VERSION
    return "\n".join([_HEAD + f"version = {version}\n", *map(_render, lock)])


def parse_lock(text: str, *, file: str) -> Lock:
    """Parses a lock. Raises ConfigError. Both sides of an unfinished git merge are joined if they agree."""
    if any(_MARK.match(line) for line in text.split("\n")):
        return _merge(text, file)
    # Imported here: the first installation has no lock to read.
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" [(]at [^)]*[)]", "", str(error))
        raise ConfigError(f"not a lock: {message}", file=file, line=int(place[1]) if place else None, hint=_AGAIN) from error
    version = document.get("version")
    if version not in (_FIRST_VERSION, _VERSION):
        newer = isinstance(version, int) and version > _VERSION
        hint = "update metier" if newer else _AGAIN
        raise ConfigError(
            f"the lock has version {version!r}; this metier reads versions {_FIRST_VERSION} and {_VERSION}",
            file=file,
            hint=hint,
        )
    skills = document.get("skills", {})
    if not isinstance(skills, dict):
        raise _bad("skills is not a table", file)
    return Lock({name: _read(name, table, file) for name, table in skills.items()})


def _render(entry: LockEntry) -> str:
    origin = entry.origin
    rows: dict[str, object] = {
        "source": origin.kind, "url": origin.url, "path": origin.path, "ref": origin.ref, "commit": origin.commit,
        "etag": origin.etag, "source_version": origin.version, "asked": entry.asked, "called": entry.called,
        "version": entry.version, "digest": entry.digest, "dependencies": sorted(entry.dependencies),
        "targets": sorted(entry.targets), "mode": entry.mode, "pinned": entry.pinned, "installed": entry.installed,
    }  # fmt: skip
    # Empty values are left out: a missing line cannot conflict in a merge.
    lines = [f"[skills.{_key(entry.name)}]", *(f"{key} = {_value(value)}" for key, value in rows.items() if value)]
    lines += ["", f"[skills.{_key(entry.name)}.files]"]
    lines += [f"{_value(path)} = {_value(' '.join(entry.files[path]))}" for path in sorted(entry.files, key=str.encode)]
    if entry.capabilities is not None:
        listed = ((kind, names) for kind, names in entry.capabilities.row().items() if names)
        lines += ["", f"[skills.{_key(entry.name)}.capabilities]", *(f"{kind} = {_value(names)}" for kind, names in listed)]
    lines += render_packages(_key(entry.name), entry.packages, _value)
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    # JSON strings are TOML strings, but for one character. Most values are strings, one for each file.
    text = encode_basestring(value) if type(value) is str else json.dumps(value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


def _read(name: str, table: Any, file: str) -> LockEntry:  # Any: what TOML holds
    def text(key: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise _bad(f"skills.{name}.{key} is not text", file)
        return value

    def words(key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise _bad(f"skills.{name}.{key} is not a list of names", file)
        return tuple(value)

    base, at, version = name.partition("@")
    if not isinstance(table, dict) or not is_name(base) or (at and not is_version(version)):
        raise _bad(f"skills.{name} is not a skill", file)
    if text("source") not in _KINDS or not _DIGEST.fullmatch(text("digest")) or text("mode") not in ("", *InstallMode):
        raise _bad(f"skills.{name} has an invalid source, digest or mode", file)
    targets = words("targets")
    for target in targets:
        if target not in HOSTS:
            raise _bad(f"skills.{name} has the unknown agent {target!r}", file)
    origin = Origin(kind=text("source"), url=text("url"), path=text("path"), ref=text("ref"), commit=text("commit"),
                    etag=text("etag"), version=text("source_version"))  # fmt: skip
    return LockEntry(
        name=name, origin=origin, digest=text("digest"), files=_files(name, table.get("files"), file), asked=text("asked"),
        called=text("called"), version=text("version"), targets=targets, mode=InstallMode(text("mode") or InstallMode.LINK),
        pinned=table.get("pinned") is True, dependencies=words("dependencies"), installed=text("installed"),
        packages=_packages(name, table.get("packages", {}), file),
        capabilities=_capabilities(name, table.get("capabilities"), file),
    )  # fmt: skip


def _files(name: str, table: object, file: str) -> Hashes:
    if not isinstance(table, dict):
        raise _bad(f"skills.{name}.files is not a table", file)
    found: dict[str, tuple[str, str]] = {}
    for path, value in table.items():
        match = _FILE.fullmatch(value) if isinstance(value, str) else None
        if match is None or resource_path(path) != path:
            raise _bad(f"skills.{name}.files: {path!r} is not a path with a hash", file)
        found[path] = (match[1], match[2])
    return found


def _packages(name: str, tables: object, file: str) -> tuple[LockedPackages, ...]:
    try:
        return parse_packages(tables)
    except ValueError as error:
        raise _bad(f"skills.{name}.packages {error}", file) from None


def _capabilities(name: str, table: object, file: str) -> Capabilities | None:
    if table is None:
        return None
    if not isinstance(table, dict) or not table.keys() <= CAPABILITY_KINDS.keys():
        raise _bad(f"skills.{name}.capabilities is not a table of {', '.join(CAPABILITY_KINDS)}", file)
    for kind, names in table.items():
        # They are shown to the user, so they hold nothing that a terminal would act on.
        if not isinstance(names, list) or not all(
            isinstance(one, str) and one and clean_capability(one) == one for one in names
        ):
            raise _bad(f"skills.{name}.capabilities.{kind} is not a list of names", file)
    return Capabilities.of(table)


def _bad(message: str, file: str) -> ConfigError:
    return ConfigError(message, file=file, hint=_AGAIN)


def _merge(text: str, file: str) -> Lock:
    ours, theirs = (parse_lock(_side(text, side), file=file) for side in (0, 1))
    for name in ours.skills.keys() & theirs.skills.keys():
        # The same skill, installed by two people, differs only in its date.
        if replace(ours[name], installed="") != replace(theirs[name], installed=""):
            raise ConfigError(f"a merge left two versions of {name!r}", file=file, line=_first_mark(text),
                            hint="keep one side, then run `metier skill install`")  # fmt: skip
    return theirs.with_(ours)


def _side(text: str, side: int) -> str:
    """Returns one side of a merge."""
    lines: list[str] = []
    here: int | None = None
    for line in text.split("\n"):
        mark = _MARK.match(line)
        if mark is None:
            if here in (None, side):
                lines.append(line)
        else:
            here = {"<": 0, "|": 2, "=": 1, ">": None}[mark[1][0]]
    return "\n".join(lines)


def _first_mark(text: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), start=1) if _MARK.match(line))
