"""Advisories about bad skills: the user's advisory files, and the signed lists of the registries that the user works with."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from metier.values import dataclass

if TYPE_CHECKING:
    from metier.config import Settings
    from metier.install import LockEntry, ScannedSkill
    from metier.registry.client import AdvisoryLists, RegistryClient
    from metier.scan import Advisory, ScanReport

    from .paths import Paths
    from .registries import Registries

__all__ = ["KnownAdvisories"]


@dataclass(frozen=True, kw_only=True)
class KnownAdvisories:
    paths: Paths
    settings: Settings
    registries: Registries
    find_locked: Callable[[str], LockEntry | None]
    """Returns the lock entry of an installed skill, by its folder."""
    now: Callable[[], float] = time.time

    def load(self, *, offline: bool = False) -> tuple[Advisory, ...]:
        """Returns all advisories. They are read once; what could not be updated is in `notes`."""
        if "found" not in self._loaded:
            self._loaded["found"] = (*self._of_files(), *self._of_registries(offline=offline))
        return self._loaded["found"]

    @property
    def notes(self) -> tuple[str, ...]:
        """Problems with the lists of registries; none before they are loaded."""
        return tuple(self._notes)

    def check(self, skill: ScannedSkill, *, offline: bool = False) -> ScanReport:
        """Returns the report with a finding for each advisory that names the skill. An installed one counts as its source."""
        advisories = self.load(offline=offline)
        if not advisories:
            return skill.report
        from metier.archive import digest
        from metier.install import publisher_of_origin
        from metier.scan import apply_advisories

        locked = self.find_locked(skill.where)
        name, version, publisher = skill.name, "", skill.publisher
        if locked is not None:
            name, version = locked.called or locked.base_name, locked.version
            publisher = publisher_of_origin(locked.origin)
        found = apply_advisories(
            skill.report, advisories, files=skill.files, name=name, publisher=publisher, version=version or _version(skill),
            digest=digest(skill.files),
        )  # fmt: skip
        if locked is None or locked.digest == digest(skill.files):
            return found
        # The files were edited since, or renamed: what its source was called bad for still counts.
        by_source = [one for one in advisories if locked.digest in one.digests]
        return apply_advisories(found, by_source, files=skill.files, name="", digest=locked.digest)

    @cached_property
    def lists(self) -> AdvisoryLists:
        from metier.registry.client import AdvisoryLists

        return AdvisoryLists(self.paths.at("advisories"), self.now)

    def clients(self, *, offline: bool = False) -> Iterator[RegistryClient]:
        """Yields a client for the user's default registry and for each that the user is logged in to."""
        if not self.settings.path("skills.registry") and not os.path.exists(self.paths.at("credentials.toml")):
            return
        from metier.registry.client import registry_url

        default = next((one for one in self.registries.sources if one.name == "r9s" and not one.ungranted), None)
        urls = [registry_url(default.url)] if default else []
        known = {_origin(url) for url in urls}
        urls += [origin for origin in self.registries.logins.origins() if origin not in known]
        for url in urls:
            # A registry without TLS on another machine is used only with an option of that command.
            if urlsplit(url).scheme == "https" or urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1"):
                yield self.registries.client(url, offline=offline)

    @cached_property
    def _loaded(self) -> dict[str, tuple[Advisory, ...]]:
        return {}

    @cached_property
    def _notes(self) -> list[str]:
        return []

    def _of_files(self) -> Iterator[Advisory]:
        """Reads the files that the settings name; of a folder, every JSON file."""
        named = self.settings["scan.advisories"].value or ()
        for one in named:
            from metier.errors import NotFoundError
            from metier.scan import read_advisories

            place = Path(os.path.expanduser(str(one)))
            for file in sorted(place.rglob("*.json")) if place.is_dir() else [place]:
                try:
                    yield from read_advisories(file.read_text(encoding="utf-8"), file=str(file))
                except FileNotFoundError:
                    hint = "correct it with `metier config set scan.advisories PATH`"
                    raise NotFoundError(f"no such file of advisories: {str(one)!r}", hint=hint) from None

    def _of_registries(self, *, offline: bool) -> Iterator[Advisory]:
        if not self.settings.boolean("scan.registry_advisories"):
            return
        for client in self.clients(offline=offline):
            known = self.lists.read(client)
            if known.note:
                self._notes.append(known.note)
            yield from known.advisories


def _version(skill: ScannedSkill) -> str:
    from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, parse

    if not any(entry.path == SKILL_FILE for entry in skill.files.list()):
        return ""
    manifest = parse(skill.files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).manifest
    return (manifest.extensions.version or "") if manifest else ""


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
