"""The wire formats of the model APIs: how each encodes an answer, and where a request holds its parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .model import ModelAnswer, ScriptedCall

__all__ = ["MODEL_APIS", "ModelApi"]

Body = dict[str, Any]  # Any: JSON


class ModelApi(Protocol):
    paths: tuple[str, ...]
    """The ends of the addresses that it answers."""

    def system(self, body: Body) -> str: ...
    def user(self, body: Body) -> str: ...
    def tools(self, body: Body) -> tuple[str, ...]: ...
    def results(self, body: Body) -> tuple[str, ...]: ...
    def error(self, status: int, message: str) -> Body: ...
    def whole(self, said: ModelAnswer, body: Body) -> Body: ...
    def stream(self, said: ModelAnswer, body: Body) -> Iterator[bytes]: ...


class ChatCompletions:
    paths: tuple[str, ...] = ("/chat/completions",)

    def system(self, body: Body) -> str:
        return "\n\n".join(_text(each["content"]) for each in body["messages"] if each["role"] in ("system", "developer"))

    def user(self, body: Body) -> str:
        return _last(_text(each["content"]) for each in body["messages"] if each["role"] == "user")

    def tools(self, body: Body) -> tuple[str, ...]:
        return tuple(each["function"]["name"] for each in body.get("tools") or ())

    def results(self, body: Body) -> tuple[str, ...]:
        return tuple(_text(each["content"]) for each in body["messages"] if each["role"] == "tool")

    def error(self, status: int, message: str) -> Body:
        return {"error": {"message": message, "type": _kind(status), "code": None}}

    def whole(self, said: ModelAnswer, body: Body) -> Body:
        message: Body = {"role": "assistant", "content": said.text or None}
        if said.calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": call.tool, "arguments": call.json}}
                for id, call in _named(said, body)  # noqa: A001
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._why(said)}
        return {**self._head(body, "chat.completion"), "choices": [choice], "usage": self._usage(said, body)}

    def stream(self, said: ModelAnswer, body: Body) -> Iterator[bytes]:
        head = self._head(body, "chat.completion.chunk")

        def chunk(delta: Body, why: str | None = None) -> bytes:
            return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": why}]})

        yield chunk({"role": "assistant", "content": ""})
        yield from (chunk({"content": piece}) for piece in _pieces(said.text))
        for index, (id_, call) in enumerate(_named(said, body)):
            opening = {"index": index, "id": id_, "type": "function", "function": {"name": call.tool, "arguments": ""}}
            yield chunk({"tool_calls": [opening]})
            for piece in _halves(call.json):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, self._why(said))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield _event({**head, "choices": [], "usage": self._usage(said, body)})
        yield b"data: [DONE]\n\n"

    def _head(self, body: Body, kind: str) -> Body:
        return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": body.get("model")}

    def _why(self, said: ModelAnswer) -> str:
        return "length" if said.cut_off else "tool_calls" if said.calls else "stop"

    def _usage(self, said: ModelAnswer, body: Body) -> Body:
        asked, answered = _tokens(said, body)
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


class Responses:
    paths: tuple[str, ...] = ("/responses",)

    def system(self, body: Body) -> str:
        said = [body["instructions"]] if body.get("instructions") else []
        said += [_text(each["content"]) for each in self._items(body) if each.get("role") in ("system", "developer")]
        return "\n\n".join(said)

    def user(self, body: Body) -> str:
        return _last(_text(each["content"]) for each in self._items(body) if each.get("role") == "user")

    def tools(self, body: Body) -> tuple[str, ...]:
        return tuple(each["name"] for each in body.get("tools") or () if each.get("type") == "function")

    def results(self, body: Body) -> tuple[str, ...]:
        return tuple(_text(each["output"]) for each in self._items(body) if each.get("type") == "function_call_output")

    def error(self, status: int, message: str) -> Body:
        return {"error": {"message": message, "type": _kind(status), "code": None, "param": None}}

    def whole(self, said: ModelAnswer, body: Body) -> Body:
        asked, answered = _tokens(said, body)
        usage = {
            "input_tokens": asked, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": answered, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": asked + answered,
        }  # fmt: skip
        head = self._head(body, "incomplete" if said.cut_off else "completed")
        if said.cut_off:
            head["incomplete_details"] = {"reason": "max_output_tokens"}
        return {**head, "output": list(self._output(said, body)), "usage": usage}

    def stream(self, said: ModelAnswer, body: Body) -> Iterator[bytes]:
        for number, event in enumerate(self._events(said, body)):
            yield _event({**event, "sequence_number": number}, named=True)

    def _events(self, said: ModelAnswer, body: Body) -> Iterator[Body]:
        opened = {**self._head(body, "in_progress"), "output": [], "usage": None}
        yield {"type": "response.created", "response": opened}
        yield {"type": "response.in_progress", "response": opened}
        for index, item in enumerate(self._output(said, body)):
            where = {"item_id": item["id"], "output_index": index}
            if item["type"] == "message":
                part = {"type": "output_text", "annotations": [], "text": ""}
                at = {**where, "content_index": 0}
                yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
                yield {"type": "response.content_part.added", **at, "part": part}
                for piece in _pieces(said.text):
                    yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                yield {"type": "response.output_text.done", **at, "text": said.text, "logprobs": []}
                yield {"type": "response.content_part.done", **at, "part": {**part, "text": said.text}}
            else:
                yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}}
                for piece in _halves(item["arguments"]):
                    yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
                named = {"name": item["name"], "arguments": item["arguments"]}
                yield {"type": "response.function_call_arguments.done", **where, **named}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        ended = "response.incomplete" if said.cut_off else "response.completed"
        yield {"type": ended, "response": self.whole(said, body)}

    def _items(self, body: Body) -> list[Body]:
        given = body.get("input")
        return [{"role": "user", "content": given}] if isinstance(given, str) else given or []

    def _head(self, body: Body, status: str) -> Body:
        return {
            "id": "resp_scripted", "object": "response", "created_at": 0, "status": status, "model": body.get("model"),
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0,
        }  # fmt: skip

    def _output(self, said: ModelAnswer, body: Body) -> Iterator[Body]:
        done = {"status": "completed"}
        if said.text or not said.calls:
            content = [{"type": "output_text", "annotations": [], "text": said.text}]
            yield {"id": "msg_scripted", "type": "message", "role": "assistant", "content": content, **done}
        for id_, call in _named(said, body):
            named = {"call_id": id_, "name": call.tool, "arguments": call.json}
            yield {"id": f"fc_{id_}", "type": "function_call", **named, **done}


class Messages:
    paths: tuple[str, ...] = ("/messages",)

    def system(self, body: Body) -> str:
        return _text(body.get("system") or "")

    def user(self, body: Body) -> str:
        said = (each["content"] for each in body["messages"] if each["role"] == "user")
        return _last(text for text in map(_text, said) if text)

    def tools(self, body: Body) -> tuple[str, ...]:
        return tuple(each["name"] for each in body.get("tools") or ())

    def results(self, body: Body) -> tuple[str, ...]:
        blocks = (block for each in body["messages"] if isinstance(each["content"], list) for block in each["content"])
        return tuple(_text(block.get("content") or "") for block in blocks if block["type"] == "tool_result")

    def error(self, status: int, message: str) -> Body:
        return {"type": "error", "error": {"type": _kind(status), "message": message}}

    def whole(self, said: ModelAnswer, body: Body) -> Body:
        asked, answered = _tokens(said, body)
        return {
            **self._head(body), "content": list(self._content(said, body)), "stop_reason": self._why(said),
            "usage": {"input_tokens": asked, "output_tokens": answered},
        }  # fmt: skip

    def stream(self, said: ModelAnswer, body: Body) -> Iterator[bytes]:
        yield from (_event(event, named=True) for event in self._events(said, body))

    def _events(self, said: ModelAnswer, body: Body) -> Iterator[Body]:
        asked, answered = _tokens(said, body)
        opened = {**self._head(body), "content": [], "usage": {"input_tokens": asked, "output_tokens": 0}}
        yield {"type": "message_start", "message": opened}
        for index, block in enumerate(self._content(said, body)):
            is_text = block["type"] == "text"
            empty = {**block, "text": ""} if is_text else {**block, "input": {}}
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            raw = said.calls[index - (1 if said.text else 0)].json if not is_text else ""
            for piece in _pieces(said.text) if is_text else _halves(raw):
                delta = (
                    {"type": "text_delta", "text": piece} if is_text else {"type": "input_json_delta", "partial_json": piece}
                )
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        ended = {"stop_reason": self._why(said), "stop_sequence": None}
        yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": answered}}
        yield {"type": "message_stop"}

    def _head(self, body: Body) -> Body:
        fixed = {"id": "msg_scripted", "type": "message", "role": "assistant", "stop_sequence": None, "stop_reason": None}
        return {**fixed, "model": body.get("model")}

    def _why(self, said: ModelAnswer) -> str:
        return "max_tokens" if said.cut_off else "tool_use" if said.calls else "end_turn"

    def _content(self, said: ModelAnswer, body: Body) -> Iterator[Body]:
        if said.text:
            yield {"type": "text", "text": said.text}
        for id_, call in _named(said, body):
            # Whole answers of this API hold arguments as an object, so only a stream can carry broken ones.
            given = {} if isinstance(call.arguments, str) else dict(call.arguments)
            yield {"type": "tool_use", "id": id_, "name": call.tool, "input": given}


class GenerateContent:
    paths: tuple[str, ...] = (":generateContent", ":streamGenerateContent")

    def system(self, body: Body) -> str:
        return self._text(body.get("systemInstruction") or {})

    def user(self, body: Body) -> str:
        said = (each for each in body["contents"] if each.get("role") == "user")
        return _last(text for text in map(self._text, said) if text)

    def tools(self, body: Body) -> tuple[str, ...]:
        return tuple(each["name"] for group in body.get("tools") or () for each in group.get("functionDeclarations") or ())

    def results(self, body: Body) -> tuple[str, ...]:
        parts = (part for each in body["contents"] for part in each.get("parts") or ())
        return tuple(json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part)

    def error(self, status: int, message: str) -> Body:
        return {"error": {"code": status, "message": message, "status": _kind(status).upper()}}

    def whole(self, said: ModelAnswer, body: Body) -> Body:
        parts: list[Body] = [{"text": said.text}] if said.text or not said.calls else []
        parts += [
            {"functionCall": {"id": id_, "name": call.tool, "args": json.loads(call.json)}} for id_, call in _named(said, body)
        ]
        return self._chunk(said, body, parts, "MAX_TOKENS" if said.cut_off else "STOP")

    def stream(self, said: ModelAnswer, body: Body) -> Iterator[bytes]:
        for piece in _pieces(said.text):
            yield _event(self._chunk(said, body, [{"text": piece}], None))
        rest = self.whole(said, body)
        if said.text:
            rest["candidates"][0]["content"]["parts"] = rest["candidates"][0]["content"]["parts"][1:] or [{"text": ""}]
        yield _event(rest)

    def _chunk(self, said: ModelAnswer, body: Body, parts: list[Body], why: str | None) -> Body:
        asked, answered = _tokens(said, body)
        usage = {"promptTokenCount": asked, "candidatesTokenCount": answered, "totalTokenCount": asked + answered}
        candidate: Body = {"index": 0, "content": {"role": "model", "parts": parts}}
        return {"candidates": [{**candidate, "finishReason": why} if why else candidate], "usageMetadata": usage}

    def _text(self, content: Body) -> str:
        return "".join(str(part.get("text", "")) for part in content.get("parts") or ())


MODEL_APIS: tuple[ModelApi, ...] = (ChatCompletions(), Responses(), Messages(), GenerateContent())


def _event(document: Body, *, named: bool = False) -> bytes:
    name = f"event: {document['type']}\n" if named else ""
    return f"{name}data: {json.dumps(document)}\n\n".encode()


def _pieces(text: str) -> list[str]:
    """As tokens arrive: a word with the space after it."""
    words = text.split(" ")
    return [f"{word} " for word in words[:-1]] + words[-1:] if text else []


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def _named(said: ModelAnswer, body: Body) -> Iterator[tuple[str, ScriptedCall]]:
    """Each call with an id that is not in the conversation yet."""
    said_before = len(body.get("messages") or body.get("input") or body.get("contents") or ())
    for index, call in enumerate(said.calls):
        yield call.id or f"call_{said_before}_{index}", call


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def _last(texts: Iterable[str]) -> str:
    return next(iter(list(texts)[::-1]), "")


def _tokens(said: ModelAnswer, body: Body) -> tuple[int, int]:
    answer = len(said.text) + sum(len(call.json) for call in said.calls)
    return said.tokens or (len(json.dumps(body)) // 4, -(-answer // 4))


def _kind(status: int) -> str:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
    return kinds.get(status, "api_error")
