"""The conversation as it is sent, and what to leave out of it when it grows too long.

Whole turns go first, the oldest of them, with a summary or a note in their place. Then the long answers of tools are
shortened. Instructions of skills are never lost: what goes out with a turn comes back in the system prompt as long as
the skill is active (see `prompt.told_in`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

from metier.values import dataclass, replace

from .conversations import Turn

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from metier.disclosure import TokenCounter

__all__ = [
    "PastTurn",
    "dump_messages",
    "load_messages",
    "shorten",
    "summary_note",
    "summary_request",
    "text_of",
    "tokens_of",
    "turns_to_drop",
]

_ROOM_AFTER = 0.6
"""Of the room: after a compaction there must be some to grow into, or every turn would be one."""
_KEPT_OF_ANSWER = 400
_LONGEST_QUOTE = 4_000
_CUT = "\n[cut to save room; call the tool again if you need the rest]"
_SUMMARY = """\
Summarise the conversation below for yourself, so that you can go on with it. Keep what was asked, what was decided,
names, numbers, file names and what is still open. Leave out pleasantries. At most 300 words.

"""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn that was, ready to be sent again."""

    turn: Turn
    messages: tuple[ModelMessage, ...]


def dump_messages(messages: Sequence[ModelMessage]) -> bytes:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return ModelMessagesTypeAdapter.dump_json(list(messages))


def load_messages(data: bytes) -> tuple[ModelMessage, ...]:
    """Nothing if nobody can read it any more, as after a downgrade: a chat that goes on without it beats none."""
    from pydantic import ValidationError
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    try:
        return tuple(ModelMessagesTypeAdapter.validate_json(data))
    except ValidationError:
        return ()


def texts(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Everything in them that costs tokens."""
    for message in messages:
        for part in message.parts:
            content = getattr(part, "content", None)
            if isinstance(content, str):
                yield content
            arguments = getattr(part, "args", None)
            if arguments:
                yield str(arguments)


def text_of(messages: Sequence[ModelMessage]) -> str:
    return "\n".join(texts(messages))


def tokens_of(messages: Sequence[ModelMessage], count: TokenCounter) -> int:
    return sum(map(count, texts(messages)))


def turns_to_drop(tokens: Sequence[int], room: int) -> int:
    """How many of the oldest turns must go for the rest to fit."""
    total = sum(tokens)
    if total <= room:
        return 0
    for number, size in enumerate(tokens, start=1):
        total -= size
        if total <= room * _ROOM_AFTER:
            return number
    return len(tokens)


def shorten(messages: Sequence[ModelMessage], room: int, count: TokenCounter) -> list[ModelMessage]:
    """The messages of one turn with the answers of tools cut, oldest first, until they fit. Instructions are not cut."""
    from pydantic_ai.messages import ModelRequest, ToolReturnPart

    found = list(messages)
    over = tokens_of(found, count) - room
    for place, message in enumerate(found):
        if over <= 0 or not isinstance(message, ModelRequest):
            continue
        parts = list(message.parts)
        for number, part in enumerate(parts):
            if over > 0 and part.part_kind == "tool-return" and _is_long_answer(part.content):
                cut = part.content[:_KEPT_OF_ANSWER] + _CUT
                over -= count(part.content) - count(cut)
                parts[number] = ToolReturnPart(tool_name=part.tool_name, content=cut, tool_call_id=part.tool_call_id)
        found[place] = replace(message, parts=parts)
    return found


def summary_note(turns: int, summary: str) -> str:
    """What stands in the prompt for the turns that are not sent any more."""
    if not turns:
        return ""
    if not summary:
        return f"[{turns} earlier turns of this conversation are left out.]"
    return f"## Earlier in this conversation\n\n{turns} turns are left out; this is a summary of them.\n\n{summary}"


def summary_request(before: str, turns: Sequence[Turn]) -> str:
    """What the model is asked for a summary with."""
    parts = [f"Summary so far:\n{before}\n"] if before else []
    parts += [f"User: {_quoted(turn.message)}\n\nAssistant: {_quoted(turn.answer)}\n" for turn in turns]
    return _SUMMARY + "\n".join(parts)


def _quoted(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"


def _is_long_answer(content: object) -> TypeGuard[str]:
    return isinstance(content, str) and len(content) > _KEPT_OF_ANSWER * 2 and "<skill_content " not in content
