"""`metier skill sbom`: a software bill of materials of installed skills."""

from __future__ import annotations

import json
import os

import click

from metier import __version__
from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import MetierError
from metier.install import LockEntry, SbomSkill, SkillStore, build_sbom
from metier.sources import DiskFiles
from metier.spec import SKILL_FILE, Manifest, parse

from .install_common import grouped_stores, scope_options

__all__ = ["sbom"]

_LARGEST = 1024 * 1024


@command("skill", "sbom")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@scope_options
def sbom(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Print a software bill of materials (CycloneDX 1.6) of installed skills: licences, digests and locked packages.

    It is made of the lock, and the same lock gives the same document: `metier skill sbom > sbom.json`.
    """
    skills = [
        SbomSkill(entry=entry, scope=store.scope.level, manifest=_manifest(store, entry))
        for store, chosen in grouped_stores(app, names, project=project, user=user)
        for entry in store.lock()
        if not chosen or entry.name in chosen
    ]
    document = build_sbom(skills, tool_version=__version__)
    return Result(data=document, lines=lambda _terminal: iter(json.dumps(document, indent=2).split("\n")))


def _manifest(store: SkillStore, entry: LockEntry) -> Manifest | None:
    folder = store.folder_of(entry)
    try:
        data = DiskFiles(folder).read(SKILL_FILE, limit=_LARGEST)
    except MetierError:
        return None
    return parse(data, folder=os.path.basename(folder)).manifest
