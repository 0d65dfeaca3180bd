"""A software bill of materials of installed skills: CycloneDX 1.6 as JSON values.

It is made of the lock, so equal locks give equal documents: there is no time and no serial number in it. A skill is an
application with its files and their hashes; the locked packages of its scripts are libraries. Pure.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from metier.spec import Manifest, PackageEcosystem
from metier.values import dataclass

from .lock.lock_file import LockEntry
from .lock.locked_packages import LockedPackages

__all__ = ["SbomSkill", "build_sbom"]

Json = dict[str, Any]
"""Any: a CycloneDX value."""
_SPDX = frozenset("""
    0BSD AGPL-3.0-only AGPL-3.0-or-later Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC-BY-4.0 CC-BY-SA-4.0 CC0-1.0
    EUPL-1.2 GPL-2.0-only GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later ISC LGPL-2.1-only LGPL-2.1-or-later
    LGPL-3.0-only LGPL-3.0-or-later MIT MIT-0 MPL-2.0 Unlicense Zlib
""".split())  # noqa: SIM905  # fmt: skip
"""Identifiers that may be called so. Every other licence is a name."""
_ALGORITHMS = {"sha256": "SHA-256", "sha384": "SHA-384", "sha512": "SHA-512"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SbomSkill:
    entry: LockEntry
    scope: str
    """`user` or `project`."""
    manifest: Manifest | None
    """None if the installed SKILL.md cannot be read."""

    @property
    def ref(self) -> str:
        return f"skill:{self.scope}:{self.entry.name}"


def build_sbom(skills: Sequence[SbomSkill], *, tool_version: str) -> Json:
    packages = {row["bom-ref"]: row for skill in skills for row in _packages(skill.entry.packages)}
    known = {(skill.scope, skill.entry.name): skill.ref for skill in skills}
    needs = [
        {
            "ref": skill.ref,
            "dependsOn": sorted({
                *(known[skill.scope, name] for name in skill.entry.dependencies if (skill.scope, name) in known),
                *(row["bom-ref"] for row in _packages(skill.entry.packages)),
            }),
        }
        for skill in skills
    ]  # fmt: skip
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [{"type": "application", "name": "metier", "version": tool_version}]}},
        "components": [*map(_skill, skills), *(packages[ref] for ref in sorted(packages))],
        "dependencies": [*needs, *({"ref": ref} for ref in sorted(packages))],
    }  # fmt: skip


def _skill(skill: SbomSkill) -> Json:
    entry, manifest = skill.entry, skill.manifest
    origin, licence = entry.origin, (manifest.license or "").strip() if manifest else ""
    facts = {
        "metier:digest": entry.digest, "metier:scope": skill.scope, "metier:source": origin.kind, "metier:ref": origin.ref,
        "metier:commit": origin.commit, "metier:agents": " ".join(sorted(entry.targets)),
    }  # fmt: skip
    row: Json = {"type": "application", "bom-ref": skill.ref, "name": entry.base_name, "version": entry.version}
    if manifest and manifest.description:
        row["description"] = manifest.description
    if licence:
        row["licenses"] = [{"license": {"id": licence} if licence in _SPDX else {"name": licence}}]
    if "://" in origin.url:
        row["externalReferences"] = [{"type": "distribution", "url": quote(origin.url, safe=":/?#[]@!$&'()*+,;=%~")}]
    row["properties"] = [{"name": name, "value": value} for name, value in facts.items() if value]
    row["components"] = [
        {"type": "file", "name": path, "hashes": [{"alg": "SHA-256", "content": entry.files[path][1]}]}
        for path in sorted(entry.files)
    ]
    return row


def _packages(every: Iterable[LockedPackages]) -> Iterator[Json]:
    for locked in every:
        for key, value in locked.rows.items():
            is_npm = locked.kind is PackageEcosystem.NPM
            (package,) = LockedPackages(path="x", kind=locked.kind, declared="", rows={key: value}).packages or (None,)
            if package is None:
                continue
            hashes = _npm_hashes(json.loads(value)) if is_npm else _hashes(value.split(), ":")
            yield _library(package.name, package.version, "npm" if is_npm else "pypi", list(hashes))


def _library(name: str, version: str, kind: str, hashes: list[Json]) -> Json:
    is_url = "://" in version
    path = quote(name.lower().replace("_", "-") if kind == "pypi" else name, safe="/")
    purl = f"pkg:{kind}/{path}" + (f"?download_url={quote(version, safe='')}" if is_url else f"@{quote(version, safe='')}")
    row: Json = {"type": "library", "bom-ref": purl, "name": name, "purl": purl}
    return row | ({} if is_url else {"version": version}) | ({"hashes": hashes} if hashes else {})


def _npm_hashes(row: Mapping[str, Any]) -> Iterator[Json]:  # Any: package-lock.json
    for one in _hashes(str(row.get("integrity", "")).split(), "-"):
        yield {**one, "content": base64.b64decode(one["content"]).hex()}


def _hashes(texts: Iterable[str], separator: str) -> Iterator[Json]:
    for text in texts:
        name, _, content = text.partition(separator)
        yield {"alg": _ALGORITHMS[name], "content": content}
