"""Messages to a model and its replies, as plain values. `client` translates them for the client library."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from metier.values import dataclass, field

from .transcript import TranscriptMessage

__all__ = ["ChatMessage", "ChatRole", "Message", "ModelReply", "ToolCall"]


class ChatRole(StrEnum):
    SYSTEM = "system"
    USER = "user"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's call of a tool."""

    id: str
    tool: str
    arguments: str
    """As the model wrote them; not always valid JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    role: ChatRole
    text: str
    call: ToolCall | None = None
    """The call that a message of a tool answers."""

    @classmethod
    def system(cls, text: str) -> Self:
        return cls(role=ChatRole.SYSTEM, text=text)

    @classmethod
    def user(cls, text: str) -> Self:
        return cls(role=ChatRole.USER, text=text)

    @classmethod
    def tool(cls, call: ToolCall, text: str) -> Self:
        return cls(role=ChatRole.TOOL, text=text, call=call)

    def data(self) -> dict[str, Any]:
        """The message in the format of chat completions, for transcripts."""
        body = {"role": str(self.role), "content": self.text}
        return body if self.call is None else {**body, "tool_call_id": self.call.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's whole answer. It can be sent back as a message of the conversation."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    """Of the request and the answer together, as the provider counted them."""
    response: TranscriptMessage | None = field(default=None, repr=False, compare=False)
    """The answer as it is sent again: it holds what only its provider can read."""

    def data(self) -> dict[str, Any]:
        """The answer in the format of chat completions, for transcripts."""
        body: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            body["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
                for call in self.calls
            ]
        return body


Message = ChatMessage | ModelReply
