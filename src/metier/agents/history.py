"""The history that is sent to the model, and how it is compacted when it grows too long.

The oldest turns are removed first, replaced by a summary or a note. Then long answers of tools are shortened. Instructions of
skills are never lost: those of a removed turn return in the system prompt while the skill is active (see
`prompt.skills_in_history`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metier.errors import plural
from metier.models import PartKind, TranscriptMessage
from metier.values import dataclass, replace

from .conversations import Turn

if TYPE_CHECKING:
    from metier.disclosure import TokenCounter

__all__ = [
    "PastTurn",
    "shorten",
    "summary_note",
    "summary_request",
    "text_of",
    "tokens_of",
    "turns_to_drop",
]

_SHARE_AFTER = 0.6
"""The share of the limit that a compaction leaves, so that not every turn needs one."""
_KEPT_OF_ANSWER = 400
_LONGEST_QUOTE = 4_000
_CUT = "\n[shortened; call the tool again if you need the rest]"
_SUMMARY = """\
Summarize the conversation below, so that you can continue it. Keep requests, decisions, names, numbers, file names and open
questions. Leave out pleasantries. At most 300 words.

"""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """An earlier turn with its messages."""

    turn: Turn
    messages: tuple[TranscriptMessage, ...]


def texts(messages: Sequence[TranscriptMessage]) -> Iterator[str]:
    """All text that costs tokens."""
    for message in messages:
        for part in message.parts:
            if part.content:
                yield part.content
            if part.arguments:
                yield part.arguments


def text_of(messages: Sequence[TranscriptMessage]) -> str:
    return "\n".join(texts(messages))


def tokens_of(messages: Sequence[TranscriptMessage], count: TokenCounter) -> int:
    return sum(map(count, texts(messages)))


def turns_to_drop(tokens: Sequence[int], limit: int) -> int:
    """The number of oldest turns to remove so that the rest fits."""
    total = sum(tokens)
    if total <= limit:
        return 0
    for number, size in enumerate(tokens, start=1):
        total -= size
        if total <= limit * _SHARE_AFTER:
            return number
    return len(tokens)


def shorten(messages: Sequence[TranscriptMessage], limit: int, count: TokenCounter) -> list[TranscriptMessage]:
    """Shortens the answers of tools, oldest first, until the messages fit. Instructions are not shortened."""
    found = list(messages)
    over = tokens_of(found, count) - limit
    for place, message in enumerate(found):
        if over <= 0 or message.is_answer:
            continue
        parts = list(message.parts)
        for number, part in enumerate(parts):
            if over > 0 and part.kind == PartKind.TOOL_RETURN and _is_long_answer(part.content):
                cut = part.content[:_KEPT_OF_ANSWER] + _CUT
                over -= count(part.content) - count(cut)
                parts[number] = replace(part, content=cut)
        found[place] = replace(message, parts=tuple(parts))
    return found


def summary_note(turns: int, summary: str) -> str:
    """The text in the prompt that replaces the removed turns."""
    if not turns:
        return ""
    if not summary:
        return f"[{plural(turns, 'earlier turn')} of this conversation left out.]"
    return f"## Earlier in this conversation\n\n{plural(turns, 'turn')} left out; this is a summary.\n\n{summary}"


def summary_request(before: str, turns: Sequence[Turn]) -> str:
    """The prompt that asks the model for a summary."""
    parts = [f"Summary so far:\n{before}\n"] if before else []
    parts += [f"User: {_quote(turn.message)}\n\nAssistant: {_quote(turn.answer)}\n" for turn in turns]
    return _SUMMARY + "\n".join(parts)


def _quote(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"


def _is_long_answer(content: str) -> bool:
    return len(content) > _KEPT_OF_ANSWER * 2 and "<skill_content " not in content
