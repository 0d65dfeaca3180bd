"""The skills of a registry as candidates for a request: `Selector(recall=RegistryRecall(client))`.

A registry is asked with a short patience, because a request waits for it, and after a failure not again for a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from metier.errors import UnavailableError
from metier.registry.wire import SkillSummary
from metier.selection import AvailableSkill
from metier.spec import is_name, is_version

from .http_client import RegistryClient
from .use_cases import SearchOptions, search

__all__ = ["RegistryRecall"]

_LONGEST = 1_024
_MOST_TAGS = 20
_PAUSE_SECONDS = 60.0


class RegistryRecall:
    """Implements `metier.selection.Recall`. `alias` is the name of the registry in refs; without one, refs are URLs."""

    def __init__(self, client: RegistryClient, alias: str = "", *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._alias = alias
        self._clock = clock
        self._paused_until = 0.0
        self._last: tuple[tuple[str, int], tuple[AvailableSkill, ...]] | None = None

    def __call__(self, words: str, limit: int) -> tuple[AvailableSkill, ...]:
        """Returns nothing in the minute after a failure, which it has raised."""
        asked = (words, limit)
        if self._last is not None and self._last[0] == asked:
            return self._last[1]
        if self._clock() < self._paused_until:
            return ()
        try:
            # The space at the end: the last word is complete.
            found = search(f"{words} ", self._client, SearchOptions(limit=min(limit, 100)))
        except UnavailableError:
            self._paused_until = self._clock() + _PAUSE_SECONDS
            raise
        skills = tuple(self._skill(one) for one in found.skills if is_name(one.name) and is_version(one.version))
        self._last = (asked, skills)
        return skills

    def _skill(self, one: SkillSummary) -> AvailableSkill:
        # The address of the archive is made here: a registry must not choose what a user is asked to type.
        ref = f"{self._alias}:{one.name}" if self._alias else f"{self._client.url}/skills/{one.name}/{one.version}.zip"
        return AvailableSkill(
            id=ref, name=one.name, description=one.description[:_LONGEST],
            tags=tuple(tag[:64] for tag in one.tags[:_MOST_TAGS]), version=one.version,
            origin=self._alias or self._client.url, install=f"metier skill install {ref}",
        )  # fmt: skip
