"""The store of agents: `NAME/agent.toml` is the current version, `NAME/versions/NNNN.toml` are all versions.

A version is never changed. Every change holds a lock from reading to writing, so two concurrent changes become two versions,
the second on top of the first. The version is written before `agent.toml`: if a process dies in between, the change is made,
and the next process updates `agent.toml`. An edit of `agent.toml` by hand becomes a version on the next read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from metier.errors import ConfigError, ConflictError, NotFoundError, nearest
from metier.sources import file_lock, make_private_folder, read_regular, replace_text
from metier.values import replace

from .agent import Agent, AgentVersion, parse_version, render_version

__all__ = ["AgentStore"]

_FILE = re.compile(r"(\d{4,9})\.toml")


def _now() -> datetime:
    return datetime.now(UTC)


class AgentStore:
    def __init__(self, folder: str | os.PathLike[str], *, clock: Callable[[], datetime] = _now) -> None:
        self.folder = Path(folder)
        self._clock = clock

    def names(self) -> tuple[str, ...]:
        try:
            folders = sorted(each.name for each in os.scandir(self.folder) if each.is_dir())
        except FileNotFoundError:
            return ()
        return tuple(name for name in folders if self._numbers(name) or self._file(name).exists())

    def get(self, name: str, number: int | None = None) -> AgentVersion:
        """The current version of an agent, or the one with this number."""
        self._check_exists(name)
        if number is not None:
            return self._version(name, number)
        with self._lock(name):
            return self._current(name)

    def history(self, name: str) -> tuple[AgentVersion, ...]:
        """Every version, the newest first."""
        self.get(name)
        return tuple(self._version(name, number) for number in reversed(self._numbers(name)))

    def create(self, agent: Agent, *, change: str = "created") -> AgentVersion:
        with self._lock(agent.name):
            if self._numbers(agent.name) or self._file(agent.name).exists():
                raise ConflictError(
                    f"agent {agent.name!r} exists already", hint=f"change it with `metier agent edit {agent.name}`"
                )
            return self._add(agent, change, number=1)

    def change(self, name: str, edit: Callable[[Agent], Agent], *, change: str) -> AgentVersion:
        """The result of `edit` becomes the next version. Nothing is written if it changes nothing."""
        self._check_exists(name)
        with self._lock(name):
            current = self._current(name)
            agent = replace(edit(current.agent), name=name)
            return current if agent == current.agent else self._add(agent, change, number=current.number + 1)

    def save(self, base: AgentVersion, edited: Agent, *, change: str) -> AgentVersion:
        """Applies the fields that were edited since `base` to the current version.

        Raises ConflictError if the same field was changed meanwhile; then nothing is written.
        """

        def merged(current: Agent) -> Agent:
            mine = _changed_fields(base.agent, edited)
            theirs = _changed_fields(base.agent, current)
            both = [name for name in mine if name in theirs and getattr(edited, name) != getattr(current, name)]
            if both:
                raise ConflictError(
                    f"{' and '.join(both)} of agent {base.agent.name!r} changed in the meantime",
                    hint=f"see `metier agent diff {base.agent.name} {base.number}`, then repeat your change",
                )
            return replace(current, **{name: getattr(edited, name) for name in mine})

        return self.change(base.agent.name, merged, change=change)

    def rollback(self, name: str, number: int) -> AgentVersion:
        """Restores an earlier version as a new version."""
        self._check_exists(name)
        wanted = self._version(name, number).agent
        return self.change(name, lambda _: wanted, change=f"rolled back to version {number}")

    def import_versions(self, versions: Sequence[AgentVersion], *, force: bool = False) -> AgentVersion:
        """Imports an agent with the given versions, oldest first. With `force`, the last one is added to an existing agent."""
        agent = versions[-1].agent
        with self._lock(agent.name):
            exists = bool(self._numbers(agent.name)) or self._file(agent.name).exists()
            if exists and not force:
                raise ConflictError(
                    f"agent {agent.name!r} exists already", hint="use --name to import it under another name, or --force"
                )
            if exists:
                number = self._current(agent.name).number
                return self._add(agent, "imported", number=number + 1)
            for number, version in enumerate(versions[:-1], start=1):
                self._write(replace(version, number=number))
            return self._add(agent, versions[-1].change or "imported", number=len(versions))

    def delete(self, name: str) -> None:
        """Deletes the agent and all of its versions."""
        self._check_exists(name)
        with self._lock(name):
            shutil.rmtree(self.folder / name)

    def _check_exists(self, name: str) -> None:
        if name not in self.names():
            near = nearest(name, self.names())
            hint = f"did you mean {near!r}?" if near else "see `metier agent list`, or create one with `metier agent create`"
            raise NotFoundError(f"unknown agent {name!r}", hint=hint)

    def _lock(self, name: str) -> AbstractContextManager[None]:
        # Beside the folder, not in it: a deleted agent has no folder to wait in.
        return file_lock(str(self.folder / f".{name}"))

    def _current(self, name: str) -> AgentVersion:
        """The newest version. Updates `agent.toml` if it is older, after a crash; an edit by hand becomes a version."""
        numbers = self._numbers(name)
        newest = self._version(name, numbers[-1]) if numbers else None
        try:
            kept = parse_version(read_regular(self._file(name)).decode(), file=str(self._file(name)))
        except FileNotFoundError:
            kept = None
        except UnicodeDecodeError as error:
            raise ConfigError("not UTF-8 text", file=str(self._file(name)), hint="save the file as UTF-8") from error
        if newest is None:
            if kept is None:
                raise NotFoundError(f"unknown agent {name!r}", hint="see `metier agent list`")
            return self._add(replace(kept.agent, name=name), "written by hand", number=1)
        if kept is None or kept.number < newest.number:
            replace_text(str(self._file(name)), render_version(newest))
            return newest
        if kept.agent != newest.agent:
            return self._add(replace(kept.agent, name=name), "edited by hand", number=newest.number + 1)
        return newest

    def _add(self, agent: Agent, change: str, *, number: int) -> AgentVersion:
        version = AgentVersion(number=number, created=self._clock().replace(microsecond=0), change=change, agent=agent)
        self._write(version)
        replace_text(str(self._file(agent.name)), render_version(version))
        return version

    def _write(self, version: AgentVersion) -> None:
        folder = self.folder / version.agent.name / "versions"
        make_private_folder(str(folder))
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(render_version(version))
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o400)
            # A link and not a rename, which would overwrite an existing version.
            os.link(temporary, folder / f"{version.number:04}.toml")
        finally:
            os.unlink(temporary)

    def _version(self, name: str, number: int) -> AgentVersion:
        file = self.folder / name / "versions" / f"{number:04}.toml"
        try:
            return parse_version(read_regular(file).decode(), file=str(file))
        except FileNotFoundError:
            numbers = self._numbers(name)
            hint = f"it has versions 1 to {numbers[-1]}" if numbers else "it has no versions"
            raise NotFoundError(f"agent {name!r} has no version {number}", hint=hint) from None

    def _numbers(self, name: str) -> list[int]:
        try:
            files = os.listdir(self.folder / name / "versions")
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(match[1]) for file in files if (match := _FILE.fullmatch(file)))

    def _file(self, name: str) -> Path:
        return self.folder / name / "agent.toml"


def _changed_fields(before: Agent, after: Agent) -> list[str]:
    return [each.name for each in fields(Agent) if getattr(before, each.name) != getattr(after, each.name)]
