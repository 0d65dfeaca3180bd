"""An agent that talks: for each message it picks skills, activates them, asks its model and runs what that calls for.

    engine = App().conversations.engine(model="openai:gpt-5")
    async for event in engine.process("Chart the sales in sales.csv"):
        print(event)

Each turn has five steps: select, activate, build the prompt, run, record. Each can be had alone: a framework that
brings its own loop takes `system_prompt(message)` and `tools()`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Self

from metier.disclosure import Budget
from metier.errors import ConflictError, MetierError
from metier.models.providers import HOW_TO_SET_A_MODEL, ModelChoice, connect, explained
from metier.runtime import ActivatedBy, Session, SkillSelector, Tool, activated_by, in_thread, wait_for
from metier.selection import LlmSelector, Selection

from . import events, history
from .conversations import ConversationStore, Turn
from .events import Event, ModelUsage, TurnFinished, TurnStatus
from .history import PastTurn
from .prompt import BASE, MOST_RANKED, Prompt, build_prompt, decide
from .turn import Sleep, TurnLimitError, TurnLimits, TurnRun, ask_once

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

__all__ = ["AgentEngine", "Compaction", "EngineOptions"]

_NAMED = re.compile(r"(?<![\w$])\$([a-z0-9]+(?:-[a-z0-9]+)*)\b")


class Compaction(StrEnum):
    """What stands for the turns that no longer fit."""

    DROP = "drop"
    """A note that they are missing."""
    MODEL = "model"
    """A summary by the model; the note, if that fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How an engine behaves."""

    instructions: str = BASE
    auto_select: bool = True
    """Pick skills for each message. Without, the model and the user do."""
    ask_model: bool = False
    """Let the model choose from the ranker's shortlist, which costs a request."""
    compaction: Compaction = Compaction.DROP
    catalog: Budget = field(default_factory=Budget)
    limits: TurnLimits = field(default_factory=TurnLimits)
    agent: str = ""
    """Under which name and version turns are recorded."""
    version: int = 0
    warnings: tuple[str, ...] = ()
    """Told at the first turn: a skill of the agent that is not here, say."""
    sleep: Sleep = asyncio.sleep
    """How the time until a retry is waited out."""


class AgentEngine:
    """One conversation. Several engines may run at once in one loop; one engine runs one turn at a time."""

    def __init__(
        self,
        session: Session,
        *,
        model: ModelChoice | Model | None = None,
        repository: ConversationStore | None = None,
        options: EngineOptions | None = None,
    ) -> None:
        self.session = session
        self.options = options or EngineOptions()
        self.selection: Selection | None = None
        """Of the last message: why these skills."""
        self.prompt: Prompt | None = None
        """What the model was told last."""
        self._repository = repository
        self._choice: ModelChoice | Model | None = model
        self._model: Model | None = None
        self._past: list[PastTurn] | None = None
        self._count = 0
        self._spent = ModelUsage()
        self._summary = (0, "")
        self._warnings = list(self.options.warnings)
        self._turn: asyncio.Task[TurnFinished] | None = None

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def model_name(self) -> str:
        """Empty when there is none."""
        if self._choice is None:
            return ""
        return self._choice.name if isinstance(self._choice, ModelChoice) else self._choice.model_name

    @property
    def spent(self) -> ModelUsage:
        """By the whole conversation, also in earlier processes."""
        return self._spent

    def tools(self) -> tuple[Tool, ...]:
        """What a model can call now. Ask again after every call."""
        return self.session.tools()

    def system_prompt(self, message: str) -> str:
        """Select and activate skills for this message, and what a model should then be told."""
        return self.prepare(message).text

    def prepare(self, message: str) -> Prompt:
        """The same with its parts and what each costs."""
        self._select(message)
        return self._build()

    async def process(self, message: str) -> AsyncGenerator[Event, None]:
        """One turn, told as it happens; the last event is TurnFinished. Leaving the loop early stops the turn.

        Errors of the model and of skills are events. What is raised is a mistake of the caller, or of the machine.
        """
        if self._turn is not None:
            raise ConflictError("this conversation is in the middle of a turn", hint="wait for it, or call stop()")
        heard: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # The session works in threads too; through the loop, everything arrives in the order in which it happened.
        unsubscribe = self.session.services.bus.subscribe(lambda event: _arrive(loop, heard, event))
        self._turn = turn = asyncio.create_task(self._run(message, heard.put_nowait))
        turn.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (event := await heard.get()) is not None:
                yield event
        finally:
            unsubscribe()
            await self._ended(turn)
        # Only now, so that whoever stops listening at the last event can go on with the next turn.
        yield turn.result()

    async def ask(self, message: str) -> TurnFinished:
        """One turn, and only its end."""
        events = [event async for event in self.process(message)]
        assert isinstance(events[-1], TurnFinished)  # noqa: S101  (what `process` promises)
        return events[-1]

    def stop(self) -> None:
        """End the turn that is under way: its request is dropped, its scripts are killed, what was said is kept."""
        if self._turn is not None:
            self._turn.cancel()

    def use_model(self, choice: ModelChoice | Model | None) -> None:
        """Go on with another model."""
        self._choice, self._model = choice, None

    async def close(self) -> None:
        self.stop()
        self.session.close()
        if self._model is not None and self._model is not self._choice:
            await self._model.__aexit__(None, None, None)
        self._model = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ended(self, turn: asyncio.Task[TurnFinished]) -> None:
        turn.cancel()
        try:
            # Shielded: whoever leaves in a hurry must not leave a script behind.
            await asyncio.shield(asyncio.wait([turn]))
        finally:
            self._turn = None

    async def _run(self, message: str, put: Callable[[Event], None]) -> TurnFinished:
        def tell(kind: type[Event], **values: object) -> None:
            put(kind(session=self.id, timestamp=self.session.services.clock(), **values))

        tell(events.TurnStarted, message=message)
        for warning in self._warnings:
            tell(events.WarningIssued, message=warning)
        self._warnings = []
        number = await in_thread(self._begin, message)
        running: TurnRun | None = None
        try:
            model = await self._connected()
            await in_thread(self._load)
            for warning in await in_thread(self._select, message, model):
                tell(events.WarningIssued, message=warning)
            if self.selection is not None:
                tell(events.SkillsSelected, selection=self.selection)
            if model is None:
                prompt = self.prompt = await in_thread(self._build)
                tell(events.PromptBuilt, prompt=prompt)
                finished = self._finished(
                    "", TurnStatus.PREVIEW, reason="no model is set, so nobody was asked", hint=HOW_TO_SET_A_MODEL
                )
            else:
                running = TurnRun(
                    model, self.session, self.options.limits, put, name=self.model_name, message=message,
                    sleep=self.options.sleep,
                )  # fmt: skip
                finished = await self._answered(running, tell)
        except asyncio.CancelledError:
            # Our own task, and only `stop` and leaving the loop cancel it: the turn is over, and is kept as far as it got.
            finished = self._finished(running.answer if running else "", TurnStatus.STOPPED, reason="stopped by the user")
        except MetierError as error:
            finished = self._finished(running.answer if running else "", TurnStatus.FAILED, reason=str(error), hint=error.hint)
        if running is not None:
            finished = replace(finished, spent=running.spent)
        await asyncio.shield(in_thread(self._record, number, message, running, finished))
        return finished

    async def _answered(self, running: TurnRun, tell: Callable[..., None]) -> TurnFinished:
        from pydantic_ai.exceptions import AgentRunError, ModelContextWindowExceededError

        limits = self.options.limits
        room = limits.context_tokens
        try:
            if limits.session_tokens and self._spent.tokens >= limits.session_tokens:
                raise TurnLimitError(f"this conversation has used its {limits.session_tokens:,} tokens")
            for step in range(limits.steps or 1_000_000):
                prompt = await self._fitted(running, room, tell)
                if not step or prompt.text != (self.prompt.text if self.prompt else ""):
                    tell(events.PromptBuilt, prompt=prompt)
                self.prompt = prompt
                try:
                    done = await running.step(prompt, self._sent())
                except ModelContextWindowExceededError:
                    if room <= 2_000:
                        raise
                    # Its window is smaller than we were told.
                    room //= 2
                    continue
                if done:
                    return self._finished(running.answer, TurnStatus.DONE)
            raise TurnLimitError(f"the model called tools in {limits.steps} steps and did not come to an answer")
        except TurnLimitError as over:
            hint = "say how to go on, or raise the limit in engine.*"
            return self._finished(running.answer, TurnStatus.LIMITED, reason=str(over), hint=hint)
        except AgentRunError as error:
            raise explained(error, self.model_name) from error

    async def _fitted(self, running: TurnRun, room: int, tell: Callable[..., None]) -> Prompt:
        """The prompt, once everything that is sent with it fits the room."""
        count = self.session.options.count
        prompt = await in_thread(self._build, running.messages)
        current = history.tokens_of(running.messages, count)
        before = sum(past.turn.tokens for past in self._past or ())
        gone = history.turns_to_drop([past.turn.tokens for past in self._past or ()], room - prompt.tokens - current)
        if gone:
            await self._compact(running, gone)
            after = sum(past.turn.tokens for past in self._past or ())
            tell(events.HistoryCompacted, turns=gone, before=before, after=after, summary=self._summary[1])
            prompt = await in_thread(self._build, running.messages)
        left = room - prompt.tokens - sum(past.turn.tokens for past in self._past or ())
        if current > left:
            running.messages = history.shorten(running.messages, left, count)
            if history.tokens_of(running.messages, count) > left:
                raise TurnLimitError(f"this turn no longer fits into {room:,} tokens")
        return prompt

    async def _compact(self, running: TurnRun, gone: int) -> None:
        past = self._past or []
        leaving, self._past = past[:gone], past[gone:]
        summary = ""
        if self.options.compaction is Compaction.MODEL:
            request = history.summary_request(self._summary[1], [each.turn for each in leaving])
            try:
                summary = (await ask_once(running.model, request)).strip()
            except Exception:  # a provider's client: without a summary the conversation still goes on
                summary = ""
        self._summary = (leaving[-1].turn.number, summary)
        if self._repository is not None:
            await in_thread(self._repository.summarise, self.id, *self._summary)

    async def _connected(self) -> Model | None:
        if self._model is None and self._choice is not None:
            if isinstance(self._choice, ModelChoice):
                # Importing a provider's client takes half a second, and must not hold up a loop.
                model = await in_thread(connect, self._choice)
                self._model = await model.__aenter__()
            else:
                self._model = self._choice
        return self._model

    def _select(self, message: str, model: Model | None = None) -> list[str]:
        """Activate what the message calls for: what it names as `$skill`, then what fits it. Returns what went amiss."""
        self.selection = None
        # `$HOME` in a question about shells is no skill, and no error.
        known = [name for name in dict.fromkeys(_NAMED.findall(message)) if name in self.session.catalog]
        new = [name for name in known if name not in self.session.active_names]
        activated = [self.session.activate(name, by=ActivatedBy.USER) for name in new]
        if self.options.auto_select and self.session.services.selector is not None:
            self.selection = self._selected(message, self.session.services.selector, model)
            activated += self.session.activate_selected(self.selection)
        return [warning for activation in activated for warning in activation.warnings]

    def _selected(self, message: str, selector: SkillSelector, model: Model | None) -> Selection:
        found = decide(self.session.select(message, MOST_RANKED))
        if not self.options.ask_model or model is None:
            return found
        chooser = LlmSelector(selector, lambda prompt: wait_for(ask_once(model, prompt)))
        recent = [row.folder for row in self.session.active]
        return _with_triggered(found, chooser.select(message, self.session.options.max_active, recent=recent))

    def _build(self, current: list[ModelMessage] | None = None) -> Prompt:
        sent = history.text_of([*self._sent(), *(current or [])]) if current is not None else ""
        return build_prompt(
            self.session, base=self.options.instructions, budget=self.options.catalog, selection=self.selection, sent=sent,
            earlier=history.summary_note(*self._summary),
        )  # fmt: skip

    def _sent(self) -> list[ModelMessage]:
        return [message for past in self._past or () for message in past.messages]

    def _load(self) -> None:
        """What was said in earlier processes, once."""
        if self._past is not None:
            return
        self._past = []
        if self._repository is None:
            return
        self._summary = self._repository.summary(self.id)
        turns = self._repository.turns(self.id)
        self._spent = sum((turn.spent for turn in turns), ModelUsage())
        if self._choice is None:
            # Nobody is asked, so nothing has to be read that only a model's client can read.
            self._past = None
            return
        kept = [turn for turn in turns if turn.ending not in (None, TurnStatus.PREVIEW) and turn.number > self._summary[0]]
        self._past = [PastTurn(turn, messages) for turn in kept if (messages := history.load_messages(turn.messages))]

    def _begin(self, message: str) -> int:
        self._count += 1
        if self._repository is None:
            return self._count
        options = self.options
        return self._repository.begin(self.id, message, agent=options.agent, version=options.version, model=self.model_name)

    def _record(self, number: int, message: str, running: TurnRun | None, finished: TurnFinished) -> None:
        messages = running.closed(f"[{finished.reason}]" if finished.reason else "") if running is not None else []
        turn = Turn(
            number=number, started=self.session.services.clock(), message=message, answer=finished.answer,
            ending=finished.ending, reason=finished.reason,
            messages=history.dump_messages(messages) if messages else b"[]", active=finished.active,
            tokens=history.tokens_of(messages, self.session.options.count), spent=finished.spent,
        )  # fmt: skip
        if messages and self._past is not None:
            self._past.append(PastTurn(turn, tuple(messages)))
        self._spent += finished.spent
        if self._repository is not None:
            self._repository.finish(self.id, turn)
        self.session.end_turn()

    def _finished(self, answer: str, ending: TurnStatus, *, reason: str = "", hint: str = "") -> TurnFinished:
        return TurnFinished(
            session=self.id, timestamp=self.session.services.clock(), answer=answer, ending=ending, reason=reason, hint=hint,
            active=self.session.active_names,
        )  # fmt: skip


def _with_triggered(local: Selection, chosen: Selection) -> Selection:
    """What the model chose, behind what the user named and what a trigger calls for: those are not a matter of opinion."""
    called = [match for match in local.selected if activated_by(match) is not ActivatedBy.RANKER]
    known = {match.id for match in called}
    selected = (*called, *(match for match in chosen.selected if match.id not in known))
    taken = {match.id for match in selected}
    rest = (match for match in (*local.selected, *local.rejected) if match.id not in taken)
    return Selection(selected=selected, rejected=tuple(rest), considered=local.considered)


def _arrive(loop: asyncio.AbstractEventLoop, heard: asyncio.Queue[Event | None], event: Event) -> None:
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        heard.put_nowait(event)
    else:
        loop.call_soon_threadsafe(heard.put_nowait, event)
