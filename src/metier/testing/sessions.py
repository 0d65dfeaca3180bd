"""What tests of a session are built with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from metier.runtime import Event

__all__ = ["Recorder", "Ticking", "skill_folder"]

E = TypeVar("E", bound=Event)


class Recorder:
    """A subscriber that keeps what it was told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


class Ticking:
    """A clock that moves on by one second whenever it is asked."""

    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def skill_folder(
    root: str | Path, name: str, *, head: str = "", body: str = "Do it.\n", files: Mapping[str, str | bytes] | None = None
) -> Path:
    """A skill on disk. `head` holds more lines of frontmatter, `files` its other files by path."""
    folder = Path(root) / name
    folder.mkdir(parents=True, exist_ok=True)
    more = head.strip("\n") + "\n" if head.strip() else ""
    text = f"---\nname: {name}\ndescription: Does {name}. Use when asked for {name}.\n{more}---\n\n{body}"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    for path, content in (files or {}).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
