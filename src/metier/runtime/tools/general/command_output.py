"""The output of a session's commands: kept for reading on, and read while a command runs in the background."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

from metier.disclosure import escape_output
from metier.errors import MetierError
from metier.runtime.policy.approvals import MemoryApprovals
from metier.runtime.script_run import Outcome, printable
from metier.runtime.tool_errors import BadArgumentsError
from metier.runtime.tools.script_tools import connection_notes

__all__ = ["CommandOutput", "SessionCommands", "ended_text", "output_text"]

_MOST_KEPT = 50
_MOST_RUNNING = 8
_STOP_REASONS = {"time": "timed out", "cancel": "stopped", "output": "printed too much", "memory": "used too much memory",
                 "processes": "started too many processes", "scratch": "wrote too much"}  # fmt: skip


def output_text(outcome: Outcome) -> str:
    """Returns what a command printed, as a model reads it."""
    text = outcome.stdout.rstrip("\n")
    if outcome.stderr.strip():
        text += f"{chr(10) if text else ''}[stderr]\n{outcome.stderr.rstrip(chr(10))}"
    if outcome.stdout_truncated or outcome.stderr_truncated:
        text += "\n[cut here: the output was longer than the limit]"
    notes = [*connection_notes(outcome), *(outcome.notes if not outcome.ok else ())]
    return escape_output(printable("\n".join(filter(None, (text, *(f"[{note}]" for note in notes))))))


def ended_text(outcome: Outcome) -> str:
    if outcome.exit_code is not None:
        return f"exit code {outcome.exit_code}"
    return _STOP_REASONS.get(outcome.stop_reason, "stopped")


class CommandOutput:
    """One command: finished, with its text, or in the background, with a log that grows."""

    def __init__(self, handle: str, command: str) -> None:
        self.handle, self.command = handle, command
        self.outcome: Outcome | None = None
        self.error = ""
        """Why it did not run to its end."""
        self.log = ""
        self.task: asyncio.Task[None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def state(self) -> str:
        if self.is_running:
            return "running"
        return ended_text(self.outcome) if self.outcome is not None else self.error or "stopped"

    def text(self) -> str:
        if self.outcome is not None:
            return output_text(self.outcome)
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return escape_output(printable(file.read()))
        except OSError:
            return ""

    def stop(self) -> None:
        """Ends the command, from any thread."""
        if self.task is None or self.loop is None or self.loop.is_closed():
            return
        try:
            is_inside = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            is_inside = False
        if is_inside:
            self.task.cancel()
        else:
            self.loop.call_soon_threadsafe(self.task.cancel)

    def remove_log(self) -> None:
        if self.log:
            try:
                os.unlink(self.log)
            except FileNotFoundError:
                pass


class SessionCommands:
    """The commands of one session. All of them end when it is closed."""

    def __init__(self) -> None:
        self.approvals = MemoryApprovals()
        """Answers `always` to calls for which no skill is active."""
        self._outputs: OrderedDict[str, CommandOutput] = OrderedDict()
        self._count = 0
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @property
    def turn(self) -> asyncio.Lock:
        """Held by a call that may change files: a model calls tools in parallel, and one edit must not undo another."""
        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @property
    def has_outputs(self) -> bool:
        return bool(self._outputs)

    def keep(self, command: str, outcome: Outcome) -> CommandOutput:
        """Keeps a long output for read_output."""
        output = self._new(command)
        output.outcome = outcome
        return output

    def start(self, command: str, run: Callable[[str], Awaitable[Outcome]], ended: Callable[[Outcome], None]) -> CommandOutput:
        """Runs a command in the background. `run` is given the path of the log."""
        if sum(output.is_running for output in self._outputs.values()) >= _MOST_RUNNING:
            raise BadArgumentsError(
                f"{_MOST_RUNNING} commands are running", hint="stop one with stop_command, or wait with read_output"
            )
        output = self._new(command)
        descriptor, output.log = tempfile.mkstemp(prefix="metier-output-")
        os.close(descriptor)

        async def work() -> None:
            try:
                output.outcome = await run(output.log)
                ended(output.outcome)
            except MetierError as error:
                output.error = f"{error}; {error.hint}"
            except OSError as error:
                output.error = f"cannot be run: {(error.strerror or str(error)).lower()}"
            finally:
                if output.outcome is not None:
                    output.remove_log()

        output.loop = asyncio.get_running_loop()
        output.task = output.loop.create_task(work())
        return output

    def get(self, handle: str) -> CommandOutput:
        output = self._outputs.get(handle)
        if output is None:
            known = ", ".join(self._outputs) or "none"
            raise BadArgumentsError(f"there is no output {handle!r}", hint=f"the handles are: {known}")
        return output

    def close(self) -> None:
        """Ends all commands and removes their logs."""
        for output in self._outputs.values():
            if output.is_running:
                output.stop()
            output.remove_log()
        self._outputs.clear()

    def _new(self, command: str) -> CommandOutput:
        self._count += 1
        handle = f"c{self._count}"
        self._outputs[handle] = CommandOutput(handle, command)
        for name in [name for name, output in self._outputs.items() if not output.is_running][: -_MOST_KEPT or None]:
            if name != handle and len(self._outputs) > _MOST_KEPT:
                self._outputs.pop(name).remove_log()
        return self._outputs[handle]
