"""Proposals of better descriptions from failed requests: by a model, or by counting words.

A proposal must not repeat the requests, because a description that quotes its own test passes only that test. So proposals
with five words of a request in a row are rejected, and counted words must occur in requests that should trigger and in none
that should not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from metier.models import ChatMessage, ChatModel
from metier.selection import split_words, word_terms

from .triggers import TriggerResult

__all__ = ["LONGEST", "CountedWords", "ModelProposals", "Propose", "is_valid_proposal"]

LONGEST = 1024
_COPIED = 5
_SIZES = (3, 6, 10)
# Words that carry no topic.
_FILLER = frozenset(
    """
    please want wants need needs help make give show tell can could would like use using look find got new first last
    thing things some any all now then also just really quick quickly boss user https http www com org
    """.split()  # noqa: SIM905  (a paragraph is easier to read than a column)
)
_NEGATIVE = re.compile(r"(?<=[.!?])\s+(?=(?:Not for|Do not use|Don't use|Never use)\b)")
_PROMPT = """A skill is picked by its description alone. This one is picked for the wrong requests.

Name: {name}
Description: {description}

Requests that should have picked it and did not:
{missed}

Requests that picked it and should not have:
{wrong}

Descriptions tried before, with their share of passed requests:
{tried}

Write a better description: what the skill does in one sentence, then "Use when" with the situations that the missed requests
have in common, then "Not for" with the most similar task. At most {longest} characters, one line, no tags. Do not quote the
requests: other ones like them must be picked as well. Answer with JSON only: {{"description": "..."}}"""


class Propose(Protocol):
    deterministic: bool
    """The same input always gives the same proposals, so asking again is useless."""

    async def __call__(
        self, description: str, rows: Sequence[TriggerResult], tried: Sequence[tuple[str, float]]
    ) -> Sequence[str]:
        """Proposes descriptions, given the results of this one on the training requests."""


def is_valid_proposal(description: str, before: str, rows: Sequence[TriggerResult]) -> bool:
    """Returns True if a description is valid in SKILL.md and does not copy its test."""
    if not description.strip() or len(description) > LONGEST or not description.isprintable() or "<" in description:
        return False
    added = _grams(description) - _grams(before)
    return not any(added & _grams(row.query) for row in rows)


class CountedWords:
    """Adds the words that missed requests share, and excludes those of requests that should not trigger. Needs no model."""

    deterministic = True

    def __init__(self, name: str) -> None:
        self._name = name

    async def __call__(
        self,
        description: str,
        rows: Sequence[TriggerResult],
        tried: Sequence[tuple[str, float]],  # noqa: ARG002
    ) -> Sequence[str]:
        return list(dict.fromkeys(self._proposals(description, rows)))

    def _proposals(self, description: str, rows: Sequence[TriggerResult]) -> Iterator[str]:
        missed = self._lacking(description, rows, should_trigger=True)
        wrong = self._lacking(description, rows, should_trigger=False)
        for size in _SIZES:
            also = f" Also for {_listed(missed[:size])}." if missed else ""
            never = f" Not for {_listed(wrong[:size])}." if wrong else ""
            for positive, negative in ((also, never), (also, ""), ("", never)):
                if positive or negative:
                    yield _place(description, positive) + negative

    def _lacking(self, description: str, rows: Sequence[TriggerResult], *, should_trigger: bool) -> list[str]:
        """Words of failed requests of one kind that no request of the other kind has, the most frequent first."""
        known = _terms(f"{self._name} {description}")
        other = {term for row in rows if row.should_trigger is not should_trigger for term in _terms(row.query)}
        kind = [row for row in rows if row.should_trigger is should_trigger]
        shared = Counter(term for row in kind for term in _terms(row.query))
        written: dict[str, str] = {}
        for row in kind:
            if not row.passed:
                for word in _topic_words(row.query):
                    written.setdefault(word_terms(word)[0], word)
        lacking = [term for term in written if term not in known and term not in other]
        return [written[term] for term in sorted(lacking, key=lambda term: (-shared[term], written[term]))]


class ModelProposals:
    deterministic = False

    def __init__(self, model: ChatModel, name: str) -> None:
        self._model = model
        self._name = name

    async def __call__(
        self, description: str, rows: Sequence[TriggerResult], tried: Sequence[tuple[str, float]]
    ) -> Sequence[str]:
        failed = [row for row in rows if not row.passed]
        prompt = _PROMPT.format(
            name=self._name, description=description, longest=LONGEST,
            missed=_format_bullets(row.query for row in failed if row.should_trigger),
            wrong=_format_bullets(row.query for row in failed if not row.should_trigger),
            tried=_format_bullets(f"{rate:.0%}: {text}" for text, rate in tried),
        )  # fmt: skip
        reply = await self._model.ask([ChatMessage.user(prompt)])
        proposal = _read(reply.text)
        return [proposal] if proposal else []


def _read(text: str) -> str:
    """The description in an answer that may have text or a fence around its JSON."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1])["description"]
    except (ValueError, LookupError, TypeError):
        return ""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _place(description: str, sentence: str) -> str:
    """Inserts the sentence before the part of the description that starts with "Not for"."""
    if not sentence:
        return description
    parts = _NEGATIVE.split(description.rstrip(), maxsplit=1)
    return f"{parts[0]}{sentence}" + (f" {parts[1]}" if len(parts) > 1 else "")


def _topic_words(text: str) -> list[str]:
    plain = [word.lower() for word in split_words(text) if word.isalpha() and len(word) > 2]
    return [word for word in plain if word not in _FILLER and word_terms(word)]


def _terms(text: str) -> set[str]:
    return {term for word in split_words(text) for term in word_terms(word)}


def _grams(text: str) -> set[tuple[str, ...]]:
    run = [word.lower() for word in split_words(text)]
    return {tuple(run[at : at + _COPIED]) for at in range(len(run) - _COPIED + 1)}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _format_bullets(lines: Iterator[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines) or "- none"
