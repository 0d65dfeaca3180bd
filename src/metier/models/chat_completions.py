"""Requests of the chat completions API: OpenAI's, and that of nearly every other server (vLLM, Ollama, LiteLLM, gateways)."""

from __future__ import annotations

from typing import Any

from metier.runtime import Tool

from .completion_stream import CompletionStream, read_completion
from .failures import ModelFailure
from .query import ModelQuery
from .transcript import MessagePart, PartKind, TranscriptMessage

__all__ = ["ChatCompletionsFormat"]

# Any, in this module: JSON.


class ChatCompletionsFormat:
    path = "chat/completions"
    only_streams = False

    def __init__(self, model: str, *, key: str, provider: str) -> None:
        self.provider = provider
        self.headers = {"authorization": f"Bearer {key or 'none'}"}
        self._model = model

    def body(self, query: ModelQuery) -> dict[str, Any]:
        system = "\n\n".join(each.text for each in query.instructions)
        messages = [{"role": "system", "content": system}] if system else []
        for message in query.messages:
            messages += [_answer(message)] if message.is_answer else [_part(part) for part in message.parts]
        tools = [_tool(tool) for tool in query.tools]
        return {"model": self._model, "messages": messages, **({"tools": tools, "tool_choice": "auto"} if tools else {})}

    def stream_fields(self) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}}

    def open_stream(self) -> CompletionStream:
        return CompletionStream(self.provider)

    def read_whole(self, body: object) -> TranscriptMessage:
        return read_completion(body, provider=self.provider)

    def can_adapt(self, _: ModelFailure, /) -> bool:
        return False


def _part(part: MessagePart) -> dict[str, Any]:
    if part.kind == PartKind.TOOL_RETURN:
        return {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
    return {"role": "system" if part.kind == PartKind.SYSTEM else "user", "content": part.text}


def _answer(message: TranscriptMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.calls else "")}
    if message.calls:
        body["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments or "{}"}}
            for call in message.calls
        ]
    for part in message.parts:
        # Some models need their reasoning back while they use tools. The id is the field in which it came.
        if part.kind == PartKind.THINKING and part.more.get("id") in ("reasoning_content", "reasoning"):
            body[part.more["id"]] = part.content
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}
