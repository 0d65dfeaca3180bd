"""The responses format of OpenAI: what a request says, and what to do with an answer, which is a list of items.

As in `chat`, nothing here sends anything by itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from metier.runtime import Tool, in_thread

from .background_loop import run_in_background
from .chat_completions import last_words
from .skills import Skills

# Any: requests are handed on as they are, and items of an answer are the SDK's own objects.

__all__ = ["ResponseTurn", "astreamed", "awhole", "response_tool", "streamed", "whole"]


class ResponseTurn:
    """One turn over the responses API, whose answers are lists of items."""

    def __init__(self, skills: Skills, conversation: str, request: Mapping[str, Any], owed: list[Any], *, rounds: int) -> None:
        self._skills, self._conversation = skills, conversation
        self._request = dict(request)
        self._left = rounds
        self._own = list(self._request.get("tools") or ())
        self._theirs = {tool.get("name") for tool in self._own if isinstance(tool, Mapping)}
        self._is_kept = "previous_response_id" in self._request or "conversation" in self._request
        given = self._request.get("input", "")
        self._words = given if isinstance(given, str) else last_words(given)
        self._input: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self._owed = owed
        """Results of ours that a server which keeps the conversation still has to get, with the caller's own."""

    def request(self) -> dict[str, Any]:
        self._left -= 1
        text = self._skills.instructions(self._conversation, request=self._words)
        ours = [response_tool(tool) for tool in self._skills.tools(self._conversation) if tool.name not in self._theirs]
        request = {**self._request, "input": [*self._owed, *self._input] if self._is_kept else self._input}
        self._owed.clear()
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
        """The response, if nothing of ours has to be answered first or theirs has to be as well; and the calls of ours."""
        ours = [item for item in response.output if self.is_ours(item)]
        if not ours or self._left <= 0:
            return response, []
        theirs = [item for item in response.output if item.type == "function_call" and not self.is_ours(item)]
        if self._is_kept:
            self._input = []
            if "previous_response_id" in self._request:
                self._request["previous_response_id"] = response.id
        else:
            # Reasoning goes with the calls that it led to.
            said = [item for item in response.output if not theirs or item.type == "reasoning" or item in ours]
            self._input.extend(item.model_dump(exclude_none=True, mode="json") for item in said)
        if not theirs:
            return None, ours
        response.output = [item for item in response.output if item not in ours and item.type != "reasoning"]
        return response, ours

    async def answer(self, calls: list[Any], *, goes_on: bool) -> None:
        results = []
        for call in calls:
            reply = await self._skills.call(call.name, call.arguments, self._conversation)
            results.append({"type": "function_call_output", "call_id": call.call_id, "output": reply.text})
        (self._owed if self._is_kept and not goes_on else self._input).extend(results)


class _Held:
    """The events of one streamed response that a caller should see: none about calls of ours."""

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


def whole(turn: ResponseTurn, create: Callable[..., Any]) -> Any:
    while True:
        response, calls = turn.take(create(**turn.request()))
        run_in_background(turn.answer(calls, goes_on=response is None))
        if response is not None:
            return response


async def awhole(turn: ResponseTurn, create: Callable[..., Awaitable[Any]]) -> Any:
    while True:
        response, calls = turn.take(await create(**await in_thread(turn.request)))
        await turn.answer(calls, goes_on=response is None)
        if response is not None:
            return response


def streamed(turn: ResponseTurn, create: Callable[..., Any]) -> Iterator[Any]:
    last, first = None, True
    while last is None:
        held = _Held(turn, first=first)
        yield from filter(held.passes, create(**turn.request()))
        last, calls = held.take()
        run_in_background(turn.answer(calls, goes_on=last is None))
        first = False
    if last:
        yield last


async def astreamed(turn: ResponseTurn, create: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    last, first = None, True
    while last is None:
        held = _Held(turn, first=first)
        async for event in await create(**await in_thread(turn.request)):
            if held.passes(event):
                yield event
        last, calls = held.take()
        await turn.answer(calls, goes_on=last is None)
        first = False
    if last:
        yield last


def response_tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": False}
