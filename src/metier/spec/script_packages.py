"""The packages that a skill's scripts declare: inline metadata (PEP 723), `requirements.txt`, `package.json`.

Only names, versions and markers are taken. An option of pip, a table for uv, a path or a repository could choose where packages
come from, or run code while they are resolved: those are refused here, before any program reads them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from metier.errors import NotFoundError, RefusedError
from metier.lazy import lazy_pattern
from metier.values import dataclass

from .files import Files, OwnFiles

__all__ = [
    "DeclaredPackages",
    "InlineMetadata",
    "PackageEcosystem",
    "declared_packages",
    "inline_metadata",
    "packages_of_script",
    "script_files",
]

_METADATA = lazy_pattern(r"^# /// script\s*$\n((?:^#(?: .*)?$\n)*?)^# ///\s*$", re.MULTILINE)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_REQUIREMENT = lazy_pattern(
    rf"(?P<name>{_NAME})\s*(?:\[[\w ,.-]{{0,200}}\])?\s*"
    r"(?:@\s*(?P<url>\S{1,1000})|\(?(?P<version>(?:[<>=!~][<>=!~\w.*+, -]{0,300})?)\)?)\s*(?:;\s*(?P<marker>[^;\\]{1,500}))?"
)
_PYTHON_RANGE = lazy_pattern(r"(?:[<>=!~]=?=?\s*[0-9][\w.*]*\s*,?\s*)+")
_NPM_NAME = lazy_pattern(r"(?:@[a-z0-9][a-z0-9._-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_NPM_RANGE = lazy_pattern(r"(?:npm:(?:@[a-z0-9._-]+/)?[A-Za-z0-9._-]+@)?[\w.*^~<>=|+ -]{0,200}")
_LARGEST = 1024 * 1024
_LARGEST_SCRIPT = 64 * 1024 * 1024
_NODE = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_INDEX_HINT = "remove it; indexes and registries come from your own configuration of uv and npm"


class PackageEcosystem(StrEnum):
    PYTHON = "python"
    NPM = "npm"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPackages:
    """The packages that one file of a skill declares."""

    path: str
    """The file: a script with inline metadata, requirements.txt or package.json."""
    kind: PackageEcosystem
    requirements: tuple[str, ...]
    """As declared: `polars>=1`, or `left-pad@^1.3.0`."""
    python: str = ""
    """The versions of Python that the script runs on, such as `>=3.11`."""
    author_lock: str = ""
    """The author's package-lock.json, without the addresses in it."""

    @property
    def digest(self) -> str:
        """Equal declarations have one digest, wherever they are."""
        text = json.dumps([self.kind, sorted(self.requirements), self.python, self.author_lock])
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineMetadata:
    """The block `# /// script` of a Python script."""

    dependencies: tuple[str, ...] = ()
    python: str = ""


def inline_metadata(data: bytes) -> InlineMetadata | None:
    """Returns the inline metadata of a script; None without a block. Raises RefusedError if it is invalid."""
    if b"# /// script" not in data:
        return None
    found = _METADATA.search(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    if not found:
        return None
    # Imported here: it compiles patterns, and few scripts have such a block.
    import tomllib

    text = "\n".join(line[2:] if line.startswith("# ") else line[1:] for line in found[1].splitlines())
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refused(f"invalid inline metadata in the script: {error}", "see PEP 723") from None
    wanted, python = table.get("dependencies", []), table.get("requires-python", "")
    if not isinstance(wanted, list) or not all(isinstance(each, str) for each in wanted):
        raise _refused("invalid inline metadata in the script: dependencies is not a list of strings", "see PEP 723")
    if not isinstance(python, str) or (python and not _PYTHON_RANGE.fullmatch(python)):
        raise _refused(f"invalid inline metadata in the script: requires-python {python!r}", "write a range such as >=3.11")
    return InlineMetadata(dependencies=tuple(wanted), python=python)


def packages_of_script(script: str, data: bytes, files: Files) -> DeclaredPackages | None:
    """Returns the packages of one script: its own block, or the nearest requirements.txt or package.json; None without."""
    if script.endswith(".py") or (data.startswith(b"#!") and b"python" in data[:200].split(b"\n")[0]):
        found = inline_metadata(data)
        if found is not None and found.dependencies:
            checked = tuple(_requirement(each, script) for each in found.dependencies)
            return DeclaredPackages(path=script, kind=PackageEcosystem.PYTHON, requirements=checked, python=found.python)
        if found is not None:
            return None
        return next(filter(None, (_requirements(files, path) for path in _beside(script, "requirements.txt"))), None)
    if script.endswith(_NODE) or (data.startswith(b"#!") and b"node" in data[:200].split(b"\n")[0]):
        return next(filter(None, (_package_json(files, path) for path in _beside(script, "package.json"))), None)
    return None


def declared_packages(files: Files, scripts: Iterable[str]) -> tuple[DeclaredPackages, ...]:
    """Returns all that these scripts of a skill declare, each file once."""
    found: dict[str, DeclaredPackages] = {}
    for script in scripts:
        try:
            data = files.read(script, limit=_LARGEST_SCRIPT)
        except (NotFoundError, RefusedError):
            continue
        one = packages_of_script(script, data, files)
        if one is not None:
            found[one.path] = one
    return tuple(found[path] for path in sorted(found))


def script_files(files: Files) -> tuple[str, ...]:
    """Returns the files of a skill that can declare packages or need them."""
    return tuple(entry.path for entry in OwnFiles(files).list() if entry.path.endswith((".py", *_NODE)))


def _beside(script: str, name: str) -> Iterator[str]:
    """Yields the paths of a file in the script's folder and in those above it, up to the skill's."""
    folder = script
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        yield f"{folder}/{name}"
    yield name


def _requirements(files: Files, path: str) -> DeclaredPackages | None:
    try:
        text = files.read(path, limit=_LARGEST).decode("utf-8", "replace")
    except NotFoundError:
        return None
    # Hashes are locked anew, so those of the author are not needed.
    lines = (re.sub(r"(?:^|\s)#.*|\s--hash[= ]\S+", "", line).strip() for line in re.sub(r"\\\r?\n", " ", text).splitlines())
    found = tuple(_requirement(line, path) for line in lines if line)
    return DeclaredPackages(path=path, kind=PackageEcosystem.PYTHON, requirements=found) if found else None


def _requirement(text: str, path: str) -> str:
    """Returns a requirement. Raises RefusedError for everything but a name with versions, or a wheel by https."""
    if text.startswith("-"):
        raise _refused(f"{path}: the option {text.split()[0]!r} is not supported", _INDEX_HINT)
    match = _REQUIREMENT.fullmatch(text.strip())
    if match is None:
        raise _refused(f"{path}: {text[:80]!r} is not a package", "write a name with versions, such as polars>=1")
    url = match["url"] or ""
    if url and not re.fullmatch(r"https://[^\s@]+\.whl(?:#sha256=[0-9a-f]{64})?", url):
        raise _refused(f"{path}: {match['name']} comes from {url[:80]!r}, which would have to be built",
                       "name a version that the index has as a wheel")  # fmt: skip
    return " ".join(text.split())


def _package_json(files: Files, path: str) -> DeclaredPackages | None:
    try:
        package = json.loads(files.read(path, limit=_LARGEST))
    except NotFoundError:
        return None
    except (ValueError, RecursionError):
        raise _refused(f"{path} is not JSON", "correct it") from None
    wanted = package.get("dependencies", {}) if isinstance(package, dict) else None
    if not isinstance(wanted, dict):
        raise _refused(f"{path}: dependencies is not a table of names and versions", "see npm's documentation of package.json")
    found = tuple(f"{name}@{_npm_version(name, version, path)}" for name, version in sorted(wanted.items()))
    if not found:
        return None
    lock = path.removesuffix("package.json") + "package-lock.json"
    return DeclaredPackages(path=path, kind=PackageEcosystem.NPM, requirements=found, author_lock=_author_lock(files, lock))


def _npm_version(name: str, version: object, path: str) -> str:
    if not _NPM_NAME.fullmatch(name):
        raise _refused(f"{path}: {name[:80]!r} is not a package name", "correct it")
    if isinstance(version, str) and _NPM_RANGE.fullmatch(version):
        return version
    raise _refused(
        f"{path}: {name} comes from {str(version)[:80]!r}, not from the registry",
        "name a version that the registry has, such as ^1.2.0",
    )


def _author_lock(files: Files, path: str) -> str:
    """Returns the author's lock. Its addresses are left out: they could name another file than the registry's."""
    try:
        document = json.loads(files.read(path, limit=_LARGEST))
    except (NotFoundError, RefusedError, ValueError, RecursionError):
        return ""
    rows: Any = document.get("packages") if isinstance(document, dict) else None  # Any: JSON
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        return ""
    kept = {place: {key: value for key, value in row.items() if key != "resolved"} for place, row in rows.items()}
    return json.dumps({"lockfileVersion": 3, "requires": True, "packages": kept}, sort_keys=True)


def _refused(message: str, hint: str) -> RefusedError:
    return RefusedError(message, rule="packages", hint=hint)
