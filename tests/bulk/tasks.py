"""Functions that the tests of bulk work run in workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from metier.errors import RefusedError

__all__ = ["die", "die_once", "refuse_three", "slow_square", "square"]


def square(number: int) -> int:
    return number * number


def slow_square(number: int) -> int:
    time.sleep(0.05)
    return number * number


def refuse_three(number: int) -> int:
    if number == 3:
        raise RefusedError("three is refused", rule="three", hint="use another number")
    return number if number != 4 else 1 // 0


def die_once(marker: str) -> str:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def die(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number
