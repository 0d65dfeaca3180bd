"""The observation of a skill: its steps with what each did, what left the run, and what could not be observed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from enum import StrEnum

from metier.values import dataclass, field

from .canaries import MadeUpHome
from .sinkhole import Exchange
from .steps import SkillSources, Step

__all__ = ["Deed", "DeedKind", "ObservedRun", "SkillObservation", "read_records"]


class DeedKind(StrEnum):
    READ = "read"
    WRITE = "write"
    REMOVE = "remove"
    EXEC = "exec"
    CONNECT = "connect"
    SEND = "send"
    UNIX = "unix"
    SLEEP = "sleep"
    STAGE = "stage"
    """A program from the sinkhole was run; the path is the number of its download."""
    PACKAGE = "package"
    """A package that is not installed was replaced by a stand-in."""
    SIGNAL = "signal"
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"
    OWN = "own"
    """A file of the skill itself was changed."""
    DATAGRAM = "datagram"
    ENDED = "ended"
    SKIPPED = "skipped"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One record of a run."""

    kind: DeedKind
    step: int
    """The number of the step; -1 for what concerns the whole run."""
    path: str = ""
    by: str = ""
    """The program that did it."""
    words: tuple[str, ...] = ()
    host: str = ""
    port: int = 0
    data: bytes = b""
    seconds: float = 0
    output: str = ""
    status: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRun:
    """One run of all steps, in one surrounding."""

    name: str
    """The surroundings: `desktop` or `ci`."""
    deeds: tuple[Deed, ...]
    exchanges: tuple[Exchange, ...]
    is_complete: bool
    """The recorder lived to the end."""
    seconds: float
    cpu: float = 0
    """Seconds of processor time of the steps and of their recorder."""
    names: dict[str, str] = field(default_factory=dict)
    """Names by address."""

    def of(self, *kinds: DeedKind) -> tuple[Deed, ...]:
        return tuple(deed for deed in self.deeds if deed.kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillObservation:
    sources: SkillSources
    steps: tuple[Step, ...]
    home: MadeUpHome
    runs: tuple[ObservedRun, ...]
    missing: tuple[str, ...] = field(default=())
    """Interpreters that this machine does not have."""


def read_records(text: str) -> tuple[Deed, ...]:
    """Reads the lines that the driver wrote. A broken line, such as a last one cut short, is left out."""
    return tuple(deed for line in text.splitlines() if (deed := _deed(line)))


def _deed(line: str) -> Deed | None:
    try:
        row = json.loads(line)
        kind = DeedKind(row["kind"])
    except (ValueError, KeyError, TypeError):
        return None
    data = row.get("data", "")
    return Deed(
        kind=kind, step=row["step"], path=_plain(row.get("path", "")), by=row.get("by", ""), words=tuple(row.get("words", ())),
        host=row.get("host", ""), port=row.get("port", 0), seconds=row.get("seconds", 0), output=row.get("output", ""),
        status=row.get("status"), note=row.get("stopped") or row.get("why") or "",
        data=base64.b64decode(data) if kind is DeedKind.DATAGRAM else data.encode(),
    )  # fmt: skip


def _plain(path: str) -> str:
    """The home has two names where /home is a link."""
    return path.removeprefix("/tmp") if path.startswith("/tmp/home/") else path  # noqa: S108  inside the run


def programs_of(deeds: Iterable[Deed]) -> tuple[str, ...]:
    """Returns the programs that were started, by name, each once."""
    return tuple(dict.fromkeys(deed.path.rsplit("/", 1)[-1] for deed in deeds if deed.kind is DeedKind.EXEC))
