"""Waits for data on sockets and pipes, also in a process with thousands of open files, which `select.select` cannot do."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Protocol, TypeVar

__all__ = ["wait_readable"]


class _Open(Protocol):
    def fileno(self) -> int: ...


F = TypeVar("F", bound="int | _Open")


def wait_readable(files: Sequence[F], seconds: float | None = None) -> list[F]:
    """Returns the files that can be read or have ended; none once the time is over."""
    by_number = {each if isinstance(each, int) else each.fileno(): each for each in files}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)]
