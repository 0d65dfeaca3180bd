"""The use cases as plain functions, for scripts. Each one uses an App of the current environment and folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .app import App

if TYPE_CHECKING:
    from metier.install import InstallResult
    from metier.registry import PublishResult, SearchResult
    from metier.scan import ScanReport

__all__ = [
    "install_skills", "publish_skill", "remove_skills", "scan_skill", "search_skills", "update_skills",
]  # fmt: skip


def install_skills(
    *refs: str, skills: Sequence[str] = (), take_all: bool = False, targets: Sequence[str] = (), project: bool = False,
    force: bool = False, dry_run: bool = False,
) -> InstallResult:  # fmt: skip
    """Installs skills for the user, or for the current project.

    `skills` names those to take from a source that has several; `targets` names the agents that should see them.
    """
    from metier.install import InstallOptions

    options = InstallOptions(
        skills=tuple(skills), take_all=take_all, targets=tuple(targets), force=force, dry_run=dry_run
    )  # fmt: skip
    return App().install(*refs, project=project, options=options)


def update_skills(*names: str, project: bool | None = None) -> tuple[InstallResult, ...]:
    """Updates these installed skills, or all that are not pinned. Returns one result for each scope."""
    return tuple(result for _, _, result in App().update(*names, project=project))


def remove_skills(*names: str, project: bool | None = None, force: bool = False) -> tuple[InstallResult, ...]:
    """Removes installed skills. `force` removes one that another skill depends on."""
    return App().remove(*names, project=project, force=force)


def scan_skill(folder: str | os.PathLike[str]) -> ScanReport:
    """Scans the skill in a folder for dangerous instructions and scripts. Nothing is run."""
    from metier.scan import scan
    from metier.sources import DiskFiles

    return scan(DiskFiles(os.fspath(folder)))


def publish_skill(
    folder: str | os.PathLike[str], *, registry: str | None = None, namespace: str = "", version: str = "",
    public: bool | None = None, sign: bool = False, dry_run: bool = False,
) -> PublishResult:  # fmt: skip
    """Publishes the skill in a folder. `public` sets who can see it; None keeps it, and a new skill is private."""
    from metier.registry import PublishOptions

    visibility = "" if public is None else "public" if public else "private"
    options = PublishOptions(namespace=namespace, version=version, visibility=visibility, dry_run=dry_run)
    return App().registries.publish(os.fspath(folder), options, registry=registry, sign=sign)


def search_skills(
    query: str = "", *, registry: str | None = None, tag: str = "", limit: int = 20, cursor: str = ""
) -> SearchResult:
    """Returns one page of the registry's skills that match; an empty query lists all of them."""
    from metier.registry import SearchOptions

    return App().registries.search(query, SearchOptions(tag=tag, limit=limit, cursor=cursor), registry=registry)
