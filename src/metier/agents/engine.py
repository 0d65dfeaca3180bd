"""The agent engine: for each message it selects skills, activates them, asks the model and runs the tools it calls.

    engine = App().conversations.engine(model="openai:gpt-5")
    async for event in engine.process("Chart the sales in sales.csv"):
        print(event)

A turn has five steps: select, activate, build the prompt, run, record. A framework with its own loop uses
`system_prompt(message)` and `tools()` instead of `process`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Self

from metier.disclosure import Budget
from metier.errors import ConflictError, MetierError, UnavailableError
from metier.models import (
    HOW_TO_SET_A_MODEL,
    ChatMessage,
    FailureKind,
    ModelChoice,
    ModelClient,
    ModelFailure,
    RetryPolicy,
    Sleep,
    TranscriptMessage,
    dump_messages,
    explain_failure,
    load_client,
    load_messages,
)
from metier.runtime import (
    ActivatedBy,
    Operation,
    OperationKind,
    Session,
    SkillSelector,
    Tool,
    activated_by,
    in_thread,
    wait_for,
)
from metier.selection import LlmSelector, Match, MatchDecision, Selection, install_command
from metier.values import dataclass, field, replace

from . import events, history
from .conversations import ConversationStore, Turn
from .events import Event, ModelUsage, TurnFinished, TurnStatus
from .history import PastTurn
from .prompt import BASE_INSTRUCTIONS, MOST_RANKED, Prompt, build_prompt, decide
from .turn import TurnLimitError, TurnLimits, TurnRun, follow_request, record_response, usage_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["AgentEngine", "Compaction", "EngineOptions"]

_NAMED = re.compile(r"(?<![\w$])\$([a-z0-9]+(?:-[a-z0-9]+)*)\b")


_UNFINISHED = frozenset({TurnStatus.FAILED, TurnStatus.STOPPED, TurnStatus.LIMITED})


class Compaction(StrEnum):
    """The replacement for turns that no longer fit the context."""

    DROP = "drop"
    """A note that they were removed."""
    MODEL = "model"
    """A summary by the model; the note if that fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    instructions: str = BASE_INSTRUCTIONS
    auto_select: bool = True
    """Select skills for each message. Otherwise the model and the user do."""
    ask_model: bool = False
    """Let the model choose from the ranker's shortlist, which costs a request."""
    reload_skills: bool = False
    """Search the disk for new, changed and deleted skills before each turn, if the session can (see `Session.refresh`)."""
    compaction: Compaction = Compaction.DROP
    catalog: Budget = field(default_factory=Budget)
    limits: TurnLimits = field(default_factory=TurnLimits)
    agent: str = ""
    """The name that turns are recorded with."""
    version: int = 0
    warnings: tuple[str, ...] = ()
    """Shown with the first turn, such as a skill of the agent that is not installed."""
    sleep: Sleep = asyncio.sleep
    """Waits before a retry."""


class AgentEngine:
    """One conversation. Several engines may run at once in one loop; one engine runs one turn at a time."""

    def __init__(
        self,
        session: Session,
        *,
        model: ModelChoice | Model | None = None,
        conversations: ConversationStore | None = None,
        options: EngineOptions | None = None,
    ) -> None:
        self.session = session
        self.options = options or EngineOptions()
        self.selection: Selection | None = None
        """The skills selected for the last message, with reasons."""
        self.prompt: Prompt | None = None
        """The prompt of the last request."""
        self._store = conversations
        self._choice: ModelChoice | Model | None = model
        self._client: ModelClient | None = None
        self._past: list[PastTurn] | None = None
        self._last = 0
        """The number of our last turn."""
        self._usage = ModelUsage()
        self._summary = (0, "")
        self._selection_usage = ModelUsage()
        self._warnings = list(self.options.warnings)
        self._turn: asyncio.Task[TurnFinished] | None = None

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def model_name(self) -> str:
        """Empty without a model."""
        if self._choice is None:
            return ""
        return self._choice.name if isinstance(self._choice, ModelChoice) else self._choice.model_name

    @property
    def usage(self) -> ModelUsage:
        """Of the whole conversation, earlier processes included."""
        return self._usage

    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model can call now. They change with the active skills, so ask again after every call."""
        return self.session.tools()

    def system_prompt(self, message: str) -> str:
        """Selects and activates skills for this message and returns the system prompt."""
        return self.prepare(message).text

    def prepare(self, message: str) -> Prompt:
        """Like `system_prompt`, with the parts of the prompt and their tokens."""
        self._select(message)
        return self._build()

    async def process(self, message: str) -> AsyncGenerator[Event, None]:
        """Runs one turn and yields its events; the last one is TurnFinished. Leaving the loop early stops the turn.

        Failures of the model and of skills are events. Exceptions are mistakes of the caller or of the machine.
        """
        if self._turn is not None:
            raise ConflictError("a turn of this conversation is running", hint="wait for it, or call stop()")
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # The session emits events from threads; going through the loop keeps them in order.
        unsubscribe = self.session.services.bus.subscribe(lambda event: _enqueue(loop, queue, event, self.id))
        self._turn = turn = asyncio.create_task(self._run(message, queue.put_nowait))
        turn.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            unsubscribe()
            await self._ended(turn)
        # Only now, so that a caller that leaves at the last event can start the next turn.
        yield turn.result()

    async def ask(self, message: str) -> TurnFinished:
        """Runs one turn and returns its last event. Raises UnavailableError if the model gave no answer or none is set.

        An answer that a limit cut off is returned; its `status` is `limited`.
        """
        events = [event async for event in self.process(message)]
        finished = events[-1]
        assert isinstance(finished, TurnFinished)  # noqa: S101  (what `process` promises)
        if finished.status in (TurnStatus.FAILED, TurnStatus.PREVIEW):
            raise UnavailableError(finished.reason, hint=finished.hint, retryable=finished.retryable)
        return finished

    def stop(self) -> None:
        """Ends the running turn: drops its request, kills its scripts, and keeps the text so far."""
        if self._turn is not None:
            self._turn.cancel()

    def use_model(self, choice: ModelChoice | Model | None) -> None:
        """Continues the conversation with another model."""
        self._choice, self._client = choice, None

    def load_client(self) -> None:
        """Imports what the first request needs, for programs that have time before it."""
        if isinstance(self._choice, ModelChoice):
            load_client(self._choice)

    async def close(self) -> None:
        self.stop()
        client, self._client = self._client, None
        try:
            self.session.close()
        finally:
            if client is not None:
                await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ended(self, turn: asyncio.Task[TurnFinished]) -> None:
        turn.cancel()
        try:
            # Shielded, so that a second cancellation does not leave a script running.
            await asyncio.shield(asyncio.wait([turn]))
        finally:
            self._turn = None

    async def _run(self, message: str, put: Callable[[Event], None]) -> TurnFinished:
        options = self.options
        operation = Operation(
            kind=OperationKind.TURN, name=options.agent, version=str(options.version or ""), session=self.id,
            model=self.model_name.rpartition(":")[2],
        )  # fmt: skip
        with self.session.services.bus.follow(operation):
            finished = await self._run_turn(message, put)
            used = finished.usage
            operation.provider = self._client.provider if self._client is not None else ""
            operation.input_tokens, operation.output_tokens = used.input_tokens, used.output_tokens
            operation.cached_tokens = used.cached_tokens
            operation.error = str(finished.status) if finished.status in _UNFINISHED else ""
        return finished

    async def _run_turn(self, message: str, put: Callable[[Event], None]) -> TurnFinished:
        def emit(kind: type[Event], **values: object) -> None:
            put(kind(session=self.id, timestamp=self.session.services.clock(), **values))

        emit(events.TurnStarted, message=message)
        for warning in self._warnings:
            emit(events.WarningIssued, message=warning)
        self._warnings = []
        if self.options.reload_skills:
            await in_thread(self.session.refresh)
        async with self._held():
            return await self._run_held(message, put, emit)

    @contextlib.asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        """Keeps other processes from running a turn. A cancelled task waits for both ends, so that no lock is left."""
        if self._store is None:
            yield
            return
        holding = asyncio.ensure_future(in_thread(self._store.hold, self.id))
        try:
            await asyncio.shield(asyncio.wait([holding]))
            holding.result()
            yield
        finally:
            await asyncio.wait([holding])
            if not holding.exception():
                ending = asyncio.ensure_future(in_thread(holding.result()))
                try:
                    await asyncio.shield(asyncio.wait([ending]))
                finally:
                    await asyncio.wait([ending])

    async def _run_held(self, message: str, put: Callable[[Event], None], emit: Callable[..., None]) -> TurnFinished:
        """Runs the turn while no other process can run one of this conversation."""
        number = await in_thread(self._begin, message)
        running: TurnRun | None = None
        self._selection_usage = ModelUsage()
        try:
            client = await self._connect()
            await in_thread(self._load)
            for warning in await in_thread(self._select, message, client):
                emit(events.WarningIssued, message=warning)
            if self.selection is not None:
                emit(events.SkillsMatched, selection=self.selection)
            if client is None:
                prompt = self.prompt = await in_thread(self._build)
                emit(events.PromptBuilt, prompt=prompt)
                finished = self._finished("", TurnStatus.PREVIEW, reason="no model is set", hint=HOW_TO_SET_A_MODEL)
            else:
                limits = self.options.limits
                retry = RetryPolicy(retries=limits.retries, first_wait=limits.first_wait, sleep=self.options.sleep)
                running = TurnRun(client, self.session, limits, put, message=message, retry=retry)
                finished = await self._answer(running, emit)
        except asyncio.CancelledError:
            # Only `stop` and leaving the loop cancel this task. The turn is recorded as far as it got.
            finished = self._finished(running.answer if running else "", TurnStatus.STOPPED, reason="stopped by the user")
        except MetierError as error:
            finished = self._finished(running.answer if running else "", TurnStatus.FAILED, reason=str(error), hint=error.hint)
            finished = replace(finished, retryable=error.retryable)
        used = self._selection_usage + running.usage if running is not None else self._selection_usage
        finished = replace(finished, usage=used)
        await asyncio.shield(in_thread(self._record, number, message, running, finished))
        return finished

    async def _answer(self, running: TurnRun, emit: Callable[..., None]) -> TurnFinished:
        limits = self.options.limits
        limit = limits.context_tokens
        try:
            if limits.session_tokens and self._usage.tokens >= limits.session_tokens:
                raise TurnLimitError(f"this conversation has used its limit of {limits.session_tokens:,} tokens")
            for step in range(limits.steps or 1_000_000):
                prompt = await self._fit(running, limit, emit)
                if not step or prompt.text != (self.prompt.text if self.prompt else ""):
                    emit(events.PromptBuilt, prompt=prompt)
                self.prompt = prompt
                try:
                    done = await running.step(prompt, self._sent())
                except ModelFailure as failure:
                    if failure.kind is not FailureKind.CONTEXT or limit <= 2_000:
                        raise
                    # The model's window is smaller than engine.context_tokens.
                    limit //= 2
                    continue
                if done:
                    return self._finished(running.answer, TurnStatus.DONE)
            raise TurnLimitError(f"the model called tools in {limits.steps} steps without an answer")
        except TurnLimitError as over:
            hint = "continue with another message, or raise the limit in engine.*"
            return self._finished(running.answer, TurnStatus.LIMITED, reason=str(over), hint=hint)
        except ModelFailure as failure:
            raise explain_failure(failure, self.model_name) from failure

    async def _fit(self, running: TurnRun, limit: int, emit: Callable[..., None]) -> Prompt:
        """Builds the prompt, and drops or shortens history until everything that is sent fits the limit."""
        count = self.session.options.count
        prompt = await in_thread(self._build, running.messages)
        current = history.tokens_of(running.messages, count)
        before = sum(past.turn.tokens for past in self._past or ())
        gone = history.turns_to_drop([past.turn.tokens for past in self._past or ()], limit - prompt.tokens - current)
        if gone:
            await self._compact(running, gone)
            after = sum(past.turn.tokens for past in self._past or ())
            emit(events.HistoryCompacted, turns=gone, before=before, after=after, summary=self._summary[1])
            prompt = await in_thread(self._build, running.messages)
        left = limit - prompt.tokens - sum(past.turn.tokens for past in self._past or ())
        if current > left:
            running.messages = history.shorten(running.messages, left, count)
            if history.tokens_of(running.messages, count) > left:
                raise TurnLimitError(f"this turn no longer fits into {limit:,} tokens")
        return prompt

    async def _compact(self, running: TurnRun, gone: int) -> None:
        past = self._past or []
        leaving, summary = past[:gone], ""
        if self.options.compaction is Compaction.MODEL:
            request = history.summary_request(self._summary[1], [each.turn for each in leaving])
            try:
                reply, used = await self._ask(running.client, request, "summary")
                running.usage += used
                summary = reply.strip()
            except MetierError:  # the conversation continues without a summary
                summary = ""
        # Only now: a turn that is stopped while the model writes the summary drops nothing.
        self._past, self._summary = past[gone:], (leaving[-1].turn.number, summary)
        if self._store is not None:
            await in_thread(self._store.set_summary, self.id, *self._summary)

    async def _ask(self, client: ModelClient, prompt: str, purpose: str) -> tuple[str, ModelUsage]:
        """One request beside the conversation. Returns the answer and its usage."""
        await client.connect()
        with follow_request(self.session, client, purpose) as operation:
            reply = await client.ask([ChatMessage.user(prompt)])
            if reply.response is None:
                return reply.text, ModelUsage()
            record_response(operation, reply.response)
        return reply.text, usage_of(reply.response)

    async def _connect(self) -> ModelClient | None:
        if self._client is None and self._choice is not None:
            # Without a time limit: a turn is stopped by its user, and models may think for minutes.
            self._client = ModelClient(self._choice, seconds=None)
        if self._client is not None:
            await self._client.connect()
        return self._client

    def _select(self, message: str, client: ModelClient | None = None) -> list[str]:
        """Activates the skills that the message names as `$skill`, then those that fit it. Returns warnings."""
        self.selection = None
        # `$HOME` in a question about shells is not a skill, and not an error.
        names = {entry.name for entry in self.session.catalog.entries} if "$" in message else set()
        known = [name for name in dict.fromkeys(_NAMED.findall(message)) if name in names]
        new = [name for name in known if name not in self.session.active_names]
        activated = [self.session.activate(name, by=ActivatedBy.USER) for name in new]
        notes: list[str] = []
        if self.options.auto_select and self.session.selector is not None:
            self.selection = self._selected(message, self.session.selector, client)
            activated += self.session.activate_selected(self.selection)
            notes = [self.selection.note] if self.selection.note else []
            notes += [_proposal(match) for match in self.selection.available[:1] if match.decision is MatchDecision.ACTIVATE]
        return notes + [warning for activation in activated for warning in activation.warnings]

    def _selected(self, message: str, selector: SkillSelector, client: ModelClient | None) -> Selection:
        most = self.session.options.max_active
        found = decide(self.session.select(message, MOST_RANKED), most)
        if not self.options.ask_model or client is None:
            return found

        def ask(prompt: str) -> str:
            reply, used = wait_for(self._ask(client, prompt, "selection"))
            self._selection_usage += used
            return reply

        chooser = LlmSelector(selector, ask)
        chosen = chooser.select(message, most, recent=self.session.recent_folders, prior=self.session.prior)
        return decide(_with_triggered(found, chosen), most)

    def _build(self, current: list[TranscriptMessage] | None = None) -> Prompt:
        sent = history.text_of([*self._sent(), *(current or [])]) if current is not None else ""
        return build_prompt(
            self.session, base=self.options.instructions, budget=self.options.catalog, selection=self.selection, sent=sent,
            earlier=history.summary_note(*self._summary),
        )  # fmt: skip

    def _sent(self) -> list[TranscriptMessage]:
        return [message for past in self._past or () for message in past.messages]

    def _load(self) -> None:
        """Reads the turns of other processes."""
        if self._past is not None:
            return
        if self._store is None:
            self._past = []
            return
        self._summary = self._store.summary(self.id)
        turns = self._store.turns(self.id)
        self._usage = sum((turn.usage for turn in turns), ModelUsage())
        kept = [turn for turn in turns if turn.status not in (None, TurnStatus.PREVIEW) and turn.number > self._summary[0]]
        self._past = [PastTurn(turn, messages) for turn in kept if (messages := load_messages(turn.messages))]

    def _begin(self, message: str) -> int:
        before = self._last
        self._last += 1
        if self._store is not None:
            options = self.options
            self._last = self._store.begin(
                self.id, message, agent=options.agent, version=options.version, model=self.model_name
            )  # fmt: skip
            if self._last != before + 1:
                # Another process has continued the conversation, or deleted it, since our last turn.
                self._past = None
        return self._last

    def _record(self, number: int, message: str, running: TurnRun | None, finished: TurnFinished) -> None:
        messages = running.closed(f"[{finished.reason}]" if finished.reason else "") if running is not None else []
        turn = Turn(
            number=number, started=self.session.services.clock(), message=message, answer=finished.answer,
            status=finished.status,
            reason=finished.reason, messages=dump_messages(messages) if messages else b"[]", active=finished.active,
            tokens=history.tokens_of(messages, self.session.options.count), usage=finished.usage,
        )  # fmt: skip
        if messages and self._past is not None:
            self._past.append(PastTurn(turn, tuple(messages)))
        self._usage += finished.usage
        if self._store is not None:
            self._store.finish(self.id, turn)
        self.session.end_turn()

    def _finished(self, answer: str, status: TurnStatus, *, reason: str = "", hint: str = "") -> TurnFinished:
        return TurnFinished(
            session=self.id, timestamp=self.session.services.clock(), answer=answer, status=status, reason=reason, hint=hint,
            active=self.session.active_names,
        )  # fmt: skip


def _with_triggered(local: Selection, chosen: Selection) -> Selection:
    """The skills that the user named or a trigger demands, then those that the model chose."""
    called = [match for match in local.selected if activated_by(match) is not ActivatedBy.RANKER]
    known = {match.id for match in called}
    selected = (*called, *(match for match in chosen.selected if match.id not in known))
    taken = {match.id for match in selected}
    rest = (match for match in (*local.selected, *local.rejected) if match.id not in taken)
    note = chosen.note or local.note
    return Selection(selected=selected, rejected=tuple(rest), considered=local.considered, note=note, available=local.available)


def _proposal(match: Match) -> str:
    """A skill is never installed by a conversation: its user decides."""
    return f"{match.name} may fit and is not installed; to install it: {install_command(match)}"


def _enqueue(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[Event | None], event: Event, session: str) -> None:
    if event.session != session:
        # Sessions with the same services have one bus.
        return
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        queue.put_nowait(event)
    else:
        loop.call_soon_threadsafe(queue.put_nowait, event)
