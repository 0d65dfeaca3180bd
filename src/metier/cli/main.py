"""The entry point of the command line.

`--version`, `--help`, a listing that has not changed and prompt hooks are answered before any other library is imported:
importing click takes longer than starting Python.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from .core.commands import expand_words, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_NOT_WRITTEN = 1
_INTERRUPTED = 130
_PIPE_CLOSED = 141
_YOUNG_OBJECTS = 50_000


def main(argv: Sequence[str] | None = None) -> int:
    words = expand_words(list(sys.argv[1:] if argv is None else argv))
    if argv is None:
        # A short process keeps nearly all of its objects; frequent collections find nothing to free.
        gc.set_threshold(_YOUNG_OBJECTS)
    _open_closed_streams()
    try:
        status = _answer_without_click(words)
        if status is None:
            status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does.
        _discard_stdout()
        return _PIPE_CLOSED
    except OSError as error:
        # The output cannot be written, as on a full disk.
        _discard_stdout()
        reason = (error.strerror or "error").lower()
        sys.stderr.write(f"error: the output could not be written: {reason}\nhint: free some space, or write it elsewhere\n")
        return _NOT_WRITTEN
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return _INTERRUPTED
    finally:
        if argv is None:
            # Nothing needs to be collected at exit.
            gc.freeze()
    if argv is None and "obstore" in sys.modules:
        _end_process(status)
    return status


def _end_process(status: int) -> None:
    """Ends the process after its exit functions, without Python's own finalisation.

    Threads of the object store's library may still call Python then, which aborted 2 of 100 runs of `metier registry gc`.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - the only way to run them before `os._exit`
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _open_closed_streams() -> None:
    """Opens /dev/null for each standard stream that the parent process closed; Python has None there."""
    for name, flags in (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), "r" if name == "stdin" else "w", encoding="utf-8"))


def _discard_stdout() -> None:
    # Otherwise Python reports the error again when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer_without_click(words: list[str]) -> int | None:
    if "_METIER_COMPLETE" in os.environ:
        return None
    if words in (["--version"], ["-V"]):
        from metier import __version__

        sys.stdout.write(f"metier {__version__}\n")
        return 0
    if not words or words in (["--help"], ["-h"]):
        sys.stdout.write(usage("") + "\n")
        return 0
    if words[:2] == ["skill", "list"]:
        from .core.listing_cache import print_cached_listing

        return print_cached_listing(words)
    if words[:2] == ["hook", "run"] and "--help" not in words:
        from .hook.hook_process import run_hook

        return run_hook(words[2:])
    return None


def _run(words: list[str]) -> int:
    from .core.dispatch import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
