"""A worker process: reads jobs from its standard input, and writes their results to its standard output.

The kernel ends it when a job has used its processor time (SIGPROF) or ten times that in real time (SIGALRM). Memory is
limited for the whole process. It ends when its parent does, because its input ends then.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import struct
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from metier.errors import MetierError

__all__ = ["FRAME", "main"]

FRAME = struct.Struct(">Q")
_REAL_TIME = 10
_SETTLE_SECONDS = 10
_LARGE_BYTES = 256 * 1024 * 1024


def main(memory_bytes: int, niceness: int = 0) -> None:
    os.nice(niceness)
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Nothing that a library prints may end up between the answers.
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    while head := jobs.read(FRAME.size):
        answer = _run(jobs, FRAME.unpack(head)[0])
        answers.write(FRAME.pack(len(answer)))
        answers.write(answer)
        answers.flush()


def _run(jobs: BinaryIO, size: int) -> bytes:
    # The function's module is imported here, before its time starts.
    function, arguments, seconds = pickle.loads(jobs.read(size))  # noqa: S301  (from the parent process)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _REAL_TIME + _SETTLE_SECONDS)
    try:
        return _answer(function, arguments)
    except MemoryError:
        return pickle.dumps(("memory", None, True))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:  # Any: depends on the job
    try:
        kind, value = "done", function(*arguments)
    except MemoryError:
        raise
    except MetierError as error:
        # Its arguments are keywords, which pickle does not keep.
        kind, value = "refused", (type(error), error.args, error.__dict__)
    except Exception:  # reported by the parent
        kind, value = "failed", traceback.format_exc()
    gc.collect()
    # What is left are modules and caches. The next collection skips them, or it would take longer than the job.
    gc.freeze()
    return pickle.dumps((kind, value, _used_bytes() > _LARGE_BYTES))


def _used_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize()
    except OSError:
        # Not Linux, whose maximum also counts what the parent used before this process started.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
