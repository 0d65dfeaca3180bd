"""The terminal side of a conversation: what is typed, what is asked in between, and Ctrl-C.

prompt_toolkit reads; it is imported when a person sits there. The model's client, the ranker and the sandbox are made
ready behind the first prompt, while the person types.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from metier.agents import AgentEngine, TurnStatus
from metier.agents.events import Event, TurnFinished
from metier.cli.core.terminal import Terminal, one_line, truncate
from metier.models import load_client, missing_extra
from metier.runtime import ApprovalAnswer, ApprovalHook, Question

from .preview import preview_lines
from .record import TurnRecord
from .slash import COMMANDS, Conversation, money, resumed

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

    from .view import View

__all__ = ["asking", "converse", "stoppable"]

_ANSWERS = {"o": ApprovalAnswer.ONCE, "once": ApprovalAnswer.ONCE, "a": ApprovalAnswer.ALWAYS, "always": ApprovalAnswer.ALWAYS}


async def stoppable(engine: AgentEngine, message: str) -> AsyncIterator[Event]:
    """A turn that Ctrl-C stops, and nothing else with it."""
    loop = asyncio.get_running_loop()
    with _interrupted_by(loop, engine.stop):
        async for event in engine.process(message):
            yield event


@contextlib.contextmanager
def _interrupted_by(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        # Not the main thread, or a system without: then Ctrl-C is what it always is.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def asking(on: Callable[[], View]) -> ApprovalHook:
    """The question whether a skill may do something, put to the person between two lines of the answer."""
    one_at_a_time = asyncio.Lock()

    async def ask(question: Question) -> ApprovalAnswer:
        async with one_at_a_time:
            view = on()
            view.hold()
            wants = f"{_escaped(question.skill)} wants to use [bold]{_escaped(str(question.request))}[/]"
            view.console.print(f"[yellow]?[/] {wants} [dim]({_escaped(question.reason)})[/]")
            try:
                typed = await _prompt("  allow it? [o]nce, [a]lways, [n]o: ")
            except (EOFError, KeyboardInterrupt):
                typed = "n"
            finally:
                view.go_on()
        return _ANSWERS.get(typed.strip().lower(), ApprovalAnswer.NO)

    return ask


async def _prompt(text: str) -> str:
    try:
        from prompt_toolkit import PromptSession
    except ImportError as error:
        raise missing_extra(error, "agents") from error
    return await PromptSession[str]().prompt_async(text)


async def converse(talk: Conversation) -> None:
    """Until the person leaves."""
    desk = _Desk(talk)
    try:
        await desk.run()
    finally:
        await talk.close()


class _Desk:
    def __init__(self, talk: Conversation) -> None:
        try:
            self._reader = _reader(talk, self._status)
        except ImportError as error:
            raise missing_extra(error, "agents") from error
        self.talk = talk
        self._view: View | None = None
        self._asleep = threading.Thread(target=self._warm_up, daemon=True)

    @property
    def view(self) -> View:
        if self._view is None:
            from .view import View

            self._view = View(sandbox=self._level)
        return self._view

    async def run(self) -> None:
        talk = self.talk
        talk.terminal = Terminal.of()
        talk.approve = asking(lambda: self.view)
        self._greet()
        while True:
            try:
                text = await self._reader.prompt_async("> ", pre_run=self._shown_once)
            except KeyboardInterrupt:
                _say(talk.terminal.paint("Ctrl-D or /quit leaves", "dim"))
                continue
            except EOFError:
                return
            if not text.strip():
                continue
            entered = await talk.entered(text.strip())
            for line in entered.lines:
                _say(line)
            if entered.leave:
                return
            if entered.message:
                await self._turn(entered.message)

    async def _turn(self, message: str) -> None:
        record = TurnRecord(message)
        async for event in stoppable(self.talk.engine, message):
            record(event)
            self.view(event)
            if isinstance(event, TurnFinished) and event.status is TurnStatus.PREVIEW:
                for line in (*preview_lines(record.row, self.talk.terminal), "", one_line(event.hint)):
                    _say(line)
        _say("")

    def _greet(self) -> None:
        talk, paint = self.talk, self.talk.terminal.paint
        model = talk.app.user_settings["model.name"].value
        who = talk.agent or "metier"
        _say(f"{paint(one_line(who), 'bold')}  {paint('/help lists commands, Ctrl-D leaves', 'dim')}")
        if talk.session:
            for line in resumed(talk):
                _say(line)
        elif not (talk.model or talk.agent or model):
            from metier.models import HOW_TO_SET_A_MODEL

            _say(paint(f"no model is set, so you will see what one would receive; {HOW_TO_SET_A_MODEL}", "yellow"))
        for warning in talk.warnings:
            _say(paint(one_line(warning), "yellow"))

    def _shown_once(self) -> None:
        if not self._asleep.ident:
            self._asleep.start()

    def _warm_up(self) -> None:
        """Whatever fails here fails again where it is needed, and is told there."""
        with contextlib.suppress(Exception):
            engine = self.talk.engine
            self.talk.app.skills.selector.select("warm up", 1)
            if engine.model_name:
                load_client()
            self._level()

    def _level(self) -> str:
        best = self.talk.app.sessions.runner.best()
        return best.level if best else ""

    def _status(self) -> str:
        """The line below the prompt."""
        engine = self.talk.started
        if engine is None:
            return ""
        parts = [engine.options.agent, engine.model_name or "no model"]
        active = engine.session.active_names
        parts.append(f"skills: {', '.join(active)}" if active else "no active skill")
        usage = engine.usage
        if usage.requests:
            parts.append(f"{usage.tokens:,} tokens")
        if usage.cost is not None:
            parts.append(money(usage.cost))
        return truncate(" " + " · ".join(filter(None, map(one_line, parts))), self.talk.terminal.width)


def _reader(talk: Conversation, status: Callable[[], str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory

    history = Path(talk.app.paths.at("chat_history"))
    history.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    history.touch(mode=0o600)
    return PromptSession(
        history=FileHistory(str(history)), completer=_completer(talk), complete_while_typing=True, key_bindings=_keys(),
        bottom_toolbar=status, prompt_continuation="  ", reserve_space_for_menu=6,
    )  # fmt: skip


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    return keys


def _completer(talk: Conversation) -> Completer:
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document

    class Names(Completer):
        """Commands after `/`, skills after `$`, `/` and the commands that take one."""

        def get_completions(self, document: Document, _: object) -> Iterator[Completion]:
            text = document.text_before_cursor
            word = text.rpartition(" ")[2]
            for name, about in _offered(talk, text, word):
                if name.startswith(word):
                    yield Completion(name, start_position=-len(word), display_meta=truncate(about, 50))

    return Names()


def _offered(talk: Conversation, text: str, word: str) -> Iterator[tuple[str, str]]:
    if text == word and word.startswith("/"):
        yield from ((f"/{name}", each.about) for name, each in COMMANDS.items())
        yield from ((f"/{name}", command.description) for name, command in talk.commands.items())
        yield from ((f"/{entry.name}", entry.description) for entry in talk.app.catalog)
    elif word.startswith("$"):
        yield from ((f"${entry.name}", entry.description) for entry in talk.app.catalog)
    elif text.startswith(("/skill ", "/unskill ")):
        yield from ((entry.name, entry.description) for entry in talk.app.catalog)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _escaped(text: str) -> str:
    return one_line(text).replace("[", "\\[")
