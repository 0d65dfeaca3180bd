"""Recent requests of the user, from transcripts, and how the skills on this machine share them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metier.evals import AgentLibrary, Takeover, TakeoverReport, find_takeovers, is_ranked_request, read_queries
from metier.spec import SKILL_FILE
from metier.values import dataclass

if TYPE_CHECKING:
    from metier.catalog import Catalog, Entry
    from metier.hosts.transcripts import Transcript

    from .router import Router
    from .skills import LocalSkills
    from .transcripts import Transcripts

__all__ = ["RecentRequests", "RequestTakeovers"]

_MOST = 400
_PERIOD = 180 * 24 * 3600.0
_QUICK = 0.3
"""Seconds that an install or update may take longer for this."""
_THOROUGH = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTakeovers:
    requests: TakeoverReport = TakeoverReport()
    evals: TakeoverReport = TakeoverReport()
    """Of requests in the evals of the user's other skills."""
    is_planned: bool = False
    """The skills are not installed yet."""

    def sentences(self) -> tuple[str, ...]:
        """Says each takeover with its interval."""
        verb = "would take" if self.is_planned else "takes"
        return (
            *(_sentence(one, verb, f"your last {one.total:,} requests") for one in self.requests.takeovers),
            *(_sentence(one, verb, f"{one.total:,} eval requests") for one in self.evals.takeovers),
        )


@dataclass(frozen=True, kw_only=True)
class RecentRequests:
    transcripts: Transcripts
    router: Router
    skills: LocalSkills

    def library(self, transcript: Transcript) -> AgentLibrary:
        """Returns the skills of a session's agent in its folder as they are now."""
        from metier.catalog import Source

        agent, folder = transcript.agent, transcript.folder if os.path.isdir(transcript.folder) else ""
        place = (agent, folder)
        if place not in self._places:
            visible = self.router.visible_catalog(agent, folder).entries
            # Sessions in many folders usually see the same skills.
            state = tuple((entry.folder, entry.offer.mtime_ns, entry.state) for entry in visible)
            if state not in self._libraries:
                others = [one for one in self.skills.catalog.entries if one.source not in (Source.BUNDLED, Source.MCP)]
                self._libraries[state] = AgentLibrary.of(visible, others)
            self._places[place] = self._libraries[state]
        return self._places[place]

    @cached_property
    def _places(self) -> dict[tuple[str, str], AgentLibrary]:
        return {}

    @cached_property
    def _libraries(self) -> dict[object, AgentLibrary]:
        return {}

    def takeovers(self, names: Collection[str] = (), *, is_quick: bool = False) -> RequestTakeovers:
        """Returns what skills of these names, or all, take from others: of the last requests, and of other skills' evals.

        Nothing is ranked if there are neither. With `is_quick` it stops after a fraction of a second.
        """
        deadline = time.monotonic() + (_QUICK if is_quick else _THOROUGH)
        catalog = self.skills.fresh_catalog()
        among = {entry.folder for entry in catalog if entry.name in names} if names else None
        return self._takeovers(catalog, among, deadline, is_planned=False)

    def planned_takeovers(self, planned: Mapping[str, bytes]) -> RequestTakeovers:
        """Returns what skills would take from others; each is the folder to be written and its SKILL.md. Quick as above."""
        deadline = time.monotonic() + _QUICK
        with tempfile.TemporaryDirectory(prefix="metier-plan-") as temporary:
            folders = {}
            for number, (target, document) in enumerate(planned.items()):
                folders[target] = os.path.join(temporary, str(number), os.path.basename(target))
                os.makedirs(folders[target])
                with open(os.path.join(folders[target], SKILL_FILE), "wb") as stream:
                    stream.write(document)
            catalog = self.skills.fresh_catalog(folders)
            return self._takeovers(catalog, frozenset(folders.values()), deadline, is_planned=True)

    def _takeovers(
        self, catalog: Catalog, among: Collection[str] | None, deadline: float, *, is_planned: bool
    ) -> RequestTakeovers:
        from metier.catalog import Source

        requests = self._requests(deadline)
        usable = [entry for entry in catalog if entry.is_for_models]
        new = {entry.folder for entry in usable if among is not None and entry.folder in among}
        others = [entry for entry in usable if entry.folder not in new and entry.source is not Source.BUNDLED]
        evals = [text for entry in others for text in _eval_requests(entry)]
        if not (requests or evals) or (among is not None and not new):
            return RequestTakeovers()
        selector = self.skills.selector_for(catalog, is_saved=not is_planned)
        found = [
            find_takeovers(selector, list(dict.fromkeys(texts)), among=among, is_time_up=lambda: time.monotonic() > deadline)
            for texts in (requests, evals)
        ]
        return RequestTakeovers(requests=found[0], evals=found[1], is_planned=is_planned)

    def by_loaded_skill(self) -> dict[str, list[str]]:
        """Returns the last requests after which a skill was loaded, in any agent, by the name of that skill."""
        found: dict[str, dict[str, None]] = {}
        count = 0
        if not self.transcripts.is_enabled:
            return {}
        for transcript in self.transcripts.read(since=time.time() - _PERIOD):
            for load in transcript.loads:
                asked = [one for one in transcript.requests if one.time <= load.time and is_ranked_request(one.text)]
                if asked:
                    found.setdefault(load.skill, {})[" ".join(asked[-1].text.split())] = None
                    count += 1
            if count >= _MOST:
                break
        return {skill: list(texts) for skill, texts in found.items()}

    def _requests(self, deadline: float) -> list[str]:
        found: dict[str, None] = {}
        if not self.transcripts.is_enabled:
            return []
        for transcript in self.transcripts.read(since=time.time() - _PERIOD):
            texts = (" ".join(request.text.split()) for request in reversed(transcript.requests))
            found.update(dict.fromkeys(text for text in texts if is_ranked_request(text)))
            if len(found) >= _MOST or time.monotonic() > deadline:
                break
        return list(found)[:_MOST]


def _eval_requests(entry: Entry) -> list[str]:
    from metier.errors import MetierError
    from metier.sources import DiskFiles

    if not os.path.isdir(os.path.join(entry.folder, "evals")):
        return []
    try:
        return [query.text for query in read_queries(DiskFiles(entry.folder)) if query.should_trigger]
    except (MetierError, OSError):
        # Broken evals are reported by `metier skill eval`.
        return []


def _sentence(one: Takeover, verb: str, requests: str) -> str:
    low, high = one.interval
    return f"{one.skill} {verb} {one.taken:,} of {requests} from {one.rival} (95 % interval {low:,} to {high:,})"
