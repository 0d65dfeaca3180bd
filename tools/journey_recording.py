"""Records parts of journeys as pictures: what a person types, and what the real program shows, with its colours.

    .venv/bin/python -m tools.journey_recording [install] [write-skills] [registry]

The whole page of tests/journeys is typed into a shell on a pseudo-terminal; the steps from `first` to `last` are drawn.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from journeys.conftest import open_terminal  # noqa: E402 - the tests are no package of this environment
from journeys.transcript import ShellTerminal, read_blocks, read_steps  # noqa: E402

COLUMNS = 124
LONGEST = 24
"""Lines of one command; the rest is shown as `…`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    journey: str
    first: str
    """The beginning of the first command that is drawn."""
    last: str
    title: str


RECORDINGS = {
    "install": Recording(
        journey="user", first="metier skill try ./shop --skill charts", last="metier list", title="install for three agents"
    ),
    "write-skills": Recording(
        journey="author", first="metier new", last="metier skill scan", title="from an idea to a skill that works"
    ),
    "registry": Recording(
        journey="team", first="metier login $URL --token $TOKEN", last="metier search tide", title="a registry for a team"
    ),
}  # fmt: skip


def main() -> None:
    for name in sys.argv[1:] or RECORDINGS:
        recording = RECORDINGS[name]
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
        with open_terminal(Path(sys.executable).parent, {}, columns=COLUMNS) as terminal:
            for text in _steps(recording, terminal):
                console.print(text)
        (ROOT / "docs" / f"journey-{name}.svg").write_text(
            console.export_svg(title=f"metier: {recording.title}"), encoding="utf-8"
        )
        print(f"wrote docs/journey-{name}.svg")


def _steps(recording: Recording, terminal: ShellTerminal) -> Iterator[Text]:
    """Types the page up to the last step of the recording; yields the steps that are drawn."""
    drawn = False
    for language, block in read_blocks(ROOT / "tests" / "journeys" / f"{recording.journey}.md"):
        if language != "console":
            terminal.write_file(language.removeprefix("file "), block)
            continue
        for command, expected in read_steps(block):
            terminal.enter(command, re.sub(r"^\(exit \d+\)\n?", "", expected, flags=re.MULTILINE))
            drawn = drawn or command.startswith(recording.first)
            if drawn:
                yield Text.assemble(("$ ", "bold green"), (command, "bold"))
                yield from _output(terminal)
            if drawn and command.startswith(recording.last):
                return


def _output(terminal: ShellTerminal) -> Iterator[Text]:
    lines = terminal.styled_lines()
    home = str(terminal.folder)
    for line in lines[:LONGEST]:
        yield Text("~").join(line.split(home)) if home in line.plain else line
    if len(lines) > LONGEST:
        yield Text("…", style="dim")
    yield Text("")


if __name__ == "__main__":
    main()
