"""The one place that prints errors and ends the process.

The first lines answer what needs no command at all (`--version`, `--help`, a listing that has not changed) before any
library is imported: a start of Python costs 12 ms, and these answers must not cost a second one.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_UNWRITTEN = 1
_INTERRUPTED = 130
_PIPE_CLOSED = 141
_YOUNG_OBJECTS = 50_000


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        # The process is ours, and what a start makes is kept: looking through it for rubbish every 700 objects finds none.
        gc.set_threshold(_YOUNG_OBJECTS)
    _open_closed_streams()
    try:
        status = _answer_at_once(words)
        if status is None:
            status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has gone, as `head` does.
        _let_go_of_stdout()
        return _PIPE_CLOSED
    except OSError as error:
        # The answer has nowhere to go, as on a full disk.
        _let_go_of_stdout()
        reason = (error.strerror or "error").lower()
        sys.stderr.write(f"error: the answer could not be written: {reason}\nhint: free some space, or write it elsewhere\n")
        return _UNWRITTEN
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return _INTERRUPTED
    finally:
        if argv is None:
            # Nor does the process end sooner for having looked once more.
            gc.freeze()
    return status


def _open_closed_streams() -> None:
    """Whoever starts us may have closed any of the three; Python then has None there, and the next file takes the number."""
    for name, flags in (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), "r" if name == "stdin" else "w", encoding="utf-8"))


def _let_go_of_stdout() -> None:
    # Python would complain again when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer_at_once(words: list[str]) -> int | None:
    if "_METIER_COMPLETE" in os.environ:
        return None
    if words == ["--version"]:
        from metier import __version__

        sys.stdout.write(f"metier {__version__}\n")
        return 0
    if not words or words in (["--help"], ["-h"]):
        from .core.commands import usage

        sys.stdout.write(usage("") + "\n")
        return 0
    if words[:2] == ["skill", "list"]:
        from .core.listing_cache import answer

        return answer(words)
    return None


def _run(words: list[str]) -> int:
    from .core.dispatch import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
