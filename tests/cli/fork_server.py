"""One Python that has imported everything, and makes a child of itself for each command line it is sent.

Starting Python and importing metier takes a tenth of a second, a fork a hundredth. A child has its own environment, folder and
streams, so what runs in it is the whole program from `main` to its exit code. What depends on how Python itself starts
(locale, closed streams, signals, terminals) is tested with real starts, in `Shell.start` and `Shell.terminal`.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import traceback
from importlib import import_module, util
from typing import Any


def serve() -> None:
    _warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        if "METIER_MODEL_NAME" in request["environment"]:
            # A model's client takes a while, which only the tests that ask one should pay, and once.
            import genai_prices  # noqa: F401
            import httpx2  # noqa: F401

            import metier.models.chat_completions  # noqa: F401
        child = os.fork()
        if child == 0:
            os._exit(_run(request))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _warm_up() -> None:
    from metier.cli.core.commands import GROUPS

    modules = {module.partition(":")[0] for rows in GROUPS.values() for module, _ in rows.values() if module}
    for name in (
        *modules,
        "metier.cli.main",
        "metier.cli.core.dispatch",
        "metier.cli.core.listing_cache",
        "sqlite3",
        "zlib",
        "tomlkit",
        "tomllib",
    ):
        if util.find_spec(name):
            try:
                import_module(name)
            except ImportError:
                # A command that cannot be imported fails in the test that calls it.
                continue
    # What a package imports on first use, and many commands then need.
    for package, name in (
        ("metier.install", "install"),
        ("metier.runtime", "Runner"),
        ("metier.scan", "scan"),
        ("metier.selection", "Selector"),
        ("metier.evals", "run_skill_tests"),
    ):
        getattr(import_module(package), name)


def _run(request: dict[str, Any]) -> int:
    try:
        # A command that hangs is ended by SIGALRM, which shows as its exit code.
        signal.alarm(request["seconds"])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
            flags = os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(request[name], flags, 0o600), number)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
        sys.argv = ["metier", *request["words"]]

        from metier.cli.main import main

        status = main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    # `os._exit` leaves them out, and telemetry is sent by one of them.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    serve()
