"""`LlmSelector`: a language model chooses from the shortlist of the local selector.

Names of the shortlist are read from the answer in any usual form: separated by commas, a list, JSON or a sentence. Unknown
names are ignored. If no name can be read, or the model client raises, the local selection is returned with a note that says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from metier.values import replace

from .match import Match, MatchDecision, Selection, SelectorOptions

__all__ = ["LlmSelector", "LocalSelector", "TextModel", "parse_names", "selection_prompt"]

_SHORTLIST = 30
"""Skills shown to the model: the right one is rarely missing, and the prompt stays short."""
_CHOSEN = 0.9
_NONE = re.compile(r"\W*(?:none|no (?:\w+ )?skills?)\b", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n\s*```\s*$", re.DOTALL)
_CLAUSE = re.compile(r"[.;!?](?:\s|$)|\n|\bbut\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|without|neither|nor|instead of|rather than)\b|n['’]t\b", re.IGNORECASE)


class TextModel(Protocol):
    def __call__(self, prompt: str) -> str:
        """Returns the model's whole answer; may raise any exception."""


class LocalSelector(Protocol):
    """A selector without a model, such as `Selector`."""

    def select(
        self, query: str, limit: int | None = None, *, recent: Iterable[str] = (), prior: Mapping[str, float] | None = None
    ) -> Selection: ...


class LlmSelector:
    def __init__(self, local: LocalSelector, model: TextModel, *, options: SelectorOptions | None = None) -> None:
        self._local = local
        self._model = model
        self._options = options or SelectorOptions()

    def select(
        self, query: str, limit: int | None = None, *, recent: Iterable[str] = (), prior: Mapping[str, float] | None = None
    ) -> Selection:
        ids = tuple(recent)
        fallback = self._local.select(query, limit, recent=ids, prior=prior)
        shortlist = self._local.select(query, _SHORTLIST, recent=ids, prior=prior).selected
        most = self._options.max_skills if limit is None else limit
        if not shortlist or most < 1:
            return fallback
        try:
            answer = self._model(selection_prompt(query, shortlist))
        except Exception as error:  # the caller's model client may raise anything
            return replace(fallback, note=f"the model could not choose skills: {_one_line(str(error)) or type(error).__name__}")
        offered: dict[str, Match] = {}
        for match in shortlist:
            offered.setdefault(match.name, match)
        names = parse_names(answer, offered)
        if names is None:
            return replace(fallback, note=f"the model named no known skill: {_one_line(str(answer))[:80]!r}")
        chosen = [_choose(offered[name]) for name in names[:most]]
        taken = {match.id for match in chosen}
        rest = tuple(match for match in shortlist if match.id not in taken)
        rejected = rest[: self._options.rejected]
        return Selection(selected=tuple(chosen), rejected=rejected, considered=fallback.considered)


def selection_prompt(query: str, matches: Iterable[Match]) -> str:
    """Puts each description on one line, so that none can pose as another entry."""
    catalog = "\n".join(f"- {_one_line(match.name)}: {_one_line(match.skill.description)}" for match in matches)
    return (
        f'Available skills:\n{catalog}\n\nUser query: "{_one_line(query)}"\n\n'
        'Which skills are relevant? Return comma-separated names or "none".\n'
    )


def parse_names(answer: object, offered: Iterable[str]) -> list[str] | None:
    """Returns the chosen names without duplicates, in order; None if the answer names no skill and does not say "none"."""
    if not isinstance(answer, str):
        return None
    fenced = _FENCE.match(answer)
    text = fenced[1] if fenced else answer
    known = dict.fromkeys(offered)
    document = _json(text)
    if document is not None:
        names = [word for word in _strings(document) if word in known]
        return list(dict.fromkeys(names)) if names or not any(_strings(document)) else None
    if not known or _NONE.match(text):
        return []
    # The longest first, so that `pdf-forms` is not read as `pdf`.
    words = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")
    clauses = [(bool(_NEGATION.search(pattern.sub("", clause))), pattern.findall(clause)) for clause in _CLAUSE.split(text)]
    chosen = dict.fromkeys(name for negated, names in clauses if not negated for name in names)
    return list(chosen) if any(names for _, names in clauses) else None


def _json(text: str) -> object:
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document


def _strings(document: object) -> Iterator[str]:
    """The texts of a JSON value. Of an object, the values: `{"skills": ["pdf"]}`."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, list | dict):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _strings(each)


def _choose(match: Match) -> Match:
    return replace(
        match,
        fit=max(match.fit, _CHOSEN),
        confidence=max(match.confidence, _CHOSEN),
        decision=MatchDecision.ACTIVATE,
        find_reason=lambda: f"chosen by the model; {match.reason}",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
