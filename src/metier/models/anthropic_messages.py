"""The messages API of Anthropic, version 2026-10-21.

Answers are always streamed, because long ones must be. Reasoning is sent back with the signature with which it came, which
newer models accept only below the same prompt and tools. Ours change with the active skills, so a refused signature makes the
client ask for such reasoning to be dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .answers import new_answer
from .failures import FailureKind, ModelFailure
from .provider_errors import read_error
from .query import Delta, ModelQuery
from .transcript import MessagePart, PartKind, TranscriptMessage

__all__ = ["AnthropicMessages"]

# Any, in this module: JSON.
_PROVIDER = "anthropic"
_OUTPUT_TOKENS = (
    (("claude-3", "claude-4-", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2", "claude-opus-4@",
      "claude-sonnet-4-0", "claude-sonnet-4-2", "claude-sonnet-4@"), 4_096),
    (("claude-haiku-4-5", "claude-opus-4-5", "claude-sonnet-4-5"), 64_000),
    (("claude-fable-5", "claude-mythos-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5",
      "claude-sonnet-4-6", "claude-sonnet-5", "claude-haiku-5-5"), 128_000),
)  # fmt: skip
"""The longest answer of a model, which every request must name. The oldest models refuse more than fits beside the input."""
_UNKNOWN_OUTPUT_TOKENS = 16_384
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_STALE_THINKING = "The block is bound to a different conversation"
_REDACTED = "redacted_thinking"
_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "tool_use": "tool_call", "refusal": "content_filter",
}  # fmt: skip
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The field that holds the piece."""


class AnthropicMessages:
    provider = _PROVIDER
    path = "v1/messages"
    only_streams = True

    def __init__(self, model: str, *, key: str) -> None:
        self.headers = {"authorization": f"Bearer {key}", "anthropic-version": "2026-10-21"}
        self._model = model
        self._drops_stale_thinking = False

    def body(self, query: ModelQuery) -> dict[str, Any]:
        system = [part.text for message in query.messages for part in message.parts if part.kind == PartKind.SYSTEM]
        system += [each.text for each in query.instructions]
        tools = [
            {"name": each.name, "description": each.description, "input_schema": dict(each.schema)} for each in query.tools
        ]
        messages = [
            {"role": "assistant" if message.is_answer else "user", "content": content}
            for message in query.messages
            if (content := list(_blocks(message)))
        ]
        binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        return {
            "model": self._model, "max_tokens": _output_tokens(self._model), "messages": messages,
            # The server caches the longest start of the request that stays the same.
            "cache_control": {"type": "ephemeral", "ttl": "5m"},
            **({"system": [_text(text) for text in system if text]} if any(system) else {}),
            **({"tools": tools, "tool_choice": {"type": "auto"}} if tools else {}),
            **({"thinking": {"type": "adaptive", **binding}} if self._drops_stale_thinking else {}),
        }  # fmt: skip

    def stream_fields(self) -> dict[str, Any]:
        return {"stream": True}

    def open_stream(self) -> _MessageStream:
        return _MessageStream()

    def read_whole(self, body: object) -> TranscriptMessage:
        if isinstance(body, dict) and body.get("type") == "error":
            raise read_error(body.get("error"))
        if not isinstance(body, dict) or not isinstance(body.get("content"), list):
            raise ModelFailure(FailureKind.UNREADABLE, "it is not a message")
        stream = _MessageStream()
        events: list[dict[str, Any]] = [{"type": "message_start", "message": body}]
        events += [
            {"type": "content_block_start", "index": index, "content_block": block}
            for index, block in enumerate(body["content"])
        ]
        for event in (*events, {"type": "message_delta", "delta": body, "usage": {}}, {"type": "message_stop"}):
            list(stream.read_chunk(event))
        return stream.message()

    def can_adapt(self, failure: ModelFailure, /) -> bool:
        if self._drops_stale_thinking or _STALE_THINKING not in failure.detail:
            return False
        self._drops_stale_thinking = True
        self.headers["anthropic-beta"] = _BINDING_BETA
        return True


class _MessageStream:
    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._usage: dict[str, int] = {}
        self._blocks: dict[object, tuple[dict[str, Any], list[str]]] = {}
        """Each with the pieces that came after its start."""
        self._finish = ""
        self._is_done = False

    def read_chunk(self, chunk: object) -> Iterator[Delta]:
        match chunk:
            case {"type": "error", "error": error}:
                raise read_error(error)
            case {"type": "message_start", "message": dict() as head}:
                self._head = head
                self._count(head.get("usage"))
            case {"type": "content_block_start", "index": index, "content_block": dict() as block}:
                self._blocks[index] = (dict(block), [])
                for kind in ("thinking", "text"):
                    if block.get(kind):
                        yield Delta(block[kind], thinking=kind == "thinking")
            case {"type": "content_block_delta", "index": index, "delta": dict() as delta} if index in self._blocks:
                yield from self._add(index, delta)
            case {"type": "message_delta", "delta": dict() as delta, **rest}:
                self._finish = delta.get("stop_reason") or self._finish
                self._count(rest.get("usage"))
            case {"type": "message_stop"}:
                self._is_done = True
            case {"type": str()}:
                # Pings, the ends of blocks, and what a later version adds.
                return
            case _:
                raise ModelFailure(FailureKind.UNREADABLE, "a piece of it is not an event of a message")

    def message(self) -> TranscriptMessage:
        if not self._is_done and not self._finish:
            raise ModelFailure(FailureKind.CONNECTION, "the connection ended in the middle of the answer")
        read, written = (self._usage.get(f"cache_{kind}_input_tokens", 0) for kind in ("read", "creation"))
        return new_answer(
            tuple(part for block, pieces in self._blocks.values() for part in _parts(block, "".join(pieces))),
            head=self._head, provider=_PROVIDER, finish_reason=_FINISH.get(self._finish, ""),
            input_tokens=self._usage.get("input_tokens", 0) + read + written,
            output_tokens=self._usage.get("output_tokens", 0), cached_tokens=read, written_tokens=written,
        )  # fmt: skip

    def _count(self, usage: object) -> None:
        """The counts in later events replace those of earlier ones."""
        if isinstance(usage, dict):
            self._usage |= {key: value for key, value in usage.items() if isinstance(value, int)}

    def _add(self, index: object, delta: dict[str, Any]) -> Iterator[Delta]:
        block, pieces = self._blocks[index]
        kind = delta.get("type")
        if kind == "signature_delta":
            block["signature"] = delta.get("signature")
        elif kind in _DELTAS and isinstance(piece := delta.get(_DELTAS[kind]), str):
            pieces.append(piece)
            if piece and kind != "input_json_delta":
                yield Delta(piece, thinking=kind == "thinking_delta")


def _parts(block: dict[str, Any], rest: str) -> Iterator[MessagePart]:
    """Returns the part of a message that a block is; blocks of tools of the provider are none."""
    more = {"provider_name": _PROVIDER}
    match block.get("type"):
        case "text" if text := f"{block.get('text') or ''}{rest}":
            yield MessagePart(kind=PartKind.TEXT, content=text)
        case "thinking":
            text = f"{block.get('thinking') or ''}{rest}"
            yield MessagePart(kind=PartKind.THINKING, content=text, more={**more, "signature": block.get("signature")})
        case "redacted_thinking":
            yield MessagePart(kind=PartKind.THINKING, more={**more, "id": _REDACTED, "signature": block.get("data")})
        case "tool_use":
            arguments = rest or (json.dumps(block["input"], ensure_ascii=False) if block.get("input") else "")
            name, call_id = str(block.get("name") or ""), str(block.get("id") or "")
            yield MessagePart(kind=PartKind.TOOL_CALL, tool=name, call_id=call_id, arguments=arguments)


def _blocks(message: TranscriptMessage) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        signature = part.more.get("signature") if part.more.get("provider_name") == _PROVIDER else None
        match part.kind:
            case PartKind.TEXT | PartKind.USER if part.text:
                yield _text(part.text)
            case PartKind.TOOL_RETURN:
                content = [_text(part.text)] if part.text else ""
                yield {"type": "tool_result", "tool_use_id": part.call_id, "content": content, "is_error": False}
            case PartKind.TOOL_CALL:
                yield {"type": "tool_use", "id": part.call_id, "name": part.tool, "input": _arguments(part.arguments)}
            case PartKind.THINKING if signature and part.more.get("id") == _REDACTED:
                yield {"type": _REDACTED, "data": signature}
            case PartKind.THINKING if signature:
                yield {"type": "thinking", "thinking": part.content, "signature": signature}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _arguments(text: str) -> dict[str, Any]:
    """The API takes an object only, and models write other things too."""
    try:
        given = json.loads(text or "{}")
    except ValueError:
        given = text
    return given if isinstance(given, dict) else {"INVALID_JSON": text}


def _output_tokens(model: str) -> int:
    if model in ("claude-opus-4", "claude-sonnet-4"):
        return 4_096
    return next((tokens for starts, tokens in _OUTPUT_TOKENS if model.startswith(starts)), _UNKNOWN_OUTPUT_TOKENS)
