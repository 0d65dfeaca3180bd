"""A turn on a terminal: Markdown as it arrives, a spinner while tools run, and a line for each event."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text as Line

from metier.agents import TurnFinished, TurnStatus, events
from metier.cli.core.terminal import cell_width, one_line, plural, strip_control_chars, truncate
from metier.runtime import ActionRefused, Event, ScriptStarted, SkillActivated, SkillDeactivated, SkillsChanged

from .markdown import finished_length
from .record import change_lines

__all__ = ["View"]

_TELLING = {
    "run_command": "command", "run_code": "code", "list_files": "path", "read_file": "path", "search_files": "pattern",
    "write_file": "path", "edit_file": "path",
}  # fmt: skip
"""The argument of each general tool that says what a call does. The content of a file does not."""
_BY = {
    "user": "requested",
    "trigger": "trigger matched",
    "ranker": "selected",
    "model": "loaded by the model",
    "dependency": "required by another skill",
}


class View:
    """Shows turns. Finished blocks are printed once; the rest is redrawn below them."""

    def __init__(self, console: Console | None = None, *, sandbox: Callable[[], str] = lambda: "") -> None:
        self.console = console or Console(highlight=False)
        self._sandbox = sandbox
        self._text = ""
        self._blocks = 0
        self._noted = False
        self._busy: dict[str, str] = {}
        self._live: Live | None = None
        self._waiting = "thinking"

    def __call__(self, event: Event) -> None:
        match event:
            case events.TurnStarted():
                self._text, self._blocks, self._busy, self._waiting = "", 0, {}, "choosing skills"
                self.resume()
            case SkillActivated(name=name, by=by, tokens=tokens) if tokens:
                self._note(f"● {name}", f"{_BY.get(by, by)}, {plural(tokens, 'token')}", "green")
            case SkillDeactivated(name=name, reason=reason):
                self._note(f"○ {name}", f"deactivated ({reason})", "dim")
            case events.PromptBuilt():
                self._waiting = "thinking"
            case events.AnswerText(text=text):
                self._add_text(text)
            case events.ToolCallStarted():
                self._flush()
                self._busy[event.id] = f"{event.tool} {_brief(event.tool, event.arguments)}"
            case ScriptStarted(script=script):
                self._waiting = f"{script} in the {self._sandbox()} sandbox".replace("  ", " ")
            case events.ToolCallFinished():
                self._end_call(event)
            case SkillsChanged():
                for line in change_lines(event):
                    self._note("↺", line, "yellow")
            case ActionRefused(name=name, what="activate", reason=reason):
                self._note(f"✗ {name}", f"not activated: {reason}", "red")
            case ActionRefused(what=what, rule=rule):
                self._note(f"✗ {what}", f"not allowed ({rule})", "red")
            case events.ModelRetried(seconds=seconds, reason=reason):
                self._text = ""
                self._note("↻", f"{reason}; retrying in {seconds:.0f} s", "yellow")
            case events.HistoryCompacted(turns=turns, before=before, after=after):
                self._note(
                    "⇣", f"{plural(turns, 'earlier turn')} no longer sent ({before:,} -> {plural(after, 'token')})", "dim"
                )
            case events.WarningIssued(message=message):
                self._note("!", message, "yellow")
            case TurnFinished():
                self._end(event)
        self._draw()

    def pause(self) -> bool:
        """Removes the live region, so that the user can be asked something. Returns whether there was one."""
        if self._live is None:
            return False
        # The region is transient, but text that scrolled out of it stays: leave nothing in it.
        self._live.update(Line(), refresh=True)
        self._live.stop()
        self._live = None
        return True

    def show_markdown(self, text: str) -> None:
        """Prints a whole answer, such as the last one of a conversation that is resumed."""
        self.console.print(_Tight(strip_control_chars(text)))

    def resume(self) -> None:
        if self._live is None:
            self._live = Live(console=self.console, refresh_per_second=12, transient=True, vertical_overflow="crop")
            self._live.start()

    def _add_text(self, text: str) -> None:
        self._text += strip_control_chars(text)
        end = finished_length(self._text)
        if end:
            self._block(self._text[:end])
            self._text = self._text[end:]

    def _end_call(self, event: events.ToolCallFinished) -> None:
        what = self._busy.pop(event.id, event.tool)
        self._waiting = "thinking"
        level = f", {event.level} sandbox" if event.level else ""
        summary = f"{event.summary}, " if event.summary else ""
        if event.ok:
            self._note(f"✓ {what}", f"{summary}{event.duration:.1f} s{level}", "cyan")
        else:
            self._note(f"✗ {what}", f"{event.summary or event.code}{level}", "red")

    def _end(self, event: TurnFinished) -> None:
        self._busy = {}
        self._flush()
        self.pause()
        if event.status not in (TurnStatus.DONE, TurnStatus.PREVIEW):
            colour = "red" if event.status is TurnStatus.FAILED else "yellow"
            self.console.print(Line(one_line(event.reason), style=colour))
            if event.hint:
                self.console.print(Line(f"hint: {one_line(event.hint)}", style="dim"))

    def _flush(self) -> None:
        if self._text.strip():
            self._block(self._text)
        self._text, self._blocks = "", 0

    def _block(self, text: str) -> None:
        """Prints a finished part of the answer."""
        if self._live is not None:
            # The live region shows it too, and it would be visible twice for a moment.
            self._live.update(Line())
        if self._blocks or self._noted:
            self.console.print()
        self._noted = False
        self._blocks += 1
        self.console.print(_Tight(text))

    def _note(self, sign: str, about: str, style: str) -> None:
        about = one_line(about)
        line = Line(truncate(one_line(sign), max(20, self.console.width - cell_width(about) - 2)), style=style)
        line.append(f"  {about}", style="dim")
        self._noted = True
        self.console.print(line, no_wrap=True, overflow="ellipsis")

    def _draw(self) -> None:
        if self._live is None:
            return
        tail: list[RenderableType] = []
        if self._text.strip():
            # Only the end: a region higher than the screen cannot be redrawn.
            lines = self._text.splitlines()
            tail += [Line()] if self._blocks or self._noted else []
            tail.append(_Tight("\n".join(lines[-max(4, self.console.height - 6) :])))
        doing = list(self._busy.values())
        label = one_line("; ".join(doing)) if doing else ("" if self._text else self._waiting)
        if doing and self._waiting != "thinking":
            label = f"{label}  ({self._waiting})"
        if label:
            tail.append(Spinner("dots", text=Line(label, style="dim", no_wrap=True, overflow="ellipsis")))
        self._live.update(Group(*tail))


def _words(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _words(each)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


class _Tight:
    """Markdown without the empty lines that tables and code put around themselves: blocks are one line apart."""

    def __init__(self, text: str) -> None:
        # A link is shown with its target: a terminal's own links would show only the words that the text chose.
        self._markdown = Markdown(text, hyperlinks=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._markdown, options, pad=False)
        full = [number for number, line in enumerate(lines) if any(segment.text.strip() for segment in line)]
        for line in lines[full[0] : full[-1] + 1] if full else ():
            yield from line
            yield Segment.line()


def _brief(tool: str, arguments: str, most: int = 48) -> str:
    """The values of a call, as far as they fit."""
    try:
        given = json.loads(arguments or "{}")
        text = " ".join(_words(given.get(_TELLING[tool], "") if tool in _TELLING and isinstance(given, dict) else given))
    except ValueError:
        text = arguments
    text = one_line(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
