"""One thread for the products of the sentence model.

They are so small that a second thread saves little on an idle machine, and on a busy one waiting for it takes five times the
work itself. numpy has no switch for this, so we call that of the OpenBLAS in its wheels. With another library (Accelerate, a
distribution's own) nothing changes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

__all__ = ["one_thread"]

_lock = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """The number of threads belongs to the process: the last to leave restores it."""
    global _inside, _before
    switch = _switch()
    if switch is None:
        yield
        return
    count, change = switch
    with _lock:
        if not _inside:
            _before = count()
            change(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                change(_before)


@cache
def _switch() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Returns the functions of numpy's own OpenBLAS that read and change the number of threads."""
    try:
        # A symbol is also looked up in the libraries that this one was linked with.
        library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__ or "")
        return library.scipy_openblas_get_num_threads64_, library.scipy_openblas_set_num_threads64_
    except (ImportError, OSError, AttributeError):
        return None
