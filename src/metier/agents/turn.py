"""One turn: ask the model, run the tools it calls, ask again, until it answers or a limit ends the turn.

A model's mistakes do not end a turn: an unknown tool, arguments that are not JSON and a failed script are answers, and
the model continues. Temporary failures of the provider are retried; the others reach the user as one sentence.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from typing import Any

from metier.errors import ToolFailedError
from metier.models import (
    Instruction,
    MessagePart,
    ModelClient,
    ModelQuery,
    PartKind,
    RetryPolicy,
    ToolCall,
    TranscriptMessage,
    read_tool_call,
    with_retries,
)
from metier.runtime import Operation, OperationKind, Session, Tool, ToolReply, call_tool, error_reply
from metier.values import dataclass

from . import events
from .events import Event, ModelUsage
from .prompt import Prompt

__all__ = ["TurnLimitError", "TurnLimits", "TurnRun", "follow_request", "record_response", "usage_of"]

_CHANGES_TOOLS = frozenset({"load_skill", "unload_skill"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """Limits of one turn. 0 is no limit."""

    steps: int = 30
    """Requests to the model: a model that keeps calling tools is in a loop."""
    repeats: int = 3
    """Calls of one tool with the same arguments."""
    tokens: int = 0
    session_tokens: int = 0
    """Of a whole conversation."""
    context_tokens: int = 100_000
    """Sent with one request: prompt, tools, history. More is compacted."""
    retries: int = 4
    first_wait: float = 1.0
    """Seconds before the first retry; see `metier.models.RetryPolicy`."""


class TurnLimitError(Exception):
    """A limit was reached; the message is for the user."""


class RepeatedCallError(ToolFailedError):
    code = "repeated"


class TurnRun:
    """A running turn. `messages` can be sent again at any time, whatever happens next."""

    def __init__(
        self, client: ModelClient, session: Session, limits: TurnLimits, emit: Callable[[Event], None], *, message: str,
        retry: RetryPolicy,
    ) -> None:  # fmt: skip
        self.client, self.session, self.limits = client, session, limits
        asked = MessagePart(kind=PartKind.USER, content=message)
        self.messages: list[TranscriptMessage] = [TranscriptMessage(parts=(asked,))]
        self.usage = ModelUsage()
        self.texts: list[str] = []
        """The text of every step; the last one is the answer."""
        self._emit = emit
        self._retry = retry
        self._calls: Counter[tuple[str, str]] = Counter()

    def emit(self, kind: type[Event], **values: Any) -> None:  # Any: the fields of that event
        self._emit(kind(session=self.session.id, timestamp=self.session.services.clock(), **values))

    @property
    def answer(self) -> str:
        return "\n\n".join(text for text in self.texts if text)

    async def step(self, prompt: Prompt, past: Sequence[TranscriptMessage]) -> bool:
        """Sends one request and runs the tools that the model calls. Returns True once the model has answered."""
        self.texts.append("")
        response = await self._request(prompt, [*past, *self.messages])
        self.messages.append(response)
        self.usage += usage_of(response)
        calls = response.calls
        if calls:
            answers = await self._run_calls(calls, prompt.tools)
            self.messages.append(TranscriptMessage(parts=tuple(answers)))
        if self.limits.tokens and self.usage.tokens > self.limits.tokens and calls:
            raise TurnLimitError(f"this turn used {self.usage.tokens:,} tokens; the limit is {self.limits.tokens:,}")
        if response.finish_reason == "length" and not calls:
            raise TurnLimitError("the answer was cut off at the model's limit of tokens for one answer")
        return not calls

    def closed(self, note: str = "") -> list[TranscriptMessage]:
        """The messages in a form that providers accept: every call has its answer, and the model spoke last."""
        kept = list(self.messages)
        partial = self.texts[-1] if self.texts else ""
        if kept[-1].is_answer and kept[-1].calls:
            kept.pop()
        if not kept[-1].is_answer:
            text = "\n\n".join(filter(None, (partial, note))) or "(no answer)"
            said = MessagePart(kind=PartKind.TEXT, content=text)
            kept.append(TranscriptMessage(is_answer=True, parts=(said,), model=self.client.name))
        return kept

    async def _request(self, prompt: Prompt, messages: list[TranscriptMessage]) -> TranscriptMessage:
        def on_retry(attempt: int, seconds: float, reason: str) -> None:
            self.texts[-1] = ""
            self.emit(events.ModelRetried, attempt=attempt, seconds=seconds, reason=reason)

        return await with_retries(
            lambda: self._stream(prompt, messages), self._retry, name=self.client.name, on_retry=on_retry
        )  # fmt: skip

    async def _stream(self, prompt: Prompt, messages: list[TranscriptMessage]) -> TranscriptMessage:
        await self.client.connect()
        query = ModelQuery(messages=messages, instructions=_instructions(prompt), tools=prompt.tools)
        with follow_request(self.session, self.client, "answer") as operation:
            async with aclosing(self.client.stream(query)) as stream:
                async for piece in stream:
                    if isinstance(piece, TranscriptMessage):
                        record_response(operation, piece)
                        return piece
                    if piece.thinking:
                        self.emit(events.ThinkingText, text=piece.text)
                    else:
                        self._add_text(piece.text)
        raise AssertionError("a stream ends with the whole answer")

    def _add_text(self, text: str) -> None:
        self.texts[-1] += text
        self.emit(events.AnswerText, text=text)

    async def _run_calls(self, calls: Sequence[MessagePart], tools: Sequence[Tool]) -> list[MessagePart]:
        """The answers in the order of the calls. Calls run in parallel, except those that change which tools there are."""
        known = {tool.name: tool for tool in tools}
        answers: list[MessagePart] = []
        waiting: list[ToolCall] = []
        for call in map(read_tool_call, calls):
            if call.tool not in _CHANGES_TOOLS:
                waiting.append(call)
                continue
            answers += await self._run_parallel(waiting, known)
            answers += await self._run_parallel([call], known)
            waiting = []
            known = {tool.name: tool for tool in self.session.tools()}
        return answers + await self._run_parallel(waiting, known)

    async def _run_parallel(self, calls: Sequence[ToolCall], known: dict[str, Tool]) -> list[MessagePart]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run_call(call, known)) for call in calls]
        return [task.result() for task in tasks]

    async def _run_call(self, call: ToolCall, known: dict[str, Tool]) -> MessagePart:
        skill = known[call.tool].skill if call.tool in known else ""
        self.emit(events.ToolCallStarted, id=call.id, tool=call.tool, arguments=call.arguments, skill=skill)
        started = time.perf_counter()
        reply = await self._reply(call, known)
        self.emit(
            events.ToolCallFinished, id=call.id, tool=call.tool, text=reply.text, ok=reply.ok, code=reply.code,
            duration=time.perf_counter() - started, level=reply.outcome.isolation.level if reply.outcome else "",
            summary=reply.summary,
        )  # fmt: skip
        return MessagePart(kind=PartKind.TOOL_RETURN, tool=call.tool, content=reply.text, call_id=call.id)

    async def _reply(self, call: ToolCall, known: dict[str, Tool]) -> ToolReply:
        if call.tool in known:
            self._calls[call.tool, call.arguments] += 1
        if self.limits.repeats and self._calls[call.tool, call.arguments] > self.limits.repeats:
            message = f"{call.tool} was called {self.limits.repeats} times with these arguments"
            return error_reply(RepeatedCallError(message, hint="use its answer, or do something else"))
        return await call_tool(known, call.tool, call.arguments, id=call.id)


def usage_of(response: TranscriptMessage) -> ModelUsage:
    """The usage of one request."""
    return ModelUsage(
        requests=1, input_tokens=response.input_tokens, output_tokens=response.output_tokens,
        cached_tokens=response.cached_tokens, calls=len(response.calls), cost=response.cost,
    )  # fmt: skip


def follow_request(session: Session, client: ModelClient, purpose: str) -> AbstractContextManager[Operation]:
    """Lets tracers follow one request to a model."""
    return session.services.bus.follow(Operation(
        kind=OperationKind.MODEL, name=client.bare_name, model=client.bare_name, provider=client.provider, purpose=purpose,
        session=session.id,
    ))  # fmt: skip


def record_response(operation: Operation, response: TranscriptMessage) -> None:
    operation.answered_by, operation.response_id = response.model, response.id
    operation.finish_reason = response.finish_reason
    operation.input_tokens, operation.output_tokens = response.input_tokens, response.output_tokens
    operation.cached_tokens = response.cached_tokens


def _instructions(prompt: Prompt) -> tuple[Instruction, ...]:
    fixed = {"base"} if prompt.catalog.left_out else {"base", "catalog"}
    return tuple(Instruction(part.text, fixed=part.name in fixed) for part in prompt.parts)
