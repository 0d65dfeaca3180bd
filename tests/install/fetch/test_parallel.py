from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from builders import python
from metier.errors import UnavailableError
from metier.install.fetch.parallel import run_parallel


def test_results_are_in_the_order_of_the_inputs() -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.05 if number == 0 else 0)
        return number * 2

    assert run_parallel(slow_first, range(9), workers=4, cancelled=threading.Event()) == [number * 2 for number in range(9)]
    assert run_parallel(slow_first, [], workers=4, cancelled=threading.Event()) == []


def test_no_more_run_at_once_than_there_are_workers() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def count(_number: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    run_parallel(count, range(20), workers=3, cancelled=threading.Event())
    assert most == 3


def test_the_first_error_of_several_is_raised_after_all_have_ended() -> None:
    ended: list[int] = []

    def fail(number: int) -> None:
        time.sleep(0.02 * (3 - number))
        ended.append(number)
        if number:
            raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        run_parallel(fail, range(3), workers=3, cancelled=threading.Event())
    assert sorted(ended) == [0, 1, 2]


def test_after_an_interrupt_nothing_more_is_started() -> None:
    over, started = threading.Event(), list[int]()
    over.set()
    with pytest.raises(UnavailableError, match="interrupted"):
        run_parallel(started.append, range(4), workers=2, cancelled=over)
    assert started == []


def test_ctrl_c_does_not_wait_for_threads_that_hang(tmp_path: Path) -> None:
    code = """
        import os, sys, threading, time
        from metier.install.fetch.parallel import run_parallel
        over = threading.Event()

        def hang(_number):
            os.write(1, b"begun\\n")
            time.sleep(600)

        try:
            run_parallel(hang, range(4), workers=4, cancelled=over)
        except KeyboardInterrupt:
            print(over.is_set(), flush=True)
            sys.exit(130)
    """
    process = python(code, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "begun"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, out.split()[-1]) == (130, "True")
