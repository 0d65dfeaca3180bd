"""Writes starter files into skills: `metier skill eval --init` and `metier skill test --init`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from metier.app import App
from metier.catalog import Entry
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entries_named
from metier.cli.core.terminal import Terminal, one_line, shorten
from metier.errors import ConflictError
from metier.sources import refuse_bundled, replace_bytes

__all__ = ["write_starters"]


def write_starters(app: App, targets: Sequence[str], path: str, starter: Callable[[Entry], str], *, then: str) -> Result:
    """Writes the file into each skill. Raises before the first one is written if a skill has it already."""
    entries = entries_named(app, targets)
    command = f"metier skill {then} {' '.join(targets)}".strip()
    texts = {}
    for entry in entries:
        refuse_bundled(entry.folder)
        file = os.path.join(entry.folder, path)
        if os.path.lexists(file):
            raise ConflictError(f"{file} already exists", hint=f"edit it, then run `{command}`")
        texts[file] = starter(entry)
    for file, text in texts.items():
        replace_bytes(file, text.encode(), mode=0o644, inside=app.paths.inside(file))

    def lines(terminal: Terminal) -> Iterator[str]:
        for file in texts:
            yield f"{terminal.paint('✓', 'green')} Created {one_line(shorten(file, app.paths.user_home))}"
        yield f"Next: edit {'it' if len(texts) == 1 else 'them'}, then `{one_line(command)}`"

    return Result(data={"files": list(texts)}, lines=lines)
