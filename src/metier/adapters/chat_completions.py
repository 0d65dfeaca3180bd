"""OpenAI's chat completions format: building requests and reading answers.

The caller's client sends the requests. A `ChatTurn` builds the next request and reads the answer, so that the four modes (sync
or async, whole or streamed) are four short loops.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from metier.runtime import Tool, in_thread
from metier.values import dataclass

from .background_loop import run_in_background
from .skills import Skills

# Any: messages, tools and answers are the SDK's own objects, or JSON of the same shape; we touch only what is named here.

__all__ = [
    "ChatCall",
    "ChatTurn",
    "append_text",
    "chat_tool",
    "complete",
    "complete_async",
    "last_user_text",
    "stream",
    "stream_async",
    "with_instructions",
]


@dataclass(frozen=True, slots=True)
class ChatCall:
    """A call of one of our tools."""

    id: str
    name: str
    arguments: str


class ChatTurn:
    """One turn of the caller: requests until the model answers or calls a tool of the caller.

    Calls of our tools and their answers are added to the caller's `messages`, because they are part of the conversation. The
    last answer is not; the caller adds it as usual.
    """

    def __init__(self, skills: Skills, conversation: str, request: Mapping[str, Any], *, rounds: int) -> None:
        self._skills = skills
        self._conversation = conversation
        self._request = dict(request)
        self._messages: list[Any] = self._request["messages"]
        self._own = list(self._request.get("tools") or ())
        self._theirs = {_tool_name(tool) for tool in self._own}
        self._left = rounds

    @property
    def is_over(self) -> bool:
        """True once the last round has begun."""
        return self._left <= 0

    def request(self) -> dict[str, Any]:
        """Builds the next request."""
        self._left -= 1
        text = self._skills.instructions(self._conversation, request=last_user_text(self._messages))
        ours = [chat_tool(tool) for tool in self._skills.tools(self._conversation) if tool.name not in self._theirs]
        request = {**self._request, "messages": with_instructions(self._messages, text)}
        if ours:
            request["tools"] = [*self._own, *ours]
            if self.is_over:
                # The last round: the model must answer.
                request["tool_choice"] = "none"
        return request

    def split(self, calls: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Our calls and the caller's. Calls of unknown tools are ours to answer."""
        ours = [call for call in calls if _is_function(call) and _field(call, "function", "name") not in self._theirs]
        return ours, [call for call in calls if call not in ours]

    def calls(self, calls: Sequence[Any], content: object) -> list[ChatCall]:
        """Adds the model's calls of our tools to the messages and returns them."""
        ours = [
            ChatCall(_field(call, "id"), _field(call, "function", "name"), _field(call, "function", "arguments"))
            for call in calls
        ]
        functions = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in ours
        ]
        # No `content` key without text: the SDK validates a null against every type of content.
        words = {} if content is None else {"content": content}
        self._messages.append({"role": "assistant", **words, "tool_calls": functions})
        return ours

    async def answer(self, calls: Sequence[ChatCall]) -> None:
        """Answers in order, because a skill is loaded before its script is run."""
        for call in calls:
            reply = await self._skills.call(call.name, call.arguments, self._conversation)
            self._messages.append({"role": "tool", "tool_call_id": call.id, "content": reply.text})

    def take(self, answer: Any) -> tuple[Any, list[ChatCall]]:
        """Returns the answer for the caller, or None, and the calls of our tools.

        If the model called tools of both, ours are answered now and the caller sees only its own.
        """
        message = answer.choices[0].message
        ours, theirs = self.split(message.tool_calls or ())
        if not ours or self.is_over:
            return answer, []
        calls = self.calls(ours, None if theirs else message.content)
        if theirs:
            message.tool_calls = theirs
            return answer, calls
        return None, calls


class _Streamed:
    """One streamed answer. Text passes at once; calls are held until the end, when their owner is known."""

    def __init__(self, turn: ChatTurn) -> None:
        self._turn = turn
        self._held: list[Any] = []
        self._text = ""
        self._calls: dict[int, dict[str, Any]] = {}

    def passes(self, chunk: Any) -> bool:
        choice = chunk.choices[0] if chunk.choices else None
        if choice is None:
            return True
        self._text += choice.delta.content or ""
        for part in choice.delta.tool_calls or ():
            call = self._calls.setdefault(part.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
            call["id"] = part.id or call["id"]
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
        if self._calls:
            self._held.append(chunk)
        return not self._calls

    def end(self) -> tuple[list[Any], list[ChatCall], bool]:
        """Returns the chunks to pass now, the calls to answer, and whether the turn is over."""
        ours, theirs = self._turn.split(list(self._calls.values()))
        if not ours or self._turn.is_over:
            return self._held, [], True
        indices = [index for index, call in self._calls.items() if call in theirs]
        calls = self._turn.calls(ours, None if theirs else self._text or None)
        return [_only(chunk, indices) for chunk in self._held] if theirs else [], calls, bool(theirs)


def complete(turn: ChatTurn, create: Callable[..., Any]) -> Any:
    while True:
        answer, calls = turn.take(create(**turn.request()))
        run_in_background(turn.answer(calls))
        if answer is not None:
            return answer


async def complete_async(turn: ChatTurn, create: Callable[..., Awaitable[Any]]) -> Any:
    while True:
        answer, calls = turn.take(await create(**await in_thread(turn.request)))
        await turn.answer(calls)
        if answer is not None:
            return answer


def stream(turn: ChatTurn, create: Callable[..., Any]) -> Iterator[Any]:
    over = False
    while not over:
        answer = _Streamed(turn)
        for chunk in create(**turn.request()):
            if answer.passes(chunk):
                yield chunk
        held, calls, over = answer.end()
        run_in_background(turn.answer(calls))
        yield from held


async def stream_async(turn: ChatTurn, create: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    over = False
    while not over:
        answer = _Streamed(turn)
        async for chunk in await create(**await in_thread(turn.request)):
            if answer.passes(chunk):
                yield chunk
        held, calls, over = answer.end()
        await turn.answer(calls)
        for chunk in held:
            yield chunk


def chat_tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}}


def with_instructions(messages: Sequence[Any], text: str) -> list[Any]:
    """Adds our text to the end of the first system message: after the part that may be cached, and not as a second message,
    which some servers reject. The caller's objects are not changed."""
    if not text:
        return list(messages)
    first = messages[0] if messages else None
    if first is None or _field(first, "role") not in ("system", "developer"):
        return [{"role": "system", "content": text}, *messages]
    content = first["content"] if isinstance(first, Mapping) else first.content
    more = append_text(content, text)
    head = {**first, "content": more} if isinstance(first, Mapping) else first.model_copy(update={"content": more})
    return [head, *messages[1:]]


def append_text(content: Any, text: str) -> Any:
    """Appends text to the content of a message, a string or a list of parts."""
    return f"{content}\n\n{text}" if isinstance(content, str) else [*content, {"type": "text", "text": text}]


def last_user_text(messages: Sequence[Any]) -> str:
    """The text of the last user message."""
    for message in reversed(messages):
        if _field(message, "role") == "user":
            content = message["content"] if isinstance(message, Mapping) else message.content
            if isinstance(content, str):
                return content
            return " ".join(part.get("text", "") for part in content or () if isinstance(part, Mapping))
    return ""


def _only(chunk: Any, indices: Sequence[int]) -> Any:
    """A copy of the chunk with only the calls of these indices, renumbered from 0."""
    chunk = chunk.model_copy(deep=True)
    delta = chunk.choices[0].delta
    kept = [part for part in delta.tool_calls or () if part.index in indices]
    for part in kept:
        part.index = indices.index(part.index)
    delta.tool_calls = kept or None
    return chunk


def _tool_name(tool: Any) -> str:
    return _field(tool, "function", "name") or _field(tool, "name")


def _is_function(call: Any) -> bool:
    return _field(call, "type") in ("function", "")


def _field(value: Any, *names: str) -> str:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value if isinstance(value, str) else ""
