"""Skills inside the Python and npm packages that are installed in a project: a `skills` folder of the package.

A package is switched on by name in the setting `skills.packages`: `python:NAME` or `npm:NAME`. Python packages are looked up in
the project's `.venv` and `venv`, npm packages in its `node_modules`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from metier.errors import ConfigError

from .regular_file import read_regular

__all__ = ["PackageSkills", "check_package", "find_package_skills", "package_folders"]

_VENVS = (".venv", "venv")
_NAME = re.compile(r"python:[A-Za-z0-9][A-Za-z0-9._-]*|npm:(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_SKILL_FILE = re.compile(r"^([^/,\s]+/skills)/(?:[^/,]+/)*SKILL\.md,", re.MULTILINE)
_MOST_PACKAGES = 5_000


class PackageSkills(NamedTuple):
    package: str
    """As in the setting, such as `npm:@acme/tools`."""
    folder: str


def check_package(text: str, *, origin: str) -> str:
    """Returns the text if it names a package. Raises ConfigError, with the file that it is from, if it does not."""
    if not _NAME.fullmatch(text):
        raise ConfigError(
            f"skills.packages: {text!r} is not a package",
            file=origin,
            hint='write "python:NAME" or "npm:NAME", such as "npm:@acme/tools"',
        )
    return text


def package_folders(project: str, packages: Iterable[str]) -> tuple[str, ...]:
    """Returns the folders of skills of these packages in a project; a package that is not installed there has none."""
    found: list[str] = []
    for package in packages:
        kind, _, name = package.partition(":")
        if kind == "npm":
            folder = os.path.join(project, "node_modules", *name.split("/"), "skills")
            found += [folder] if os.path.isdir(folder) else []
        else:
            found += [folder for site in _site_packages(project) for folder in _of_distribution(site, name)]
    return tuple(found)


def find_package_skills(project: str) -> tuple[PackageSkills, ...]:
    """Returns every installed package of a project that has a folder of skills."""
    found = [
        PackageSkills(f"python:{name}", folder)
        for site in _site_packages(project)
        for name, info in _distributions(site)
        for folder in _recorded(site, info)
    ]
    modules = os.path.join(project, "node_modules")
    found += [
        PackageSkills(f"npm:{name}", folder)
        for name in _npm_names(modules)
        if os.path.isdir(folder := os.path.join(modules, name, "skills"))
    ]
    return tuple(sorted(found))


def _site_packages(project: str) -> Iterator[str]:
    for venv in _VENVS:
        lib = os.path.join(project, venv, "lib")
        for version in _names(lib):
            site = os.path.join(lib, version, "site-packages")
            if version.startswith("python") and os.path.isdir(site):
                yield site


def _of_distribution(site: str, name: str) -> Iterator[str]:
    for known, info in _distributions(site):
        if _normal(known) == _normal(name):
            yield from _recorded(site, info)


def _distributions(site: str) -> Iterator[tuple[str, str]]:
    for folder in _names(site):
        if folder.endswith(".dist-info"):
            yield _normal(folder.removesuffix(".dist-info").partition("-")[0]), folder


def _recorded(site: str, info: str) -> Iterator[str]:
    """Yields the folders of skills that the distribution lists among its files."""
    try:
        record = read_regular(os.path.join(site, info, "RECORD")).decode("utf-8", "replace")
    except OSError:
        return
    for inner in sorted(set(_SKILL_FILE.findall(record))):
        if not inner.startswith(".") and os.path.isdir(folder := os.path.join(site, inner)):
            yield folder


def _npm_names(modules: str) -> Iterator[str]:
    for name in _names(modules):
        if name.startswith("@"):
            yield from (f"{name}/{inner}" for inner in _names(os.path.join(modules, name)))
        elif not name.startswith("."):
            yield name


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST_PACKAGES]
    except OSError:
        return []


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
