"""The messages of a conversation as they are sent again and stored.

They are stored in the format of pydantic-ai, field by field, so that it can continue any conversation and every provider's own
fields (signatures of reasoning, ids of items) survive. The classes here know the few fields that metier reads; the rest is kept
as it came. Reading and writing them needs no client library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from metier.values import dataclass, field

__all__ = ["MessagePart", "PartKind", "TranscriptMessage", "dump_messages", "load_messages"]

# Any, in this module: JSON.
_COUNTS = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "cached_tokens": "cache_read_tokens"}
"""Our fields by theirs."""


class PartKind(StrEnum):
    """The parts that metier writes. A stored message may hold others."""

    SYSTEM = "system-prompt"
    USER = "user-prompt"
    TOOL_RETURN = "tool-return"
    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool-call"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    kind: str
    content: str = ""
    """Empty if the part has none, or one that is not text; then it is in `more`."""
    tool: str = ""
    call_id: str = ""
    arguments: str = ""
    """Of a tool call, as the model wrote them; not always valid JSON."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """The other fields."""

    @property
    def text(self) -> str:
        """The content as text: JSON if it is not text."""
        content = self.more.get("content", self.content)
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> MessagePart:
        more = dict(data)
        content, arguments = more.get("content"), more.pop("args", None)
        if isinstance(content, str):
            del more["content"]
        return cls(
            kind=more.pop("part_kind"), content=content if isinstance(content, str) else "",
            tool=more.pop("tool_name", "") or "", call_id=more.pop("tool_call_id", "") or "", more=more,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else "",
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        own: dict[str, Any] = {"part_kind": str(self.kind)}
        if "content" not in self.more and self.kind != PartKind.TOOL_CALL:
            own["content"] = self.content
        if self.tool:
            own |= {"tool_name": self.tool, "tool_call_id": self.call_id}
        if self.kind == PartKind.TOOL_CALL:
            own["args"] = self.arguments
        return {**self.more, **own}


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMessage:
    """A message to the model, or its answer."""

    is_answer: bool = False
    parts: tuple[MessagePart, ...] = ()
    model: str = ""
    """The model that answered, as its provider names it; so are the next fields."""
    provider: str = ""
    id: str = ""
    finish_reason: str = ""
    """stop, length, tool_call, content_filter or error."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of the input that came from the provider's cache."""
    cost: float | None = field(default=None, compare=False)
    """In US dollars. Not stored."""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n\n".join(part.content for part in self.parts if part.kind == PartKind.TEXT and part.content)

    @property
    def calls(self) -> tuple[MessagePart, ...]:
        return tuple(part for part in self.parts if part.kind == PartKind.TOOL_CALL)

    @classmethod
    def of(cls, data: Mapping[str, Any], *, cost: float | None = None) -> TranscriptMessage:
        more = dict(data)
        parts = tuple(map(MessagePart.of, more.pop("parts")))
        if more.pop("kind") != "response":
            return cls(parts=parts, more=more)
        usage = dict(more.pop("usage", None) or {})
        counts = {name: usage.pop(key, 0) for name, key in _COUNTS.items()}
        more |= {"usage": usage} if usage else {}
        return cls(
            is_answer=True, parts=parts, model=more.pop("model_name", None) or "", cost=cost,
            provider=more.pop("provider_name", None) or "", id=more.pop("provider_response_id", None) or "",
            finish_reason=more.pop("finish_reason", None) or "", more=more, **counts,
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        parts = [part.data() for part in self.parts]
        if not self.is_answer:
            return {**self.more, "kind": "request", "parts": parts}
        tokens = {key: getattr(self, name) for name, key in _COUNTS.items()}
        return {
            **self.more, "kind": "response", "parts": parts, "usage": {**(self.more.get("usage") or {}), **tokens},
            "model_name": self.model or None, "provider_name": self.provider or None, "provider_response_id": self.id or None,
            "finish_reason": self.finish_reason or None,
        }  # fmt: skip


def dump_messages(messages: Iterable[TranscriptMessage]) -> bytes:
    return json.dumps([message.data() for message in messages], ensure_ascii=False).encode("utf-8", "surrogatepass")


def load_messages(data: bytes) -> tuple[TranscriptMessage, ...]:
    """Returns () for what is not a list of messages, for example after a downgrade, so that the conversation can continue."""
    try:
        return tuple(map(TranscriptMessage.of, json.loads(data)))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()
