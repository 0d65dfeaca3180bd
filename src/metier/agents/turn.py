"""One turn: ask the model, run the tools it calls, ask again, until it answers or a limit ends it.

Nothing that a model does wrong ends a turn: a tool that does not exist, arguments that are no JSON, a script that
fails are answers, and the model goes on. What the provider does wrong is tried again, with patience. What is left is
told to the user in a sentence.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metier.models.providers import explained, is_temporary
from metier.runtime import Session, Tool, ToolReply

from . import events
from .events import Event, ModelUsage
from .prompt import Prompt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

__all__ = ["Sleep", "TurnLimitError", "TurnLimits", "TurnRun", "ask_once"]

_CHANGES_TOOLS = frozenset({"load_skill", "unload_skill"})
_LONGEST_WAIT = 60.0
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """Of one turn, where nothing else is said. 0 is no limit."""

    steps: int = 30
    """Requests to the model: a model that only ever calls tools is in a loop."""
    repeats: int = 3
    """Calls of one tool with the same arguments."""
    tokens: int = 0
    session_tokens: int = 0
    """Of a whole conversation."""
    context_tokens: int = 100_000
    """That are sent with one request: prompt, tools, history. More is compacted."""
    retries: int = 4
    first_wait: float = 1.0
    """Seconds before the first retry; each further one waits twice as long, or as long as the provider says."""


class TurnLimitError(Exception):
    """A limit was reached; the message is for the user."""


class TurnRun:
    """A turn under way. `messages` is always something that can be sent again, whatever happens next."""

    def __init__(
        self, model: Model, session: Session, limits: TurnLimits, tell: Callable[[Event], None], *, name: str, message: str,
        sleep: Sleep = asyncio.sleep,
    ) -> None:  # fmt: skip
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        self.model, self.session, self.limits = model, session, limits
        self.name = name
        self.messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content=message)])]
        self.spent = ModelUsage()
        self.said: list[str] = []
        """The text of every step; the last is the answer."""
        self._tell = tell
        self._sleep = sleep
        self._calls: Counter[tuple[str, str]] = Counter()

    def tell(self, kind: type[Event], **values: Any) -> None:  # Any: the fields of that event
        self._tell(kind(session=self.session.id, timestamp=self.session.services.clock(), **values))

    @property
    def answer(self) -> str:
        return "\n\n".join(text for text in self.said if text)

    async def step(self, prompt: Prompt, past: Sequence[ModelMessage]) -> bool:
        """Ask once and do what the model wants; whether it has answered."""
        self.said.append("")
        response = await self._asked(prompt, [*past, *self.messages])
        self.messages.append(response)
        self._count(response)
        calls = response.tool_calls
        if calls:
            answers = await self._called(calls, prompt.tools)
            from pydantic_ai.messages import ModelRequest

            self.messages.append(ModelRequest(parts=answers))
        if self.limits.tokens and self.spent.tokens > self.limits.tokens and calls:
            raise TurnLimitError(f"this turn has used {self.spent.tokens:,} tokens, and may use {self.limits.tokens:,}")
        return not calls

    def closed(self, note: str = "") -> list[ModelMessage]:
        """The messages, ended so that a provider takes them: no call without its answer, and the model spoke last."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart

        kept = list(self.messages)
        partial = self.said[-1] if self.said else ""
        if isinstance(kept[-1], ModelResponse) and kept[-1].tool_calls:
            kept.pop()
        if isinstance(kept[-1], ModelRequest):
            text = "\n\n".join(filter(None, (partial, note))) or "(no answer)"
            kept.append(ModelResponse(parts=[TextPart(content=text)], model_name=self.name))
        return kept

    async def _asked(self, prompt: Prompt, messages: list[ModelMessage]) -> ModelResponse:
        """The model's whole answer, told as it comes. Temporary failures are waited out."""
        from pydantic_ai.exceptions import AgentRunError

        for attempt in range(1, self.limits.retries + 2):
            try:
                response = await self._streamed(prompt, messages)
                if response.parts or attempt > 1:
                    return response
                reason, wait = "it answered with nothing", 0.0
            except AgentRunError as error:
                if not is_temporary(error) or attempt > self.limits.retries:
                    raise
                wait = self._wait(error, attempt)
                reason = str(explained(error, self.name))
            self.said[-1] = ""
            self.tell(events.ModelRetried, attempt=attempt, seconds=wait, reason=reason)
            await self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _wait(self, error: Exception, attempt: int) -> float:
        told = getattr(error, "retry_after", None)
        if told is not None and told > _LONGEST_WAIT:
            raise error
        # A little chance, so that a hundred sessions that were turned away together do not come back together.
        backed_off = self.limits.first_wait * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)  # noqa: S311
        return float(told) if told is not None else min(backed_off, _LONGEST_WAIT)

    async def _streamed(self, prompt: Prompt, messages: list[ModelMessage]) -> ModelResponse:
        from pydantic_ai.direct import model_request_stream

        parameters = _parameters(prompt, cached=self.model.system == "anthropic")
        opened = model_request_stream(self.model, messages, model_settings=_settings(), model_request_parameters=parameters)
        async with opened as stream:
            await self._heard(stream)
            return stream.get()

    async def _heard(self, stream: StreamedResponse) -> None:
        from pydantic_ai import messages as parts

        async for event in stream:
            match event:
                case parts.PartStartEvent(part=parts.TextPart(content=text)) if text:
                    self._spoke(text)
                case parts.PartDeltaEvent(delta=parts.TextPartDelta(content_delta=text)) if text:
                    self._spoke(text)
                case parts.PartStartEvent(part=parts.ThinkingPart(content=text)) if text:
                    self.tell(events.ThinkingText, text=text)
                case parts.PartDeltaEvent(delta=parts.ThinkingPartDelta(content_delta=str() as text)) if text:
                    self.tell(events.ThinkingText, text=text)

    def _spoke(self, text: str) -> None:
        self.said[-1] += text
        self.tell(events.AnswerText, text=text)

    def _count(self, response: ModelResponse) -> None:
        used = response.usage
        self.spent += ModelUsage(
            requests=1, input_tokens=used.input_tokens, output_tokens=used.output_tokens, cached_tokens=used.cache_read_tokens,
            calls=len(response.tool_calls), cost=_cost(response),
        )  # fmt: skip

    async def _called(self, calls: Sequence[ToolCallPart], tools: Sequence[Tool]) -> list[ToolReturnPart]:
        """Every call's answer, in order. They run side by side, but for those that change which tools there are."""
        known = {tool.name: tool for tool in tools}
        answers: list[ToolReturnPart] = []
        waiting: list[ToolCallPart] = []
        for call in calls:
            if call.tool_name not in _CHANGES_TOOLS:
                waiting.append(call)
                continue
            answers += await self._together(waiting, known)
            answers += await self._together([call], known)
            waiting = []
            known = {tool.name: tool for tool in self.session.tools()}
        return answers + await self._together(waiting, known)

    async def _together(self, calls: Sequence[ToolCallPart], known: dict[str, Tool]) -> list[ToolReturnPart]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._call(call, known)) for call in calls]
        return [task.result() for task in tasks]

    async def _call(self, call: ToolCallPart, known: dict[str, Tool]) -> ToolReturnPart:
        from pydantic_ai.messages import ToolReturnPart

        tool = known.get(call.tool_name)
        written = call.args if isinstance(call.args, str) else json.dumps(call.args or {})
        self.tell(
            events.ToolCallStarted,
            id=call.tool_call_id,
            tool=call.tool_name,
            arguments=written,
            skill=tool.skill if tool else "",
        )
        started = time.perf_counter()
        reply = await self._reply(tool, call.tool_name, written, known)
        self.tell(
            events.ToolCallFinished, id=call.tool_call_id, tool=call.tool_name, text=reply.text, ok=reply.ok, code=reply.code,
            duration=time.perf_counter() - started, level=reply.outcome.isolation.level if reply.outcome else "",
        )  # fmt: skip
        return ToolReturnPart(tool_name=call.tool_name, content=reply.text, tool_call_id=call.tool_call_id)

    async def _reply(self, tool: Tool | None, name: str, written: str, known: dict[str, Tool]) -> ToolReply:
        if tool is None:
            return _mistake("unknown-tool", f"there is no tool {name!r}", f"the tools are {', '.join(known)}")
        self._calls[name, written] += 1
        if self.limits.repeats and self._calls[name, written] > self.limits.repeats:
            often = f"{name} was called {self.limits.repeats} times like this already"
            return _mistake("repeated", often, "use what it answered, or do something else")
        try:
            arguments = json.loads(written or "{}")
        except ValueError as error:
            return _mistake("bad-arguments", f"the arguments are not JSON: {error}", "send one JSON object")
        if not isinstance(arguments, dict):
            return _mistake("bad-arguments", "the arguments are not a JSON object", "send one JSON object")
        try:
            return await tool.call(arguments)
        except Exception as error:  # a toolset's own code
            return _mistake("tool-failed", f"{name} failed: {type(error).__name__}: {error}", "try another way")


async def ask_once(model: Model, prompt: str, *, retries: int = 2) -> str:
    """A question and its answer, without skills, tools or history."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest

    asked = [ModelRequest.user_text_prompt(prompt)]
    response = await model_request(model, asked, model_settings={**_settings(), "max_retries": retries})
    return response.text or ""


def _mistake(code: str, message: str, hint: str) -> ToolReply:
    return ToolReply(text=f"Error ({code}): {message}\nHint: {hint}", ok=False, code=code)


def _settings() -> ModelSettings:
    # We wait ourselves, so that the user is told. What other providers than Anthropic do not know, they ignore.
    settings: dict[str, Any] = {"max_retries": 0, "anthropic_cache": True}
    return settings  # type: ignore[return-value]  # a TypedDict of one provider


def _parameters(prompt: Prompt, *, cached: bool) -> ModelRequestParameters:
    """`cached`: the provider wants to know which parts stay the same. To others the prompt is one text, because many
    compatible servers take no more than one system message."""
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    fixed = {"base"} if prompt.catalog.left_out else {"base", "catalog"}
    parts = [InstructionPart(content=part.text, dynamic=part.name not in fixed) for part in prompt.parts]
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema))
            for tool in prompt.tools
        ],
        instruction_parts=parts if cached else [InstructionPart(content=prompt.text)],
    )


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        # Nobody knows the price of a model on somebody's own machine.
        return None
