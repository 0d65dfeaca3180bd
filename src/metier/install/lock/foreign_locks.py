"""Locks of other installers: `skills-lock.json` and `.skill-lock.json` of npm's `skills` and of gh, and `apm.lock.yaml`.

Reading one gives refs for an ordinary installation, and the hashes that the skills must have. What has no source that we can
fetch is reported and left out. Writing one keeps the commit, so that a lock that is written and read again installs the same
bytes; other readers ignore that key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from metier.archive import Contents
from metier.errors import ConfigError, MetierError
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import GitRef, LocalPath, Ref, WellKnown, github, inner_path, is_commit, is_git_ref
from metier.spec import SKILL_FILE, Json, is_name, read_yaml, to_json
from metier.values import dataclass, replace

from .foreign_hashes import folder_hash, package_hash, tree_id
from .lock_file import LockEntry

__all__ = ["ForeignLock", "ForeignLockFormat", "LockedRef", "read_foreign_lock", "render_foreign_lock"]

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST = 2_000


class ForeignLockFormat(StrEnum):
    SKILLS_LOCK = "skills-lock"
    """`skills-lock.json` of a project, version 1."""
    SKILL_LOCK = "skill-lock"
    """`.skill-lock.json` of a user, version 3."""
    APM_LOCK = "apm-lock"
    """`apm.lock.yaml`, version 1 or 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedRef:
    """One skill of a foreign lock."""

    ref: str
    """As `metier skill install` takes it, at the branch or tag that the lock names."""
    name: str = ""
    """Empty for all skills of a package."""
    hash: str = ""
    """SHA-1 of git's tree, or SHA-256 of the folder; empty if the lock has none."""
    commit: str = ""
    at_commit: str = ""
    """The ref at that commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLock:
    format: ForeignLockFormat
    skills: tuple[LockedRef, ...]
    notes: tuple[str, ...] = ()
    """Entries that cannot be installed, with the reason."""


def read_foreign_lock(text: str, *, file: str) -> ForeignLock:
    """Reads a lock, whose format follows from its contents. Raises ConfigError."""
    document, base = _document(text, file), os.path.dirname(os.path.abspath(file))
    if "lockfile_version" in document:
        wanted = str(document["lockfile_version"])
        if wanted not in ("1", "2"):
            raise _bad(f"it has version {wanted[:20]!r}; metier reads 1 and 2", file)
        return _read_all(ForeignLockFormat.APM_LOCK, _apm_rows(document, file, base))
    skills, version = document.get("skills"), document.get("version")
    if not isinstance(skills, dict) or version not in (1, 3):
        raise _bad("it is neither skills-lock.json (version 1), .skill-lock.json (version 3) nor apm.lock.yaml", file)
    kind = ForeignLockFormat.SKILLS_LOCK if version == 1 else ForeignLockFormat.SKILL_LOCK
    return _read_all(kind, ((str(name), _json_ref, (str(name), row, base)) for name, row in list(skills.items())[:_MOST]))


def render_foreign_lock(
    entries: Iterable[tuple[LockEntry, Contents]], to: ForeignLockFormat, *, base: str = ""
) -> tuple[str, tuple[str, ...]]:
    """Returns the text of a lock, and a note for each skill that the format cannot express.

    `base` is the folder of the lock; local sources inside it are written relative to it.
    """
    rows: dict[str, dict[str, Any]] = {}  # Any: JSON
    notes: list[str] = []
    newest = ""
    for entry, contents in entries:
        entry, newest = _relative(entry, base), max(newest, entry.installed)
        row = None if entry.is_extra else _WRITERS[to](entry, contents)
        if row is None:
            notes.append(f"{entry.name} is left out: {to} has no entry for an extra version or a {entry.origin.kind} source")
        else:
            rows[entry.name] = {key: value for key, value in row.items() if value not in ("", None)}
    if to is ForeignLockFormat.APM_LOCK:
        return _apm_text(list(rows.values()), newest), tuple(notes)
    version = 1 if to is ForeignLockFormat.SKILLS_LOCK else 3
    document = {"version": version, "skills": {name: rows[name] for name in sorted(rows)}}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n", tuple(notes)


def _document(text: str, file: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else _yaml(text)
    except (ValueError, RecursionError, MetierError) as error:
        raise _bad(f"it cannot be parsed: {str(error)[:80]}", file) from error
    if not isinstance(value, dict):
        raise _bad("it is not a lock", file)
    return value


def _yaml(text: str) -> Json:
    root = read_yaml(text).root
    return None if root is None else to_json(root)


_Row = tuple[str, Callable[..., Iterable[LockedRef]], tuple[Any, ...]]


def _read_all(kind: ForeignLockFormat, rows: Iterable[_Row]) -> ForeignLock:
    found: list[LockedRef] = []
    notes: list[str] = []
    for name, read, arguments in rows:
        try:
            found += read(*arguments)
        except (MetierError, ValueError) as error:
            notes.append(f"{name[:80]} is left out: {error}")
    return ForeignLock(format=kind, skills=tuple(found), notes=tuple(notes))


def _json_ref(name: str, row: object, base: str) -> Iterator[LockedRef]:
    if not isinstance(row, dict) or not is_name(name):
        raise ValueError("it is not an entry with a valid name")
    fields = {key: value for key, value in row.items() if isinstance(value, str)}
    source, url, kind = fields.get("source", ""), fields.get("sourceUrl", ""), fields.get("sourceType", "")
    pinned = fields.get("computedHash") or fields.get("skillFolderHash") or ""
    commit, ref = fields.get("commit", ""), fields.get("pinnedRef") or fields.get("ref") or None
    path = fields.get("skillPath", "").replace("\\", "/")
    parsed = _source(kind, source, url, base)
    pinned = pinned if _HASH.fullmatch(pinned) else ""
    if isinstance(parsed, GitRef):
        yield _locked(_at(parsed, ref, path, name), name, commit, pinned)
        return
    if isinstance(parsed, WellKnown):
        parsed = replace(parsed, skill=name)
    yield LockedRef(ref=parsed.text, name=name, hash=pinned)


def _locked(ref: GitRef, name: str, commit: str, pinned: str = "") -> LockedRef:
    known = commit if is_commit(commit) else ref.ref if ref.ref and is_commit(ref.ref) else ""
    at_commit = replace(ref, ref=known).text if known else ""
    return LockedRef(ref=ref.text, name=name, hash=pinned, commit=known, at_commit=at_commit)


def _source(kind: str, source: str, url: str, base: str) -> Ref:
    if kind == "github" and re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        owner, _, repository = source.partition("/")
        host, address = github(owner, repository, "github.com", source)
        return GitRef(host=host, url=address)
    if kind == "local" and source:
        return LocalPath(os.path.normpath(os.path.join(base, source)))
    if kind == "well-known":
        if not url.startswith(("https://", "http://")):
            url = f"https://{source}"
        return WellKnown(url=url.partition("/.well-known/")[0])
    if kind in ("git", "gitlab", "github") and (url or source):
        parsed = parse_ref(url or source)
        if isinstance(parsed, WellKnown) and parsed.url.startswith("https://"):
            parsed = parse_ref(f"git+{parsed.url}")
        if isinstance(parsed, GitRef):
            return parsed
    raise ValueError(f"metier cannot fetch a source of the type {kind[:40] or 'unknown'!r}")


def _at(ref: GitRef, wanted: str | None, path: str, name: str) -> GitRef:
    if wanted and not is_git_ref(wanted):
        raise ValueError(f"{wanted[:60]!r} is not a branch, tag or commit")
    inner = inner_path(path, path) if path else ""
    # A path to SKILL.md at the top of the repository leaves only the name to choose by.
    return replace(ref, ref=wanted or ref.ref, path=inner, skill=None if inner else name, tail="")


def _apm_rows(document: Mapping[str, Any], file: str, base: str) -> Iterator[_Row]:
    rows = document.get("dependencies")
    if not isinstance(rows, list):
        raise _bad("it has no list of dependencies", file)
    for row in rows[:_MOST]:
        title = str(row.get("name") or row.get("repo_url")) if isinstance(row, dict) else "an entry"
        yield title, _apm_refs, (row, base)


def _apm_refs(row: object, base: str) -> Iterator[LockedRef]:
    if not isinstance(row, dict):
        raise ValueError("it is not an entry")
    if row.get("package_type") == "hook_package":
        raise ValueError("it has hooks and no skills")
    if row.get("source") == "registry":
        raise ValueError("it comes from a registry of apm")
    if row.get("source") == "local":
        path = os.path.normpath(os.path.join(base, str(row.get("local_path", ""))))
        pinned = str(row.get("content_hash", "")).removeprefix("sha256:")
        # The hash is that of one skill only if the package is one.
        name = _skill_of(row)
        yield LockedRef(ref=path, name=name, hash=pinned if name and _HASH.fullmatch(pinned) else "")
        return
    commit = str(row.get("resolved_commit", ""))
    wanted = str(row.get("resolved_ref", "")) or None
    if wanted and not is_git_ref(wanted):
        raise ValueError(f"{wanted[:60]!r} is not a branch, tag or commit")
    path = str(row.get("virtual_path", ""))
    ref = replace(_apm_source(row), ref=wanted, path=inner_path(path, path) if path else "")
    subset = row.get("skill_subset")
    if isinstance(subset, list) and subset:
        yield from (_locked(replace(ref, skill=str(one)), str(one), commit) for one in subset if is_name(str(one)))
        return
    yield _locked(ref, _skill_of(row), commit)


def _skill_of(row: Mapping[str, Any]) -> str:
    name = str(row.get("name", "")) if row.get("package_type") == "claude_skill" else ""
    return name if is_name(name) else ""


def _apm_source(row: Mapping[str, Any]) -> GitRef:
    url, host = str(row.get("repo_url", "")), str(row.get("host") or "github.com")
    if "://" not in url:
        # `owner/repo`, or with its host in front.
        first = url.partition("/")[0]
        url = f"https://{url}" if "." in first and url.count("/") > 1 else f"https://{host}/{url}"
    parsed = parse_ref(f"git+{url.removesuffix('.git')}.git")
    if not isinstance(parsed, GitRef):
        raise ValueError(f"{url[:80]!r} is not a repository")
    return replace(parsed, path="", ref=None, tail="")


def _skills_lock_row(entry: LockEntry, contents: Contents) -> dict[str, Any] | None:
    row = _origin_row(entry)
    return row and {**row, "computedHash": folder_hash(contents)}


def _skill_lock_row(entry: LockEntry, contents: Contents) -> dict[str, Any] | None:
    row = _origin_row(entry)
    if row is None:
        return None
    digest = tree_id(contents) if row["sourceType"] == "github" else folder_hash(contents)
    url = row.get("sourceUrl") or entry.origin.url
    return {**row, "sourceUrl": url, "skillFolderHash": digest, "installedAt": entry.installed, "updatedAt": entry.installed}


def _origin_row(entry: LockEntry) -> dict[str, Any] | None:
    origin = entry.origin
    if origin.kind == "path":
        return {"source": origin.url, "sourceType": "local", "skillPath": _skill_file(origin.path)}
    if origin.kind == "well-known":
        host = origin.url.partition("://")[2].partition("/")[0]
        return {"source": host, "sourceUrl": origin.url, "sourceType": "well-known"}
    if origin.kind != "git":
        return None
    on_github = re.fullmatch(r"https://github\.com/([^/]+/[^/]+?)(?:\.git)?/?", origin.url)
    kind = "github" if on_github else "gitlab" if "://gitlab." in origin.url else "git"
    return {
        "source": on_github[1] if on_github else origin.url, "sourceUrl": "" if on_github else origin.url, "sourceType": kind,
        "ref": origin.ref, "commit": origin.commit, "skillPath": _skill_file(origin.path),
    }  # fmt: skip


def _relative(entry: LockEntry, base: str) -> LockEntry:
    if entry.origin.kind != "path" or not base or not f"{entry.origin.url}/".startswith(f"{base}/"):
        return entry
    return replace(entry, origin=replace(entry.origin, url=f"./{entry.origin.url[len(base) + 1 :]}".rstrip("/")))


def _skill_file(path: str) -> str:
    return f"{path}/{SKILL_FILE}" if path else SKILL_FILE


def _apm_row(entry: LockEntry, contents: Contents) -> dict[str, Any] | None:
    origin = entry.origin
    if origin.kind == "path":
        path = f"{origin.url}/{origin.path}" if origin.path else origin.url
        return {
            "repo_url": f"_local/{os.path.basename(path)}", "name": entry.name, "package_type": "claude_skill",
            "source": "local", "local_path": path, "content_hash": f"sha256:{package_hash(contents)}",
        }  # fmt: skip
    if origin.kind != "git" or not is_commit(origin.commit):
        return None
    return {
        "repo_url": origin.url.removesuffix(".git"), "resolved_ref": origin.ref, "resolved_commit": origin.commit,
        "name": entry.name, "version": entry.version, "virtual_path": origin.path, "is_virtual": True if origin.path else None,
        "package_type": "claude_skill",
    }  # fmt: skip


def _apm_text(rows: list[dict[str, Any]], newest: str) -> str:
    """Writes YAML of plain text values, which JSON strings are."""
    lines = ['lockfile_version: "1"', *([f"generated_at: {json.dumps(newest)}"] if newest else ())]
    lines.append("dependencies:" if rows else "dependencies: []")
    for row in sorted(rows, key=lambda one: (str(one["repo_url"]), str(one.get("virtual_path", "")))):
        texts = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()]
        lines += [f"  {'- ' if place == 0 else '  '}{text}" for place, text in enumerate(texts)]
    return "\n".join(lines) + "\n"


def _bad(message: str, file: str) -> ConfigError:
    return ConfigError(message, file=file, hint="name skills-lock.json, .skill-lock.json or apm.lock.yaml")


_WRITERS: dict[ForeignLockFormat, Callable[[LockEntry, Contents], dict[str, Any] | None]] = {
    ForeignLockFormat.SKILLS_LOCK: _skills_lock_row,
    ForeignLockFormat.SKILL_LOCK: _skill_lock_row,
    ForeignLockFormat.APM_LOCK: _apm_row,
}
