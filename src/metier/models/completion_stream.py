"""Reads answers of the chat completions API, whole or in pieces.

Servers differ in details: calls without an index or an id, reasoning in one of two fields or between tags, errors inside a
stream. All of that is read. What is not an answer at all is a failure that is worth another try.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from .answers import new_answer
from .failures import FailureKind, ModelFailure
from .http_client import DONE
from .provider_errors import read_error
from .query import Delta
from .transcript import MessagePart, PartKind, TranscriptMessage

__all__ = ["CompletionStream", "read_completion"]

# Any, in this module: JSON.
_REASONING = ("reasoning_content", "reasoning")
_TAG = "think"
_TAGS = (f"<{_TAG}>", f"</{_TAG}>")
"""Local models think between these. They are read here and never written."""
_FINISH = {
    "stop": "stop", "length": "length", "tool_calls": "tool_call", "function_call": "tool_call",
    "content_filter": "content_filter",
}  # fmt: skip


class CompletionStream:
    """Collects the pieces of one answer."""

    def __init__(self, provider: str) -> None:
        self._is_done = False
        self._provider = provider
        self._head: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._finish = ""
        self._parts: list[tuple[PartKind, str, list[str]]] = []
        """Kind, field of the reasoning, pieces."""
        self._calls: dict[object, dict[str, str]] = {}
        self._in_tags = False

    def message(self) -> TranscriptMessage:
        """The whole answer. A stream that ended early is a failure of the connection."""
        if not self._finish and not self._is_done:
            raise ModelFailure(FailureKind.CONNECTION, "the connection ended in the middle of the answer")
        parts = [_text_part(kind, "".join(pieces), source, self._provider) for kind, source, pieces in self._parts]
        calls = [
            MessagePart(kind=PartKind.TOOL_CALL, tool=call["name"], call_id=call["id"] or f"call_{uuid4().hex}",
                        arguments=call["arguments"])
            for call in self._calls.values()
        ]  # fmt: skip
        return new_answer(
            (*parts, *calls), head=self._head, provider=self._provider,
            finish_reason=_FINISH.get(self._finish, ""), input_tokens=self._usage.get("prompt_tokens") or 0,
            output_tokens=self._usage.get("completion_tokens") or 0,
            cached_tokens=(self._usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        )  # fmt: skip

    def read_chunk(self, chunk: object) -> Iterator[Delta]:
        if chunk == DONE:
            self._is_done = True
            return
        if isinstance(chunk, dict) and chunk.get("error"):
            raise read_error(chunk["error"])
        if not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
            raise ModelFailure(FailureKind.UNREADABLE, "a piece of it is not a chat completion")
        self._head = self._head or {key: chunk.get(key) for key in ("id", "model")}
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk["choices"][:1]:
            if not isinstance(choice, dict):
                raise ModelFailure(FailureKind.UNREADABLE, "a piece of it is not a chat completion")
            self._finish = choice.get("finish_reason") or self._finish
            delta = choice.get("delta") or {}
            for source in _REASONING:
                if isinstance(delta.get(source), str) and delta[source]:
                    yield self._add(PartKind.THINKING, source, delta[source])
                    break
            if content := _text_of(delta.get("content")):
                yield from self._add_content(content)
            for place, call in enumerate(delta.get("tool_calls") or ()):
                self._add_call(place, call)

    def _add_content(self, text: str) -> Iterator[Delta]:
        if text.strip() in _TAGS:
            # Models that think between tags send each tag as a piece of its own.
            self._in_tags = text.strip() == _TAGS[0]
            return
        yield self._add(PartKind.THINKING if self._in_tags else PartKind.TEXT, "content" if self._in_tags else "", text)

    def _add(self, kind: PartKind, source: str, text: str) -> Delta:
        if not self._parts or self._parts[-1][:2] != (kind, source):
            self._parts.append((kind, source, []))
        self._parts[-1][2].append(text)
        return Delta(text, thinking=kind is PartKind.THINKING)

    def _add_call(self, place: int, call: dict[str, Any]) -> None:
        key = call.get("index")
        key = (call.get("id") or place) if key is None else key
        known = self._calls.setdefault(key, {"id": "", "name": "", "arguments": ""})
        function = call.get("function") or {}
        known["id"] = known["id"] or call.get("id") or ""
        known["name"] += function.get("name") or ""
        arguments = function.get("arguments")
        known["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""


def read_completion(body: object, *, provider: str) -> TranscriptMessage:
    """Reads a whole answer."""
    if isinstance(body, dict) and body.get("error"):
        raise read_error(body["error"])
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    said = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(body, dict) or not isinstance(choice, dict) or not isinstance(said, dict):
        raise ModelFailure(FailureKind.UNREADABLE, "it is not a chat completion")
    stream = CompletionStream(provider)
    pieces = [piece for piece in _split_tags(_text_of(said.get("content"))) if piece]
    chunks: list[dict[str, Any]] = [{**said, "content": ""}, *({"content": piece} for piece in pieces)]
    finish = choice.get("finish_reason") or "stop"
    for delta in chunks:
        list(stream.read_chunk({**body, "choices": [{"delta": delta, "finish_reason": finish}]}))
    return stream.message()


def _text_of(content: object) -> str:
    """Some servers send a list of typed parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _split_tags(content: str) -> list[str]:
    start, end = _TAGS
    before, opened, rest = content.partition(start)
    if not opened or end not in rest:
        return [content]
    thought, _, after = rest.partition(end)
    return [before, start, thought, end, after.lstrip()]


def _text_part(kind: PartKind, text: str, source: str, provider: str) -> MessagePart:
    return MessagePart(kind=kind, content=text, more={"id": source, "provider_name": provider} if source else {})
