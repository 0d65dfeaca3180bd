"""Resolves declared packages to exact versions with hashes.

Python packages are locked by `uv pip compile`, not by `uv lock --script`: it takes inline metadata and requirements.txt alike,
as plain lines that were checked before, and its result is a list that `uv pip install --require-hashes` installs without
resolving anything again. The list is universal: with markers, for every platform that has wheels.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from metier.errors import RefusedError, UnavailableError
from metier.install.lock.locked_packages import LockedPackages, parse_packages
from metier.spec import DeclaredPackages, PackageEcosystem

from .programs import PackagePrograms
from .pythons import choose_python, satisfies

__all__ = ["npm_documents", "requirements_text", "resolve"]

_ROOT = "metier-skill"


def resolve(
    declared: DeclaredPackages, programs: PackagePrograms, *, previous: LockedPackages | None = None, python: str = ""
) -> LockedPackages:
    """Locks packages. Versions of `previous` are kept where they still fit. `python` narrows the version of Python."""
    rows, minor = (
        (_resolve_npm(declared, programs, previous), "")
        if declared.kind is PackageEcosystem.NPM
        else _resolve_python(declared, programs, previous, python)
    )
    table = {"kind": str(declared.kind), "declared": declared.digest, "python": minor, "locked": rows}
    try:
        # What is locked now must be what a later reader accepts.
        return parse_packages({declared.path: table})[0]
    except ValueError as error:
        raise RefusedError(
            f"the lock of {declared.path} {error}", rule="packages", hint="use packages that the index has with hashes"
        ) from None


def requirements_text(locked: LockedPackages) -> str:
    """Returns the locked Python packages as a file for `uv pip install`."""
    return "".join(
        f"{key} {' '.join(f'--hash={each}' for each in locked.rows[key].split(' '))}\n" for key in sorted(locked.rows)
    )


def npm_documents(declared: DeclaredPackages, rows: dict[str, str]) -> tuple[str, str]:
    """Returns package.json with the declared packages and nothing else, and package-lock.json with these rows."""
    root = {"name": _ROOT, "version": "0.0.0", "dependencies": _npm_wanted(declared)}
    packages: dict[str, Any] = {"": root, **{place: json.loads(row) for place, row in rows.items()}}  # Any: JSON
    lock = {"name": _ROOT, "version": "0.0.0", "lockfileVersion": 3, "requires": True, "packages": packages}
    return json.dumps({**root, "private": True}), json.dumps(lock)


def _npm_wanted(declared: DeclaredPackages) -> dict[str, str]:
    # A scope starts with an at sign too.
    pairs = ((*each[1:].partition("@"), each[0]) for each in declared.requirements)
    return {first + name: version for name, _, version, first in pairs}


def _resolve_python(
    declared: DeclaredPackages, programs: PackagePrograms, previous: LockedPackages | None, only: str
) -> tuple[dict[str, str], str]:
    range_ = ",".join(filter(None, (declared.python, only)))
    python = choose_python(range_, programs.find)
    with programs.workspace() as folder:
        source, target = os.path.join(folder, "requirements.in"), os.path.join(folder, "requirements.txt")
        _write(source, "".join(f"{line}\n" for line in declared.requirements))
        if previous is not None and previous.kind is PackageEcosystem.PYTHON:
            # uv keeps the versions of its output file where it can.
            _write(target, requirements_text(previous))
        programs.uv(
            ["compile", source, "--output-file", target, "--universal", "--generate-hashes", *programs.wheels_only,
             "--no-header", "--no-annotate", "--quiet", "--python", python.executable,
             "--python-version", python.minor],
            folder=folder,
        )  # fmt: skip
        with open(target, encoding="utf-8") as stream:
            return _read_requirements(stream.read(), python.minor), python.minor


def _read_requirements(text: str, minor: str) -> dict[str, str]:
    """Returns the rows for one version of Python: uv also resolves for all later ones."""
    rows: dict[str, str] = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        requirement, *hashes = re.split(r"\s+--hash=", line.strip())
        if not _can_apply(requirement.partition(" ; ")[2].strip(), minor):
            continue
        rows[" ; ".join(part.strip() for part in requirement.split(" ; "))] = " ".join(sorted(each.strip() for each in hashes))
    return rows


def _can_apply(marker: str, minor: str) -> bool:
    """Returns False if a marker excludes this version of Python. What it says about platforms is left to the installation."""
    if not marker or "(" in marker:
        return True
    return any(all(_may_hold(part.strip(), minor) for part in each.split(" and ")) for each in marker.split(" or "))


def _may_hold(part: str, minor: str) -> bool:
    match = re.fullmatch(r"python(?:_full)?_version\s*(==|!=|~=|<=|>=|<|>)\s*'([0-9][0-9.*]*)'", part)
    if match is None:
        return True
    major, number = map(int, minor.split("."))
    if part.startswith("python_version"):
        return satisfies((major, number), match[1] + match[2])
    patches = (0, *(int(each) for each in match[2].split(".")[2:3] if each.isdigit()), 99)
    return any(satisfies((major, number, patch), match[1] + match[2]) for patch in patches)


def _resolve_npm(declared: DeclaredPackages, programs: PackagePrograms, previous: LockedPackages | None) -> dict[str, str]:
    with programs.workspace() as folder:
        package, lock = npm_documents(
            declared, dict(previous.rows) if previous and previous.kind is PackageEcosystem.NPM else {}
        )
        _write(os.path.join(folder, "package.json"), package)
        if previous is not None or declared.author_lock:
            _write(os.path.join(folder, "package-lock.json"), lock if previous is not None else declared.author_lock)
        programs.npm(["install", "--package-lock-only"], folder=folder)
        try:
            with open(os.path.join(folder, "package-lock.json"), encoding="utf-8") as stream:
                packages = json.load(stream)["packages"]
        except (OSError, ValueError, KeyError):
            raise UnavailableError("npm wrote no lock", hint="update npm to version 7 or later", retryable=False) from None
    return {place: _npm_row(place, row) for place, row in packages.items() if place and not row.get("dev")}


def _npm_row(place: str, row: dict[str, Any]) -> str:  # Any: JSON
    address = row.get("resolved", "")
    if row.get("link") or not row.get("integrity") or re.match(r"git|file:", address):
        raise RefusedError(
            f"{place.rpartition('node_modules/')[2]} comes from {address[:80] or 'no registry'!r}, without a hash",
            rule="packages", hint="use packages that the registry has",
        )  # fmt: skip
    # The registry is the user's own; the hash says which file it must be.
    kept = {key: value for key, value in row.items() if key not in ("resolved", "funding", "bin", "hasInstallScript")}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def _write(file: str, text: str) -> None:
    with open(file, "x", encoding="utf-8") as stream:
        stream.write(text)
