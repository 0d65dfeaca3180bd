"""The skills of a prompt section inside an agent's workspace, for as long as a prompt runs.

The agent reads the files with its own tools. The dispatcher of its session reports each tool call, and a call that reads a
SKILL.md is the activation of that skill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, Protocol

from metier.sources import DiskFiles
from metier.spec import MAX_RESOURCE_BYTES, SKILL_FILE, OwnFiles

from .skills_folder import SkillsFolder

__all__ = ["SectionMount", "write_skill"]

_WRITERS = ("write", "edit", "multiedit", "notebookedit")


class _Dispatcher(Protocol):
    """The part of weakincentives' dispatcher that is used."""

    def subscribe(self, event_type: type[object], handler: Callable[[Any], None]) -> object: ...

    def unsubscribe(self, event_type: type[object], handler: Callable[[Any], None]) -> bool: ...


class _Filesystem(Protocol):
    def write_bytes(self, path: str, content: bytes) -> object: ...


class SectionMount:
    """A resource of a prompt: the package opens it before the agent starts and closes it at the end."""

    def __init__(
        self, locations: Mapping[str, str], *, folder: SkillsFolder | None, on_read: Callable[[str, datetime], None]
    ) -> None:
        """`locations` maps a skill's name to its folder in the workspace; `on_read` gets the name and the time.

        `folder` holds the files if the workspace is on disk.
        """
        self.folder = folder
        self._locations = locations
        self._on_read = on_read
        self._unsubscribe: Callable[[], object] = lambda: None

    def listen(self, dispatcher: _Dispatcher, event_type: type[object]) -> None:
        dispatcher.subscribe(event_type, self._tool_was_called)
        self._unsubscribe = lambda: dispatcher.unsubscribe(event_type, self._tool_was_called)

    def close(self) -> None:
        self._unsubscribe()
        if self.folder is not None:
            self.folder.close()

    def _tool_was_called(self, call: Any) -> None:
        # Any: an event of weakincentives.
        if str(call.name).lower() in _WRITERS:
            return
        said = tuple(_texts(call.params))
        for name, location in self._locations.items():
            if any(f"{location}/{SKILL_FILE}" in text for text in said):
                self._on_read(name, call.created_at)


def write_skill(filesystem: _Filesystem, folder: str, location: str) -> None:
    """Writes the files of a skill into a workspace that is not on disk."""
    files = DiskFiles(folder)
    for file in OwnFiles(files).list():
        filesystem.write_bytes(f"{location}/{file.path}", files.read(file.path, limit=MAX_RESOURCE_BYTES))


def _texts(params: object) -> Iterator[str]:
    """Yields the texts among the arguments of a tool: a path, or a command that holds one."""
    if is_dataclass(params) and not isinstance(params, type):
        params = asdict(params)
    values: Iterable[object] = params.values() if isinstance(params, Mapping) else (params,)
    yield from (value for value in values if isinstance(value, str))
