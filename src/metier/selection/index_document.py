"""A skill as the index reads it, by field: name, purpose, negative clauses, headings and body.

"Not for legal documents" contains the words *legal documents* but means the opposite, so such clauses are moved from the
description to a field of their own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from metier.spec import Triggers
from metier.values import dataclass

from .tokenization import split_sentences

__all__ = [
    "BODY_LIMIT",
    "IndexDocument",
    "SelectableSkill",
    "Triggers",
    "read_skill",
    "read_triggers",
    "split_negative",
    "stamp_of",
]

BODY_LIMIT = 6_000
"""Characters of the body that are indexed; the topic of a skill is at its beginning."""

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_NEGATIVE = re.compile(
    r"\b(?:(?:do|does|should|must|is|are|was)(?:\s+not|n['’]t)|don['’]t|never|not|no\s+need)\s+"
    r"(?:to\s+be\s+)?(?:use[ds]?|using|trigger(?:ed)?|activated?|appl(?:y|icable)|invoked?|for|intended|meant|suitable|"
    r"needed|when|if|cover(?:ed)?|load)\b"
    r"|\b(?:skip|skipped|avoid|ignore|exclud\w+)\s+(?:this|it|use|using|when|if|on|for|the\s+skill)\b"
    r"|\bskip(?:\s+on)?:|\bnot:|\bout\s+of\s+scope\b|\banti-?triggers?\b|\bnon-?goals?\b"
    r"|\bnicht\s+(?:für|verwenden|geeignet|wenn)\b|\bno\s+(?:usar|utilizar|es\s+para)\b|\bne\s+pas\s+utiliser\b|\bpas\s+pour\b"
    r"|\bnão\s+(?:usar|use|utilizar|é\s+para)\b|\bне\s+(?:использовать|используй|подходит|для)\b|不(?:适用于|适用|用于|要用于)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"(?<=[.!?])\s|\n|[;)。；]")


@runtime_checkable
class SelectableSkill(Protocol):
    """The attributes that a skill needs. `body`, `tags`, `triggers` and `digest` are read if they exist."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDocument:
    """The text of a skill by field."""

    id: str
    name: str
    purpose: tuple[str, ...]
    """Sentences of the description, and the tags, without the negative clauses."""
    negative: str
    headings: str
    body: str
    triggers: Triggers
    stamp: bytes
    """8 bytes that change with the skill; see `stamp_of`."""


def read_skill(skill: SelectableSkill) -> IndexDocument:
    body = str(getattr(skill, "body", None) or "")
    tags = strings(getattr(skill, "tags", None))
    triggers = read_triggers(skill)
    positive, negative = split_negative(str(skill.description or ""))
    prose = _FENCE.sub("\n", body[:BODY_LIMIT])
    extra = " ".join((*tags, *triggers.keywords))
    return IndexDocument(
        id=str(skill.id),
        name=str(skill.name),
        purpose=(*split_sentences(positive), *((extra,) if extra else ())),
        negative=negative,
        headings="\n".join(_HEADING.findall(prose)),
        body=prose,
        triggers=triggers,
        stamp=stamp_of(skill),
    )


def stamp_of(skill: SelectableSkill) -> bytes:
    """Returns 8 bytes that change with the skill.

    The body is left out, because reading thousands of bodies to find no change would take longer than the index saves. If
    the skill has a `digest` of its content, only that and the name are read.
    """
    digest = getattr(skill, "digest", None)
    if digest:
        return hashlib.blake2b(f"{skill.name}\0{digest}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    parts = (
        str(skill.name),
        str(skill.description or ""),
        ",".join(strings(getattr(skill, "tags", None))),
        repr(read_triggers(skill)) if getattr(skill, "triggers", None) else "",
    )
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def split_negative(text: str) -> tuple[str, str]:
    """Splits a description into what the skill is for and what it is not for."""
    kept: list[str] = []
    negative: list[str] = []
    place = 0
    while found := _NEGATIVE.search(text, place):
        end = _CLAUSE_END.search(text, found.end())
        stop = end.start() if end else len(text)
        kept.append(text[place : found.start()])
        negative.append(text[found.end() : stop])
        place = stop
    kept.append(text[place:])
    return "".join(kept), "\n".join(negative)


def strings(value: object) -> tuple[str, ...]:
    """Reads a list of strings from a string with commas, an iterable, or None."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Iterable):
        return tuple(str(part).strip() for part in value if str(part).strip())
    return ()


def read_triggers(skill: SelectableSkill) -> Triggers:
    """Reads triggers from an object, a mapping, or plain keywords."""
    value: object = getattr(skill, "triggers", None)
    if value is None:
        return Triggers()
    if isinstance(value, str | list | tuple | set | frozenset):
        return Triggers(keywords=strings(value))
    keywords, verbs, patterns = (
        value.get(key) if isinstance(value, Mapping) else getattr(value, key, None) for key in ("keywords", "verbs", "patterns")
    )
    return Triggers(
        keywords=strings(keywords),
        verbs=strings(verbs),
        # A comma may be part of a pattern, so one string is one pattern.
        patterns=(patterns,) if isinstance(patterns, str) else strings(patterns),
    )
