"""The scan of skills in a process beside us, while we write them where nobody looks yet.

Its verdict is waited for where it decides. What a scan says depends on the skill alone, so a process that cannot be started, or
dies, costs time and no verdict: then the skills are scanned here.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

from metier.values import dataclass, replace

from .prepare import PreparedSkill
from .protocols import Scan

if TYPE_CHECKING:
    from metier.scan import ScanReport

__all__ = ["scanned_aside"]

_ALL_FINE = b"."


@contextmanager
def scanned_aside(skills: Sequence[PreparedSkill], scan: Scan) -> Iterator[list[PreparedSkill]]:
    """The same skills, whose verdicts come when they are asked for. The process ends with the block, however that ends."""
    scanner = _Scanner(tuple(skills), scan)
    try:
        yield [replace(skill, judged=partial(scanner.verdict, number)) for number, skill in enumerate(skills)]
    finally:
        scanner.end()


def _can_fork() -> bool:
    # Not beside other threads, whose locks a child would inherit and never see opened; nor where two take turns anyway.
    return sys.platform == "linux" and threading.active_count() == 1 and len(os.sched_getaffinity(0)) > 1


class _Scanner:
    def __init__(self, skills: tuple[PreparedSkill, ...], scan: Scan) -> None:
        self.skills, self.scan = skills, scan
        self._process: _Process | None = None
        if _can_fork():
            with suppress(OSError):
                self._process = _started(skills, scan)

    def verdict(self, number: int) -> ScanReport | None:
        return self._verdicts[number]

    @cached_property
    def _verdicts(self) -> Sequence[ScanReport | None]:
        said = self._process.answer() if self._process else b""
        if said == _ALL_FINE:
            return [None] * len(self.skills)
        if said:
            # Imported here: most skills are fine.
            import pickle

            found: Sequence[ScanReport | None] = pickle.loads(said)  # noqa: S301 - by our own child, through our own pipe
            return found
        return _all_scanned(self.skills, self.scan)

    def end(self) -> None:
        if self._process:
            self._process.end()


@dataclass(slots=True)
class _Process:
    pid: int
    pipe: int
    """Where it answers; -1 once it has."""

    def answer(self) -> bytes:
        """All that it says; nothing if it did not come to its end."""
        parts = []
        while part := os.read(self.pipe, 1 << 16):
            parts.append(part)
        return b"".join(parts) if self._ended() == 0 else b""

    def end(self) -> None:
        if self.pipe >= 0:
            os.kill(self.pid, signal.SIGKILL)
            self._ended()

    def _ended(self) -> int:
        os.close(self.pipe)
        self.pipe = -1
        return os.waitpid(self.pid, 0)[1]


def _started(skills: tuple[PreparedSkill, ...], scan: Scan) -> _Process:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Process(pid, reading)
    status = 1
    try:
        # Ctrl-C is for our parent to tell.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(reading)
        verdicts = _all_scanned(skills, scan)
        _say(writing, verdicts)
        status = 0
    finally:
        # Nothing of what our parent has begun is ours to finish, and no mistake ours to report: it will make the same one.
        os._exit(status)


def _say(pipe: int, verdicts: Sequence[ScanReport | None]) -> None:
    said = _ALL_FINE
    if any(one is not None and one.verdict != "pass" for one in verdicts):
        import pickle

        said = pickle.dumps(verdicts)
    view = memoryview(said)
    while view:
        view = view[os.write(pipe, view) :]


def _all_scanned(skills: Sequence[PreparedSkill], scan: Scan) -> list[ScanReport | None]:
    return [scan(skill.files, folder=skill.name) for skill in skills]
