"""Missed skills: requests in transcripts for which the ranker is sure of a skill that was not loaded in that session.

The ranker is sure if its decision is to activate the skill and its fit is at least `SURE_FIT`. A request counts as served if
any skill that fits it so well was loaded in its session. The reasons are what can be seen on this machine, the first that
applies; the last one is that the model saw the skill and did not load it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any

from metier.catalog import Entry, OfferFlag, State
from metier.hosts.transcripts import Transcript, UserRequest
from metier.selection import STOP_WORDS, Match, Selector, split_words, word_terms
from metier.sources import IndexedSkill
from metier.values import dataclass

__all__ = ["SURE_FIT", "AgentLibrary", "MissReason", "MissedReport", "MissedRequest", "find_missed", "is_ranked_request"]

SURE_FIT = 0.7
_MOST_REQUESTS = 2_000
_LONGEST = 4_000
_MOST_WORDS = 4
_MISSING_SHARE = 0.5
"""The share of a request's words that the description lacks, from which on that is the reason."""


class MissReason(StrEnum):
    FAILED = "load-failed"
    DISABLED = "disabled"
    FOR_USERS = "only-for-users"
    NAME_TAKEN = "name-taken"
    UNUSABLE = "unusable"
    NOT_VISIBLE = "not-visible"
    CUT = "not-shown"
    NEWER = "newer-than-request"
    DESCRIPTION = "description"
    NOT_LOADED = "not-loaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLibrary:
    """The skills that fit requests of one agent in one folder: those that it can see, and others on this machine."""

    entries: Mapping[str, Entry]
    """One for each folder."""
    visible: frozenset[str]
    """Folders of the skills in places that the agent reads."""
    selector: Selector

    @classmethod
    def of(cls, visible: Sequence[Entry], others: Sequence[Entry]) -> AgentLibrary:
        """Of several skills of one name, the one that the agent uses counts, and hidden ones with another description."""
        ordered = [*sorted(visible, key=lambda entry: entry.state is not State.ENABLED), *others]
        chosen: dict[str, Entry] = {}
        for entry in ordered:
            if entry.state not in (State.SKIPPED, State.UNTRUSTED):
                chosen.setdefault(entry.name, entry)
        hidden = [
            entry for entry in visible if entry.state is State.SHADOWED and entry.description != chosen[entry.name].description
        ]
        entries = {entry.folder: entry for entry in (*chosen.values(), *hidden)}
        return cls(
            entries=entries, visible=frozenset(entry.folder for entry in visible) & entries.keys(),
            selector=Selector(IndexedSkill(entry) for entry in entries.values()),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedRequest:
    skill: str
    folder: str
    """Of the skill."""
    agent: str
    session: str
    time: float
    text: str
    fit: float
    reason: MissReason
    detail: str
    """The reason as a sentence without a full stop."""

    def data(self) -> dict[str, Any]:  # Any: JSON
        return {
            "agent": self.agent, "session": self.session, "time": self.time, "request": self.text, "fit": round(self.fit, 3),
            "reason": str(self.reason), "detail": self.detail,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedReport:
    missed: tuple[MissedRequest, ...]
    """The newest first."""
    requests: int
    """Requests that were ranked."""
    served: int
    """Requests for which a fitting skill was loaded."""

    def by_skill(self) -> dict[str, list[MissedRequest]]:
        """The skills that were missed most often first."""
        groups: dict[str, list[MissedRequest]] = {}
        for one in self.missed:
            groups.setdefault(one.skill, []).append(one)
        return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def is_ranked_request(text: str) -> bool:
    """A command of the agent, or a request that names its skill, is not ranked."""
    return bool(text) and text[0] not in "/!$#@"


def find_missed(
    transcripts: Iterable[Transcript], library: Callable[[Transcript], AgentLibrary], *, fit: float = SURE_FIT,
    limit: int = _MOST_REQUESTS,
) -> MissedReport:  # fmt: skip
    """Ranks the newest requests, at most `limit`, each text once for each session."""
    pairs = (
        (transcript, request)
        for transcript in transcripts
        for request in {one.text: one for one in transcript.requests}.values()
        if is_ranked_request(request.text)
    )
    missed: list[MissedRequest] = []
    requests = served = 0
    for transcript, request in islice(pairs, limit):
        requests += 1
        skills = library(transcript)
        sure = _sure_matches(skills.selector, request.text, fit)
        if not sure:
            continue
        # A skill that another one hides cannot be loaded by its name.
        usable = [match for match in sure if skills.entries[match.id].state is not State.SHADOWED]
        loaded = {load.skill for load in transcript.loads}
        if any(match.name in loaded for match in usable):
            served += 1
            continue
        missed.append(_missed(transcript, request, (usable or sure)[0], skills))
    return MissedReport(missed=tuple(sorted(missed, key=lambda one: -one.time)), requests=requests, served=served)


def _sure_matches(selector: Selector, text: str, fit: float) -> list[Match]:
    picked = selector.select(text[:_LONGEST], selector.options.max_skills).selected
    return [match for match in picked if match.fit >= max(fit, selector.options.activate)]


def _missed(transcript: Transcript, request: UserRequest, match: Match, library: AgentLibrary) -> MissedRequest:
    entry = library.entries[match.id]
    reason, detail = _reason(entry, transcript, request, is_visible=entry.folder in library.visible)
    return MissedRequest(
        skill=entry.name, folder=entry.folder, agent=transcript.agent, session=transcript.id, time=request.time,
        text=request.text, fit=match.fit, reason=reason, detail=detail,
    )  # fmt: skip


def _reason(entry: Entry, transcript: Transcript, request: UserRequest, *, is_visible: bool) -> tuple[MissReason, str]:
    agent = transcript.agent
    failure = next((one for one in transcript.failed if one.skill == entry.name and one.time >= request.time), None)
    if failure is not None:
        return (
            MissReason.FAILED,
            f"the model asked for it, and the load failed in {agent}: {failure.error or 'no reason given'}",
        )
    if not is_visible:
        return MissReason.NOT_VISIBLE, f"it is not in a folder that {agent} reads"
    if entry.offer.flags & OfferFlag.HIDDEN_FROM_MODEL:
        return MissReason.FOR_USERS, "only users can start it (disable-model-invocation)"
    states = {State.DISABLED: MissReason.DISABLED, State.SHADOWED: MissReason.NAME_TAKEN}
    if entry.state is not State.ENABLED:
        return states.get(entry.state, MissReason.UNUSABLE), entry.reason or str(entry.state)
    if transcript.shown is not None and entry.name not in transcript.shown:
        if entry.offer.mtime_ns / 1e9 > request.time:
            return MissReason.NEWER, "it was installed or changed after this request"
        return MissReason.CUT, f"{agent} did not show it to its model in this session"
    missing = _missing_words(request.text, entry)
    if missing:
        return MissReason.DESCRIPTION, f"its description does not have {', '.join(map(repr, missing[:_MOST_WORDS]))}"
    return MissReason.NOT_LOADED, "its description fits, and the model did not load it"


def _missing_words(request: str, entry: Entry) -> list[str]:
    """Returns the words of a request that neither name nor description has, if they are most of its words."""
    known = {term for word in split_words(f"{entry.name} {entry.description}") for term in word_terms(word)}
    words = [word.lower() for word in split_words(request[:_LONGEST]) if word.lower() not in STOP_WORDS]
    missing = [word for word in dict.fromkeys(words) if not known.intersection(word_terms(word))]
    return missing if words and len(missing) > _MISSING_SHARE * len(set(words)) else []
