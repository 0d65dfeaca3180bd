"""The read-eval-print loop of `metier chat`: prompt, approvals and Ctrl-C.

prompt_toolkit reads the input; it is imported only on a terminal. The model's client, the ranker and the sandbox are
loaded in the background after the first prompt, while the user types.
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

from metier.agents import AgentEngine, TurnFinished, TurnStatus
from metier.cli.core.approval import APPROVAL_HELP, APPROVAL_PROMPT, question_lines, read_approval
from metier.cli.core.terminal import Terminal, one_line, plural, truncate
from metier.cli.core.workspace import finish_workspace
from metier.errors import MetierError
from metier.models import missing_extra
from metier.runtime import ApprovalAnswer, ApprovalHook, Event, Question

from .conversation import Conversation, SlashResult
from .preview import preview_lines
from .record import TurnRecord
from .slash import COMMANDS, enter, money
from .stored_commands import end_of_conversation

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

    from .view import View

__all__ = ["approval_prompt", "interruptible", "run_repl"]


async def interruptible(engine: AgentEngine, message: str) -> AsyncIterator[Event]:
    """Yields the events of a turn. Ctrl-C stops the turn and not the program."""
    loop = asyncio.get_running_loop()
    with _on_interrupt(loop, engine.stop):
        async for event in engine.process(message):
            yield event


@contextlib.contextmanager
def _on_interrupt(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        # Not the main thread, or a system without signals: Ctrl-C keeps its usual meaning.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def approval_prompt(current_view: Callable[[], View]) -> ApprovalHook:
    """Asks the user for approval, between two lines of the answer."""
    one_at_a_time = asyncio.Lock()

    async def ask(question: Question) -> ApprovalAnswer:
        async with one_at_a_time:
            view = current_view()
            in_turn = view.pause()
            for number, line in enumerate(question_lines(question)):
                view.console.print(f"{' ' if number else '?'} {line}", style="yellow", markup=False, soft_wrap=True)
            try:
                while (answer := read_approval(await _prompt(f"  {APPROVAL_PROMPT}"))) is None:
                    view.console.print("\n".join(f"  {line}" for line in APPROVAL_HELP), markup=False)
            except (EOFError, KeyboardInterrupt):
                answer = ApprovalAnswer.NO
            finally:
                if in_turn:
                    view.resume()
        return answer

    return ask


async def _prompt(text: str) -> str:
    try:
        from prompt_toolkit import PromptSession
    except ImportError as error:
        raise missing_extra(error, "agents") from error
    return await PromptSession[str]().prompt_async(text)


async def run_repl(conversation: Conversation, *, yes: bool = False) -> None:
    """Runs until the user quits. With `yes`, changes to the workspace are applied without a question."""
    repl = _Repl(conversation, yes=yes)
    try:
        await repl.run()
    finally:
        await conversation.close()


class _Repl:
    def __init__(self, conversation: Conversation, *, yes: bool = False) -> None:
        self._yes = yes
        try:
            self._reader = _reader(conversation, self._status)
        except ImportError as error:
            raise missing_extra(error, "agents") from error
        self.conversation = conversation
        self._view: View | None = None
        self._loader = threading.Thread(target=self._load, daemon=True)

    @property
    def view(self) -> View:
        if self._view is None:
            from .view import View

            self._view = View(sandbox=self._level)
        return self._view

    async def run(self) -> None:
        conversation = self.conversation
        conversation.terminal = Terminal.of()
        conversation.approve = approval_prompt(lambda: self.view)
        self._greet()
        while True:
            try:
                text = await self._reader.prompt_async("> ", pre_run=self._start_loader)
            except KeyboardInterrupt:
                _print(conversation.terminal.paint("Press Ctrl-D or type /quit to quit", "dim"))
                continue
            except EOFError:
                return
            if not text.strip():
                continue
            result = await enter(conversation, text.strip())
            self._show(result)
            if result.quit:
                return
            if result.message:
                await self._turn(result.message)

    def _show(self, result: SlashResult) -> None:
        for line in result.lines:
            _print(line)
        if result.markdown:
            self.view.show_markdown(result.markdown)

    async def _turn(self, message: str) -> None:
        record = TurnRecord(message)
        try:
            async for event in interruptible(self.conversation.engine, message):
                record(event)
                self.view(event)
                if isinstance(event, TurnFinished) and event.status is TurnStatus.PREVIEW:
                    for line in preview_lines(record.row, self.conversation.terminal, brief=True):
                        _print(line)
        except MetierError as error:
            # Another process runs a turn, or the database is away: the message can be sent again.
            self.view.pause()
            _print(self.conversation.terminal.paint(one_line(f"{error}; {error.hint}"), "red"))
        _print("")
        await self._finish_changes()

    async def _finish_changes(self) -> None:
        """Shows what scripts changed in the workspace during the turn, and applies what the user takes."""
        conversation = self.conversation
        workspace, paint = conversation.workspace, conversation.terminal.paint
        if workspace is None or not await asyncio.to_thread(workspace.changes):
            return
        # In a thread: the question has an event loop of its own.
        try:
            report = await asyncio.to_thread(
                finish_workspace,
                conversation.app,
                workspace,
                conversation.last_session,
                conversation.last_skills,
                yes=self._yes,
            )
        except (EOFError, KeyboardInterrupt):
            await asyncio.to_thread(workspace.discard)
            _print(paint("Nothing applied", "yellow"))
            return
        for note in report.notes:
            _print(paint(note, "yellow"))
        if report.info:
            _print(paint(report.info, "dim"))

    def _greet(self) -> None:
        conversation, paint = self.conversation, self.conversation.terminal.paint
        model = conversation.app.settings["model.name"].value
        name = conversation.agent or "metier"
        _print(f"{paint(one_line(name), 'bold')}  {paint('/help lists commands, Ctrl-D quits', 'dim')}")
        if conversation.session:
            self._show(end_of_conversation(conversation))
        elif not (conversation.model or conversation.agent or model):
            from metier.models import HOW_TO_SET_A_MODEL

            _print(paint(f"No model is set, so messages are not answered; {HOW_TO_SET_A_MODEL}", "yellow"))
        for warning in conversation.warnings:
            _print(paint(one_line(warning), "yellow"))

    def _start_loader(self) -> None:
        if not self._loader.ident:
            self._loader.start()

    def _load(self) -> None:
        """A failure here is raised again where the part is used."""
        with contextlib.suppress(Exception):
            engine = self.conversation.engine
            self.conversation.app.skills.selector.select("warm up", 1)
            engine.load_client()
            self._level()

    def _level(self) -> str:
        best = self.conversation.app.sessions.runner.best()
        return best.level if best else ""

    def _status(self) -> str:
        """The status line below the prompt."""
        engine = self.conversation.started
        if engine is None:
            return ""
        parts = [engine.options.agent, engine.model_name or "no model"]
        active = engine.session.active_names
        parts.append(f"skills: {', '.join(active)}" if active else "no active skill")
        usage = engine.usage
        if usage.requests:
            parts.append(plural(usage.tokens, "token"))
        if usage.cost is not None:
            parts.append(money(usage.cost))
        return truncate(" " + " · ".join(filter(None, map(one_line, parts))), self.conversation.terminal.width)


def _reader(conversation: Conversation, status: Callable[[], str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory

    history = Path(conversation.app.paths.at("chat_history"))
    history.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    history.touch(mode=0o600)
    return PromptSession(
        history=FileHistory(str(history)), completer=_completer(conversation), complete_while_typing=True, key_bindings=_keys(),
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


def _completer(conversation: Conversation) -> Completer:
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document

    class Names(Completer):
        """Commands after `/`, skills after `$`, `/` and the commands that take one."""

        def get_completions(self, document: Document, _: object) -> Iterator[Completion]:
            text = document.text_before_cursor
            word = text.rpartition(" ")[2]
            for name, about in _offered(conversation, text, word):
                if name.startswith(word):
                    yield Completion(name, start_position=-len(word), display_meta=truncate(about, 50))

    return Names()


def _offered(conversation: Conversation, text: str, word: str) -> Iterator[tuple[str, str]]:
    if text == word and word.startswith("/"):
        yield from ((f"/{name}", each.about) for name, each in COMMANDS.items())
        yield from ((f"/{name}", command.description) for name, command in conversation.commands.items())
        yield from ((f"/{entry.name}", entry.description) for entry in conversation.app.catalog)
    elif word.startswith("$"):
        yield from ((f"${entry.name}", entry.description) for entry in conversation.app.catalog)
    elif text.startswith(("/skill ", "/unskill ")):
        yield from ((entry.name, entry.description) for entry in conversation.app.catalog)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
