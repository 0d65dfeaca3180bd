"""The skills that another agent finds on this machine, and the list that it makes of them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from metier.values import dataclass, replace

if TYPE_CHECKING:
    from metier.catalog import Entry
    from metier.hosts import HostListing, HostSkill

    from .paths import Paths
    from .skills import LocalSkills

__all__ = ["HostListings"]

_DAY = 86_400_000
_HALF_LIFE_DAYS = 7
_LEAST = 0.1
_MAX_STATE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class HostListings:
    paths: Paths
    environment: Mapping[str, str]
    skills: LocalSkills

    def listing(self, host: str, *, context: int | None = None) -> HostListing:
        """Returns the list that this agent shows its model in the current folder."""
        return self.listing_of(host, self.skills_of(host), context=context)

    def listing_of(self, host: str, skills: Iterable[HostSkill], *, context: int | None = None) -> HostListing:
        """Returns the list that this agent would make of these skills."""
        from metier.hosts import HOSTS, LISTING_BUDGETS, expand_folder, render_listing

        system = expand_folder("~/.codex/skills/.system", self.paths.user_home, self.environment, moved=HOSTS["codex"])
        return render_listing(LISTING_BUDGETS[host], skills, context=context, own_root=system)

    def skills_of(self, host: str) -> list[HostSkill]:
        """Returns the skills that this agent finds here. Those that it hides from its model are marked."""
        from metier.hosts import LISTING_BUDGETS, PROMPT_HOOKS
        from metier.install import read_switches

        if host not in PROMPT_HOOKS:
            # claude.ai has no folder here: these are the skills that could be uploaded.
            return [_host_skill(entry, "", shows_hidden=True) for entry in self.skills.catalog if entry.is_for_models]
        switches = read_switches(host, home=self.paths.user_home, environment=self.environment, project=self.paths.folder)
        use = self._use() if host == "claude-code" else {}
        shows_hidden = LISTING_BUDGETS[host].shows_hidden
        found = (
            _host_skill(entry, root, shows_hidden=shows_hidden, reads_when=host == "claude-code")
            for entry, root in self._entries(host)
        )
        return [
            replace(
                skill, hidden=skill.hidden or switches.hides(skill), use=use.get(skill.name, 0.0),
                name_only=skill.name in switches.names_only,
            )
            for skill in found
        ]  # fmt: skip

    def _entries(self, host: str) -> list[tuple[Entry, str]]:
        """Returns each usable skill with its folder of skills. An agent knows nothing of metier's filters."""
        from metier.catalog import State
        from metier.router import visible_folders
        from metier.sources import MetadataCache, build_catalog

        cache = MetadataCache(self.paths.catalog_cache) if self.skills.settings.boolean("cache.enabled") else None
        folders = visible_folders(host, self.paths.folder, home=self.paths.user_home, environment=self.environment)
        catalog = build_catalog(folders, machine=self.skills.machine, cache=cache, limits=self.skills.limits)
        roots = [os.path.realpath(folder.root) for folder in folders]

        def root_of(entry: Entry) -> str:
            # A skill that is reached by a link is a root of its own; its folder of skills is the one that it lies in.
            holder = os.path.dirname(entry.folder)
            above = (holder if root == entry.folder else root for root in roots if f"{entry.folder}/".startswith(f"{root}/"))
            return max(above, key=len, default="")

        return [(entry, root_of(entry)) for entry in catalog.entries if entry.state is not State.SKIPPED]

    def _use(self) -> dict[str, float]:
        """Returns how much Claude Code has used each skill, as it counts: a use loses half its weight in a week."""
        folder = self.environment.get("CLAUDE_CONFIG_DIR") or self.paths.user_home
        try:
            file = os.path.join(folder, ".claude.json")
            if os.path.getsize(file) > _MAX_STATE_BYTES:
                return {}
            with open(file, encoding="utf-8") as stream:
                rows = json.load(stream).get("skillUsage", {})
            now = time.time() * 1000
            return {
                name: row["usageCount"] * max(0.5 ** ((now - row["lastUsedAt"]) / _DAY / _HALF_LIFE_DAYS), _LEAST)
                for name, row in rows.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Claude Code's own file, of which we know only what it wrote at the measured version.
            return {}


def _host_skill(entry: Entry, root: str, *, shows_hidden: bool, reads_when: bool = False) -> HostSkill:
    from metier.catalog import OfferFlag, Source
    from metier.hosts import HostSkill

    fields = json.loads(entry.offer.fields) if "when_to_use" in entry.offer.fields else {}
    when = fields.get("when_to_use")
    # Claude Code shows both; the standard has one field.
    description = f"{entry.description} - {when}" if reads_when and isinstance(when, str) else entry.description
    hidden = bool(entry.offer.flags & OfferFlag.HIDDEN_FROM_MODEL) and not shows_hidden
    return HostSkill(
        name=entry.name, description=description, file=entry.location, root=root, hidden=hidden,
        is_users=entry.source is Source.USER,
    )  # fmt: skip
