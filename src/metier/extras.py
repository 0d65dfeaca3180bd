"""Extras that are not installed, and the command that adds one to this installation of metier.

`pip install` is the wrong command for most of them: `uv tool install` and `pipx` keep metier in an environment of its own, a uv
environment has no pip, and a Python of the system (PEP 668) refuses to be changed. The files that installers leave tell.
"""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError
from shlex import quote
from typing import Any, NamedTuple

from metier.errors import UnavailableError

__all__ = ["InstalledPackage", "MissingExtraError", "find_extras", "find_package", "install_command"]

_NAME = "metier"


class MissingExtraError(UnavailableError):
    """A Python package is not installed that comes with an extra of metier."""

    def __init__(self, message: str, *, extra: str) -> None:
        super().__init__(message, hint=f"run `{install_command(extra)}`", retryable=False)
        self.extra = extra


class InstalledPackage(NamedTuple):
    """The way in which metier was installed."""

    installer: str = "pip"
    """uv-tool, pipx, uv (an environment without pip), pip, or system for a Python that its system manages."""
    python: str = ""
    """The interpreter that has it; empty if it is the one called `python3`."""
    url: str = ""
    """The address or folder that it was installed from; empty for the package index."""
    is_editable: bool = False
    extras: tuple[str, ...] = ()
    """Extras that it was installed with, as far as the installer keeps them."""


def install_command(extra: str, package: InstalledPackage | None = None) -> str:
    """Returns the command that adds an extra, to be typed in a shell."""
    installer, python, url, is_editable, extras = package or find_package()
    names = ",".join(dict.fromkeys((*extras, extra)))
    wanted = quote(f"{_NAME}[{names}] @ {url}") if url else quote(f"{_NAME}[{names}]")
    if is_editable and installer not in ("pipx", "system"):
        wanted = f"-e {quote(f'{_path(url)}[{names}]')}"
    match installer:
        case "uv-tool":
            return f"uv tool install {wanted}"
        case "pipx" | "system":
            return f"pipx install {'--force ' if installer == 'pipx' else ''}{wanted}"
        case "uv":
            return f"uv pip install --python {quote(python)} {wanted}"
        case _:
            return f"{quote(python) if python else 'python3'} -m pip install {wanted}"


def find_package(
    prefix: str = sys.prefix, *, is_environment: bool = sys.prefix != sys.base_prefix, standard: str | None = None
) -> InstalledPackage:
    """Returns how the metier of an environment was installed. `standard` is the folder of the standard library."""
    url, is_editable = _origin()
    python = os.path.join(prefix, "bin", "python")
    package = InstalledPackage(python=python if is_environment else "", url=url, is_editable=is_editable)
    if receipt := _read(os.path.join(prefix, "uv-receipt.toml")):
        return _with_receipt(package, receipt)
    if metadata := _read(os.path.join(prefix, "pipx_metadata.json")):
        return _with_pipx(package, metadata)
    if is_environment:
        is_uv = any(line.split("=")[0].strip() == "uv" for line in _read(os.path.join(prefix, "pyvenv.cfg")).splitlines())
        return package._replace(installer="uv" if is_uv else "pip")
    folder = standard or sysconfig.get_path("stdlib")
    is_managed = os.path.exists(os.path.join(folder, "EXTERNALLY-MANAGED"))
    return package._replace(installer="system" if is_managed else "pip")


def find_extras(requirements: Iterable[str] | None = None) -> dict[str, bool]:
    """Returns every extra that this Python can have, and whether its packages are installed, in any version."""
    needed: dict[str, set[str]] = {}
    for line in _requirements() if requirements is None else requirements:
        if found := re.fullmatch(r"""\s*([\w.-]+)([^;]*);(.*)\bextra\s*==\s*["']([\w.-]+)["'].*""", line):
            name, details, condition, extra = found.groups()
            oldest = re.search(r"python_(?:full_)?version\s*>=\s*.(\d+)\.(\d+)", condition)
            if oldest and sys.version_info < (int(oldest[1]), int(oldest[2])):
                continue
            inner = re.match(r"\s*\[([^]]*)\]", details) if name == _NAME else None
            needed.setdefault(extra, set()).update(
                (f"{_NAME}[{each.strip()}]" for each in inner[1].split(",")) if inner else (name,)
            )

    def is_installed(extra: str) -> bool:
        return all(
            is_installed(name[len(_NAME) + 1 : -1]) if name.startswith(f"{_NAME}[") else _has(name)
            for name in needed.get(extra, ())
        )

    return {extra: is_installed(extra) for extra in sorted(needed)}


def _requirements() -> Iterable[str]:
    try:
        return Distribution.from_name(_NAME).requires or ()
    except PackageNotFoundError:
        return ()


def _has(name: str) -> bool:
    try:
        Distribution.from_name(name)
    except PackageNotFoundError:
        return False
    return True


def _with_receipt(package: InstalledPackage, text: str) -> InstalledPackage:
    # Imported here: only an error needs it.
    import tomllib

    try:
        rows = tomllib.loads(text).get("tool", {}).get("requirements", [])
    except (tomllib.TOMLDecodeError, AttributeError):
        rows = []
    row: Mapping[str, Any] = next((each for each in rows if isinstance(each, dict) and each.get("name") == _NAME), {})
    return package._replace(installer="uv-tool", extras=tuple(map(str, row.get("extras", ()))))


def _with_pipx(package: InstalledPackage, text: str) -> InstalledPackage:
    try:
        asked = str(json.loads(text)["main_package"]["package_or_url"])
    except (ValueError, KeyError, TypeError):
        asked = ""
    _, bracket, rest = asked.partition("[")
    extras = tuple(name.strip() for name in rest.partition("]")[0].split(",")) if bracket else ()
    return package._replace(installer="pipx", extras=extras, is_editable=False)


def _origin() -> tuple[str, bool]:
    """Returns the address that metier was installed from, and whether it is used from there (PEP 610)."""
    try:
        record = json.loads(Distribution.from_name(_NAME).read_text("direct_url.json") or "{}")
        url, is_editable = str(record.get("url", "")), bool(record.get("dir_info", {}).get("editable"))
        if vcs := record.get("vcs_info"):
            return f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}", False
        return url, is_editable
    except (PackageNotFoundError, ValueError, KeyError, AttributeError, OSError):
        return "", False


def _path(url: str) -> str:
    from urllib.parse import unquote

    return unquote(url.removeprefix("file://"))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        return ""
