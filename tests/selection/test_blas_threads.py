from __future__ import annotations

import threading

import pytest

from metier.selection import blas_threads
from metier.selection.blas_threads import one_thread


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that were set, of which the last counts."""
    changes = [4]
    monkeypatch.setattr(blas_threads, "_switch", lambda: (lambda: changes[-1], changes.append))
    return changes


def test_the_number_of_threads_is_restored(threads: list[int]) -> None:
    with one_thread():
        assert threads == [4, 1]
    assert threads == [4, 1, 4]


def test_the_last_of_two_restores_it(threads: list[int]) -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            entered.set()
            leave.wait(10)

    with one_thread():
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(10)
    assert threads == [4, 1]
    leave.set()
    thread.join()
    assert threads == [4, 1, 4]


def test_an_error_restores_it(threads: list[int]) -> None:
    with pytest.raises(ValueError, match="wrong"), one_thread():
        raise ValueError("wrong")
    assert threads == [4, 1, 4]


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_threads, "_switch", lambda: None)
    with one_thread():
        pass


def test_numpys_own_library_is_switched() -> None:
    switch = blas_threads._switch()
    if switch is not None:
        before = switch[0]()
        with one_thread():
            assert switch[0]() == 1
        assert switch[0]() == before
