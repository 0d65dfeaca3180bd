"""The Pythons of this machine, to lock and build packages for one of them. None is downloaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator

from metier.errors import UnavailableError
from metier.sources import safe_environment
from metier.values import dataclass

__all__ = ["Python", "choose_python", "find_python"]

_NEWEST = 20
_OLDEST = 8
_QUERY = (
    "import sys,json,sysconfig;print(json.dumps([sys.executable,list(sys.version_info[:3]),sys.implementation.name,"
    "bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    executable: str
    version: tuple[int, ...]

    @property
    def minor(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"


def choose_python(requires: str, which: Callable[[str], str | None]) -> Python:
    """Returns the Python that scripts run with, or another one that fits. Raises UnavailableError if none does."""
    seen: list[str] = []
    for python in _candidates(which):
        if satisfies(python.version, requires):
            return python
        seen.append(".".join(map(str, python.version)))
    if not seen:
        raise UnavailableError("the script needs Python, which is not installed", hint="install Python 3", retryable=False)
    raise UnavailableError(
        f"the script needs Python {requires}; this machine has {', '.join(dict.fromkeys(seen))}",
        hint=f"install a Python that is {requires}, and put it on PATH",
        retryable=False,
    )


def find_python(minor: str, which: Callable[[str], str | None], *, skill: str) -> Python:
    """Returns a Python of this version. Raises UnavailableError if there is none; `skill` is the name for its hint."""
    for python in _candidates(which, minor):
        if python.minor == minor:
            return python
    raise UnavailableError(
        f"the packages are locked for Python {minor}, which is not installed",
        hint=f"install Python {minor}, or lock them for another one: `metier skill prepare {skill} --upgrade`",
        retryable=False,
    )


def satisfies(version: tuple[int, ...], requires: str) -> bool:
    """Compares a version with a range such as `>=3.11,<3.14`."""
    return all(_satisfies_one(version, part.strip()) for part in requires.split(",") if part.strip())


def _satisfies_one(version: tuple[int, ...], part: str) -> bool:
    match = re.fullmatch(r"(===|==|!=|~=|<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?\w*", part)
    if match is None:
        return False
    operator, wanted, is_prefix = match[1], tuple(map(int, match[2].split("."))), bool(match[3])
    if is_prefix:
        same = version[: len(wanted)] == wanted
        return same if operator in ("==", "===") else not same
    size = max(len(wanted), len(version))
    mine, theirs = version + (0,) * (size - len(version)), wanted + (0,) * (size - len(wanted))
    if operator == "~=":
        return mine >= theirs and version[: len(wanted) - 1] == wanted[:-1]
    return {"==": mine == theirs, "===": mine == theirs, "!=": mine != theirs, "<=": mine <= theirs, ">=": mine >= theirs,
            "<": mine < theirs, ">": mine > theirs}[operator]  # fmt: skip


def _candidates(which: Callable[[str], str | None], minor: str = "") -> Iterator[Python]:
    """Yields the CPythons on PATH, the usual one first. Each is started once, to ask for its version."""
    names = [f"python{minor}"] if minor else []
    names += ["python3", *(f"python3.{number}" for number in range(_NEWEST, _OLDEST, -1))]
    seen: set[str] = set()
    for path in filter(None, map(which, names)):
        if path in seen:
            continue
        seen.add(path)
        python = _ask(path)
        if python is not None:
            yield python


def _ask(path: str) -> Python | None:
    try:
        done = subprocess.run(
            [path, "-I", "-c", _QUERY], capture_output=True, check=True, timeout=20, env=safe_environment(),
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        executable, version, implementation, is_free_threaded = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    if implementation != "cpython" or is_free_threaded or not os.path.isabs(executable):
        return None
    return Python(executable=executable, version=tuple(version))
