"""The responses API of OpenAI.

Items of an answer (messages, calls, reasoning) are known to the server by their ids, which are sent back to the server that
made them and to no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .answers import new_answer
from .failures import FailureKind, ModelFailure
from .provider_errors import read_error
from .query import Delta, ModelQuery
from .transcript import MessagePart, PartKind, TranscriptMessage

__all__ = ["OpenAiResponses"]

# Any, in this module: JSON.
_PROVIDER = "openai"
_REASONS = re.compile(r"o[134]|gpt-(?!5-chat)[5-9]")
"""Models whose reasoning can be sent back. Others refuse to be asked for it."""
_FINISH = {"completed": "stop", "max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAiResponses:
    provider = _PROVIDER
    path = "responses"
    only_streams = False

    def __init__(self, model: str, *, key: str, address: str) -> None:
        self.headers = {"authorization": f"Bearer {key or 'none'}"}
        self._model = model
        self._address = address

    def body(self, query: ModelQuery) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        for message in query.messages:
            if message.is_answer:
                items += _answer_items(message, with_ids=str(message.more.get("provider_url")).rstrip("/") == self._address)
            else:
                items += map(_input_item, message.parts)
        tools = [
            {"type": "function", "name": tool.name, "description": tool.description, "parameters": dict(tool.schema),
             "strict": False}
            for tool in query.tools
        ]  # fmt: skip
        instructions = "\n\n".join(each.text for each in query.instructions)
        return {
            "model": self._model, "input": items,
            **({"instructions": instructions} if instructions else {}),
            **({"tools": tools, "tool_choice": "auto"} if tools else {}),
            **({"include": ["reasoning.encrypted_content"]} if _REASONS.match(self._model) else {}),
        }  # fmt: skip

    def stream_fields(self) -> dict[str, Any]:
        return {"stream": True}

    def open_stream(self) -> _ResponseStream:
        return _ResponseStream(self._address)

    def read_whole(self, body: object) -> TranscriptMessage:
        return _read_response(body, self._address)

    def can_adapt(self, _: ModelFailure, /) -> bool:
        return False


class _ResponseStream:
    def __init__(self, address: str) -> None:
        self._address = address
        self._items: list[dict[str, Any]] = []
        self._response: dict[str, Any] | None = None

    def read_chunk(self, chunk: object) -> Iterator[Delta]:
        match chunk:
            case {"type": "error", **error}:
                raise read_error(error.get("error") or error)
            case {"type": "response.failed", "response": dict() as response}:
                raise read_error(response.get("error") or "the request failed")
            case {"type": "response.output_text.delta" | "response.refusal.delta", "delta": str() as text}:
                yield Delta(text)
            case {"type": "response.reasoning_summary_text.delta" | "response.reasoning_text.delta", "delta": str() as text}:
                yield Delta(text, thinking=True)
            case {"type": "response.output_item.done", "item": dict() as item}:
                self._items.append(item)
            case {"type": "response.completed" | "response.incomplete", "response": dict() as response}:
                self._response = response
            case {"type": str()}:
                # The starts of items, their pieces that are repeated at the end, and what a later version adds.
                return
            case _:
                raise ModelFailure(FailureKind.UNREADABLE, "a piece of it is not an event of a response")

    def message(self) -> TranscriptMessage:
        if self._response is None:
            raise ModelFailure(FailureKind.CONNECTION, "the connection ended in the middle of the answer")
        return _read_response({**self._response, "output": self._response.get("output") or self._items}, self._address)


def _read_response(body: object, address: str) -> TranscriptMessage:
    if isinstance(body, dict) and body.get("error"):
        raise read_error(body["error"])
    items = body.get("output") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(items, list):
        raise ModelFailure(FailureKind.UNREADABLE, "it is not a response")
    parts = tuple(part for item in items if isinstance(item, dict) for part in _parts(item))
    usage = body.get("usage") or {}
    reason = str((body.get("incomplete_details") or {}).get("reason") or body.get("status"))
    has_calls = any(part.kind == PartKind.TOOL_CALL for part in parts)
    return new_answer(
        parts, head=body, provider=_PROVIDER, address=address,
        finish_reason="tool_call" if has_calls and reason == "completed" else _FINISH.get(reason, ""),
        input_tokens=usage.get("input_tokens") or 0, output_tokens=usage.get("output_tokens") or 0,
        cached_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens") or 0,
    )  # fmt: skip


def _parts(item: dict[str, Any]) -> Iterator[MessagePart]:
    """Returns the parts of a message that an item holds; items of tools of the provider hold none."""
    more: dict[str, Any] = {"id": item.get("id"), "provider_name": _PROVIDER}
    match item.get("type"):
        case "message":
            more |= {"provider_details": {"phase": item["phase"]}} if item.get("phase") else {}
            for content in item.get("content") or ():
                if text := content.get("text") or content.get("refusal"):
                    yield MessagePart(kind=PartKind.TEXT, content=text, more=more)
        case "function_call":
            yield MessagePart(
                kind=PartKind.TOOL_CALL, tool=str(item.get("name") or ""), call_id=str(item.get("call_id") or ""),
                arguments=item.get("arguments") or "", more=more,
            )  # fmt: skip
        case "reasoning":
            texts = [str(each.get("text") or "") for each in item.get("summary") or item.get("content") or ()]
            secret = item.get("encrypted_content")
            for place, text in enumerate(texts or [""] if secret else texts):
                # The first of several parts carries it, as pydantic-ai stores them.
                yield MessagePart(kind=PartKind.THINKING, content=text, more={**more, "signature": None if place else secret})


def _input_item(part: MessagePart) -> dict[str, Any]:
    if part.kind == PartKind.TOOL_RETURN:
        return {"type": "function_call_output", "call_id": part.call_id, "output": part.text}
    return {"role": "system" if part.kind == PartKind.SYSTEM else "user", "content": part.text}


def _answer_items(message: TranscriptMessage, *, with_ids: bool) -> Iterator[dict[str, Any]]:
    reasoning: dict[str, Any] | None = None
    for part in message.parts:
        own = {"id": part.more["id"]} if with_ids and part.more.get("id") else {}
        details = part.more.get("provider_details") or {}
        match part.kind:
            case PartKind.TEXT if own:
                content = [{"type": "output_text", "text": part.content, "annotations": []}]
                phase = {"phase": details["phase"]} if details.get("phase") else {}
                yield {"type": "message", "role": "assistant", "status": "completed", "content": content, **own, **phase}
            case PartKind.TEXT if part.content:
                yield {"role": "assistant", "content": part.content}
            case PartKind.TOOL_CALL:
                call = {"call_id": part.call_id, "name": part.tool, "arguments": part.arguments or "{}"}
                yield {"type": "function_call", **call, **own}
            case PartKind.THINKING if own:
                if reasoning is None or reasoning["id"] != own["id"]:
                    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": part.more.get("signature"), **own}
                    yield reasoning
                if part.content:
                    reasoning["summary"].append({"type": "summary_text", "text": part.content})
