"""OpenAI's responses format: building requests and reading answers, which are lists of items.

As in `chat_completions`, the caller's client sends the requests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from metier.runtime import Tool, in_thread

from .background_loop import run_in_background
from .chat_completions import last_user_text
from .skills import Skills

# Any: requests are handed on as they are, and items of an answer are the SDK's own objects.

__all__ = ["ResponseTurn", "complete", "complete_async", "response_tool", "stream", "stream_async"]


class ResponseTurn:
    """One turn over the responses API, whose answers are lists of items."""

    def __init__(
        self, skills: Skills, conversation: str, request: Mapping[str, Any], pending: list[Any], *, rounds: int
    ) -> None:
        self._skills, self._conversation = skills, conversation
        self._request = dict(request)
        self._left = rounds
        self._own = list(self._request.get("tools") or ())
        self._theirs = {tool.get("name") for tool in self._own if isinstance(tool, Mapping)}
        self._is_stored = "previous_response_id" in self._request or "conversation" in self._request
        given = self._request.get("input", "")
        self._request_text = given if isinstance(given, str) else last_user_text(given)
        self._input: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self._pending = pending
        """Our results that a server which stores the conversation has yet to receive, with the caller's own."""

    def request(self) -> dict[str, Any]:
        self._left -= 1
        text = self._skills.instructions(self._conversation, request=self._request_text)
        ours = [response_tool(tool) for tool in self._skills.tools(self._conversation) if tool.name not in self._theirs]
        request = {**self._request, "input": [*self._pending, *self._input] if self._is_stored else self._input}
        self._pending.clear()
        if text:
            own = self._request.get("instructions")
            request["instructions"] = f"{own}\n\n{text}" if isinstance(own, str) and own else text
        if ours:
            request["tools"] = [*self._own, *ours]
            if self._left <= 0:
                request["tool_choice"] = "none"
        return request

    def is_ours(self, item: Any) -> bool:
        return item.type == "function_call" and item.name not in self._theirs

    def take(self, response: Any) -> tuple[Any, list[Any]]:
        """Returns the response for the caller, or None, and the calls of our tools."""
        ours = [item for item in response.output if self.is_ours(item)]
        if not ours or self._left <= 0:
            return response, []
        theirs = [item for item in response.output if item.type == "function_call" and not self.is_ours(item)]
        if self._is_stored:
            self._input = []
            if "previous_response_id" in self._request:
                self._request["previous_response_id"] = response.id
        else:
            # Reasoning belongs to the calls that follow it.
            said = [item for item in response.output if not theirs or item.type == "reasoning" or item in ours]
            self._input.extend(item.model_dump(exclude_none=True, mode="json") for item in said)
        if not theirs:
            return None, ours
        response.output = [item for item in response.output if item not in ours and item.type != "reasoning"]
        return response, ours

    async def answer(self, calls: list[Any], *, continues: bool) -> None:
        results = []
        for call in calls:
            reply = await self._skills.call(call.name, call.arguments, self._conversation)
            results.append({"type": "function_call_output", "call_id": call.call_id, "output": reply.text})
        (self._pending if self._is_stored and not continues else self._input).extend(results)


class _Held:
    """Filters the events of one streamed response: the caller does not see calls of our tools."""

    def __init__(self, turn: ResponseTurn, *, first: bool) -> None:
        self._turn = turn
        self._first = first
        self._hidden: set[str] = set()
        self.end: Any = None

    def passes(self, event: Any) -> bool:
        if event.type in ("response.created", "response.in_progress"):
            return self._first
        if event.type == "response.completed":
            self.end = event
            return False
        item = getattr(event, "item", None)
        if item is not None and self._turn.is_ours(item):
            self._hidden.add(item.id)
            return False
        return getattr(event, "item_id", None) not in self._hidden

    def take(self) -> tuple[Any, list[Any]]:
        if self.end is None:
            # Failed or incomplete; the caller has seen the event that says so.
            return (), []
        response, calls = self._turn.take(self.end.response)
        return self.end if response is not None else None, calls


def complete(turn: ResponseTurn, create: Callable[..., Any]) -> Any:
    while True:
        response, calls = turn.take(create(**turn.request()))
        run_in_background(turn.answer(calls, continues=response is None))
        if response is not None:
            return response


async def complete_async(turn: ResponseTurn, create: Callable[..., Awaitable[Any]]) -> Any:
    while True:
        response, calls = turn.take(await create(**await in_thread(turn.request)))
        await turn.answer(calls, continues=response is None)
        if response is not None:
            return response


def stream(turn: ResponseTurn, create: Callable[..., Any]) -> Iterator[Any]:
    last, first = None, True
    while last is None:
        held = _Held(turn, first=first)
        yield from filter(held.passes, create(**turn.request()))
        last, calls = held.take()
        run_in_background(turn.answer(calls, continues=last is None))
        first = False
    if last:
        yield last


async def stream_async(turn: ResponseTurn, create: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    last, first = None, True
    while last is None:
        held = _Held(turn, first=first)
        async for event in await create(**await in_thread(turn.request)):
            if held.passes(event):
                yield event
        last, calls = held.take()
        await turn.answer(calls, continues=last is None)
        first = False
    if last:
        yield last


def response_tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": False}
