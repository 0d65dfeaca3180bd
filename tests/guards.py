"""Guards against tests that hang, and the only places in the suite that read a clock.

A test never asserts how long something took: on a busy machine that fails for no reason. It waits for a condition with
`eventually`, or bounds the work of a function with `within_cpu_limit`, which counts the processor time of that function alone.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable
from typing import ParamSpec

__all__ = ["eventually", "within_cpu_limit"]

P = ParamSpec("P")
_PATIENCE = 120.0


def eventually(condition: Callable[[], object], what: str, *, patience: float = _PATIENCE) -> None:
    """Returns once the condition holds; fails, naming `what`, after far longer than it takes on a busy machine."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"timed out after {patience:.0f} s: {what}"
        time.sleep(0.01)


def within_cpu_limit(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Runs the function in a process that the kernel ends after 20 s of processor time.

    Give it an input that takes a fraction of a second if the work is linear in its size, and minutes if it is not.
    """
    child = multiprocessing.get_context("fork").Process(target=_limited, args=(function, args, kwargs))
    with warnings.catch_warnings():
        # Python 3.12 warns of forks beside threads; the child only computes.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    child.join(_PATIENCE * 10)
    assert child.exitcode == 0, f"{function} took over 20 s of processor time, or failed (exit code {child.exitcode})"


def _limited(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + 20, used + 25))
    function(*args, **kwargs)
