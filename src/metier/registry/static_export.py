"""The public skills of a registry as a static folder that any web server can serve: `.well-known/agent-skills`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from metier.sources import replace_bytes
from metier.values import dataclass

from .domain.access import ANONYMOUS
from .domain.queries import Queries
from .domain.records import Package, PackageKind
from .location import RegistryLocation

__all__ = ["StaticExport", "export_static"]

_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_PLACE = os.path.join(".well-known", "agent-skills")
_INDEX = "index.json"
_MOST = 2_000
"""The number of skills that clients read of an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticExport:
    index: str
    """The file that lists the skills."""
    skills: tuple[str, ...]
    removed: tuple[str, ...]
    """Skills of an earlier export that are not in this one; their archives were deleted."""


async def export_static(location: RegistryLocation, folder: str, names: Sequence[str] = ()) -> StaticExport:
    """Writes the newest version of the named public skills, or of all. Raises NotFoundError for one that is not public."""
    place = os.path.join(folder, _PLACE)
    index = os.path.join(place, _INDEX)
    async with location.open() as (store, blobs):
        queries = Queries(store, blobs, lambda: 0)
        if names:
            found = [await queries.find_package(ANONYMOUS, PackageKind.SKILL, name) for name in sorted(set(names))]
        else:
            found = await queries.index(ANONYMOUS, limit=_MOST)
        packages = [package for package in found if package.latest]
        before = _listed(index)
        os.makedirs(place, exist_ok=True)
        for package in packages:
            data = await queries.archive(package.archive)
            replace_bytes(os.path.join(place, f"{package.name}.zip"), data, mode=0o644)
    document = {"$schema": _SCHEMA, "skills": [_row(package) for package in packages]}
    # After the archives, so that it never names one that is not there yet.
    replace_bytes(index, json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n", mode=0o644)
    removed = tuple(sorted(before - {package.name for package in packages}))
    for name in removed:
        if os.path.exists(file := os.path.join(place, f"{name}.zip")):
            os.unlink(file)
    return StaticExport(index=index, skills=tuple(package.name for package in packages), removed=removed)


def _row(package: Package) -> dict[str, str]:
    return {
        "name": package.name, "type": "archive", "description": package.description, "url": f"{package.name}.zip",
        "digest": f"sha256:{package.archive}",
    }  # fmt: skip


def _listed(index: str) -> set[str]:
    """Returns the skills of an earlier export, which has an archive for each."""
    try:
        with open(index, encoding="utf-8") as file:
            rows = json.load(file)["skills"]
        return {row["name"] for row in rows if row["url"] == f"{row['name']}.zip" and os.sep not in row["name"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
