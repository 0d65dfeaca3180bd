"""The packages of a skill's scripts in the lock: exact versions with hashes, one line for each package.

For Python a line is a requirement, with its marker, and the hashes of its files; the list holds for every platform. For npm it
is a place in `node_modules` and the entry of package-lock.json, which has the hash in `integrity`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from metier.lazy import lazy_pattern
from metier.spec import PackageEcosystem, resource_path
from metier.values import dataclass, field

__all__ = ["LockedPackage", "LockedPackages", "parse_packages", "render_packages"]

_DIGEST = lazy_pattern(r"sha256:[0-9a-f]{64}")
_REQUIREMENT = lazy_pattern(
    r"(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[\w,.-]*\])?(?:==(?P<version>[\w.!+*-]+)| @ (?P<url>https://\S+))(?: ; .+)?"
)
_HASHES = lazy_pattern(r"sha256:[0-9a-f]{64}(?: sha256:[0-9a-f]{64})*")
_PLACE = lazy_pattern(r"node_modules/(?:@[\w.-]+/)?[\w.-]+(?:/node_modules/(?:@[\w.-]+/)?[\w.-]+)*")
_INTEGRITY = lazy_pattern(r"sha(?:512|384|256)-[A-Za-z0-9+/=]+(?: sha(?:512|384|256)-[A-Za-z0-9+/=]+)*")
_PYTHON = lazy_pattern(r"3\.[0-9]{1,2}")


@dataclass(frozen=True, slots=True, order=True)
class LockedPackage:
    name: str
    version: str
    """A version, or the address of a wheel."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackages:
    """The locked packages of one declaration."""

    path: str
    """The file that declares them."""
    kind: PackageEcosystem
    declared: str
    """The digest of the declaration that was locked."""
    python: str = ""
    """The version of Python that they are for, such as 3.12."""
    rows: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Equal for equal packages: an environment is built once for each digest."""
        text = json.dumps([self.kind, self.python, sorted(self.rows.items())])
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    @property
    def packages(self) -> tuple[LockedPackage, ...]:
        return tuple(sorted(set(self._packages()), key=lambda one: (one.name.lower(), one.version)))

    def _packages(self) -> Iterator[LockedPackage]:
        for key, value in self.rows.items():
            if self.kind is PackageEcosystem.NPM:
                yield LockedPackage(key.rpartition("node_modules/")[2], str(json.loads(value).get("version", "")))
            elif match := _REQUIREMENT.fullmatch(key):
                yield LockedPackage(match["name"], match["version"] or match["url"])


def render_packages(name: str, locked: tuple[LockedPackages, ...], value: Callable[[object], str]) -> list[str]:
    """Returns the lines of a skill's tables. `name` is the skill as a TOML key."""
    lines: list[str] = []
    for one in sorted(locked, key=lambda one: one.path):
        table = f"skills.{name}.packages.{value(one.path)}"
        facts = {"kind": str(one.kind), "declared": one.declared, "python": one.python}
        lines += ["", f"[{table}]", *(f"{key} = {value(fact)}" for key, fact in facts.items() if fact)]
        lines += ["", f"[{table}.locked]", *(f"{value(key)} = {value(one.rows[key])}" for key in sorted(one.rows))]
    return lines


def parse_packages(tables: Any) -> tuple[LockedPackages, ...]:  # Any: TOML
    """Raises ValueError, with a part of a sentence, if the tables are not as they were written."""
    if not isinstance(tables, dict):
        raise ValueError("is not a table")
    return tuple(_parse(path, table) for path, table in sorted(tables.items()))


def _parse(path: str, table: Any) -> LockedPackages:  # Any: TOML
    if not isinstance(table, dict) or resource_path(path) != path:
        raise ValueError(f"has the entry {path!r}, which is not a file with packages")
    kind, declared, python, rows = (table.get(key) for key in ("kind", "declared", "python", "locked"))
    is_npm = kind == PackageEcosystem.NPM
    if kind not in tuple(PackageEcosystem) or not isinstance(declared, str) or not _DIGEST.fullmatch(declared):
        raise ValueError(f"has an invalid kind or declaration for {path!r}")
    if not is_npm and not (isinstance(python, str) and _PYTHON.fullmatch(python)):
        raise ValueError(f"has an invalid version of Python for {path!r}")
    if not isinstance(rows, dict):
        raise ValueError(f"has no packages for {path!r}")
    for key, value in rows.items():
        if not isinstance(value, str) or not (_is_npm_row(key, value) if is_npm else _is_python_row(key, value)):
            raise ValueError(f"has the package {key[:80]!r} without a valid version or hash")
    return LockedPackages(
        path=path, kind=PackageEcosystem(kind), declared=declared, python="" if is_npm else str(python), rows=rows
    )


def _is_python_row(key: str, value: str) -> bool:
    return bool(_REQUIREMENT.fullmatch(key) and "\\" not in key and _HASHES.fullmatch(value))


def _is_npm_row(key: str, value: str) -> bool:
    try:
        row = json.loads(value)
    except ValueError:
        return False
    if not isinstance(row, dict) or not _PLACE.fullmatch(key) or re.search(r"/\.\.?(?:/|$)", key):
        return False
    integrity, version = row.get("integrity"), row.get("version")
    is_complete = isinstance(integrity, str) and bool(_INTEGRITY.fullmatch(integrity)) and isinstance(version, str)
    return is_complete and "resolved" not in row and not row.get("link")
