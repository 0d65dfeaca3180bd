"""One turn: ask the model, run the tools it calls, ask again, until it answers or a limit ends the turn.

A model's mistakes do not end a turn: an unknown tool, arguments that are not JSON and a failed script are answers, and
the model continues. Temporary failures of the provider are retried; the others reach the user as one sentence.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from metier.errors import ToolFailedError
from metier.models import ModelClient, RetryPolicy, ToolCall, read_tool_call, tool_definitions, with_retries
from metier.runtime import Session, Tool, ToolReply, call_tool, error_reply
from metier.values import dataclass

from . import events
from .events import Event, ModelUsage
from .prompt import Prompt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse

__all__ = ["TurnLimitError", "TurnLimits", "TurnRun", "usage_of"]

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
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        self.client, self.session, self.limits = client, session, limits
        self.messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content=message)])]
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

    async def step(self, prompt: Prompt, past: Sequence[ModelMessage]) -> bool:
        """Sends one request and runs the tools that the model calls. Returns True once the model has answered."""
        self.texts.append("")
        response = await self._request(prompt, [*past, *self.messages])
        self.messages.append(response)
        self.usage += usage_of(response)
        calls = response.tool_calls
        if calls:
            answers = await self._run_calls(calls, prompt.tools)
            from pydantic_ai.messages import ModelRequest

            self.messages.append(ModelRequest(parts=answers))
        if self.limits.tokens and self.usage.tokens > self.limits.tokens and calls:
            raise TurnLimitError(f"this turn used {self.usage.tokens:,} tokens; the limit is {self.limits.tokens:,}")
        if response.finish_reason == "length" and not calls:
            raise TurnLimitError("the answer was cut off at the model's limit of tokens for one answer")
        return not calls

    def closed(self, note: str = "") -> list[ModelMessage]:
        """The messages in a form that providers accept: every call has its answer, and the model spoke last."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart

        kept = list(self.messages)
        partial = self.texts[-1] if self.texts else ""
        if isinstance(kept[-1], ModelResponse) and kept[-1].tool_calls:
            kept.pop()
        if isinstance(kept[-1], ModelRequest):
            text = "\n\n".join(filter(None, (partial, note))) or "(no answer)"
            kept.append(ModelResponse(parts=[TextPart(content=text)], model_name=self.client.name))
        return kept

    async def _request(self, prompt: Prompt, messages: list[ModelMessage]) -> ModelResponse:
        def on_retry(attempt: int, seconds: float, reason: str) -> None:
            self.texts[-1] = ""
            self.emit(events.ModelRetried, attempt=attempt, seconds=seconds, reason=reason)

        return await with_retries(
            lambda: self._stream(prompt, messages), self._retry, name=self.client.name, on_retry=on_retry
        )  # fmt: skip

    async def _stream(self, prompt: Prompt, messages: list[ModelMessage]) -> ModelResponse:
        model = await self.client.connect()
        async with self.client.stream(messages, _parameters(prompt, cached=model.system == "anthropic")) as stream:
            await self._emit_stream(stream)
            return stream.get()

    async def _emit_stream(self, stream: StreamedResponse) -> None:
        from pydantic_ai import messages as parts

        async for event in stream:
            match event:
                case parts.PartStartEvent(part=parts.TextPart(content=text)) if text:
                    self._add_text(text)
                case parts.PartDeltaEvent(delta=parts.TextPartDelta(content_delta=text)) if text:
                    self._add_text(text)
                case parts.PartStartEvent(part=parts.ThinkingPart(content=text)) if text:
                    self.emit(events.ThinkingText, text=text)
                case parts.PartDeltaEvent(delta=parts.ThinkingPartDelta(content_delta=str() as text)) if text:
                    self.emit(events.ThinkingText, text=text)

    def _add_text(self, text: str) -> None:
        self.texts[-1] += text
        self.emit(events.AnswerText, text=text)

    async def _run_calls(self, calls: Sequence[ToolCallPart], tools: Sequence[Tool]) -> list[ToolReturnPart]:
        """The answers in the order of the calls. Calls run in parallel, except those that change which tools there are."""
        known = {tool.name: tool for tool in tools}
        answers: list[ToolReturnPart] = []
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

    async def _run_parallel(self, calls: Sequence[ToolCall], known: dict[str, Tool]) -> list[ToolReturnPart]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run_call(call, known)) for call in calls]
        return [task.result() for task in tasks]

    async def _run_call(self, call: ToolCall, known: dict[str, Tool]) -> ToolReturnPart:
        from pydantic_ai.messages import ToolReturnPart

        skill = known[call.tool].skill if call.tool in known else ""
        self.emit(events.ToolCallStarted, id=call.id, tool=call.tool, arguments=call.arguments, skill=skill)
        started = time.perf_counter()
        reply = await self._reply(call, known)
        self.emit(
            events.ToolCallFinished, id=call.id, tool=call.tool, text=reply.text, ok=reply.ok, code=reply.code,
            duration=time.perf_counter() - started, level=reply.outcome.isolation.level if reply.outcome else "",
            summary=reply.summary,
        )  # fmt: skip
        return ToolReturnPart(tool_name=call.tool, content=reply.text, tool_call_id=call.id)

    async def _reply(self, call: ToolCall, known: dict[str, Tool]) -> ToolReply:
        if call.tool in known:
            self._calls[call.tool, call.arguments] += 1
        if self.limits.repeats and self._calls[call.tool, call.arguments] > self.limits.repeats:
            message = f"{call.tool} was called {self.limits.repeats} times with these arguments"
            return error_reply(RepeatedCallError(message, hint="use its answer, or do something else"))
        return await call_tool(known, call.tool, call.arguments)


def usage_of(response: ModelResponse) -> ModelUsage:
    """The usage of one request."""
    used = response.usage
    return ModelUsage(
        requests=1, input_tokens=used.input_tokens, output_tokens=used.output_tokens, cached_tokens=used.cache_read_tokens,
        calls=len(response.tool_calls), cost=_cost(response),
    )  # fmt: skip


def _parameters(prompt: Prompt, *, cached: bool) -> ModelRequestParameters:
    """With `cached`, the provider is given the parts of the prompt and which of them stay the same. Others get one text,
    because many compatible servers accept only one system message."""
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.models import ModelRequestParameters

    fixed = {"base"} if prompt.catalog.left_out else {"base", "catalog"}
    parts = [InstructionPart(content=part.text, dynamic=part.name not in fixed) for part in prompt.parts]
    return ModelRequestParameters(
        function_tools=tool_definitions(prompt.tools),
        instruction_parts=parts if cached else [InstructionPart(content=prompt.text)],
    )


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        # There is no price list for a model on the user's own server.
        return None
