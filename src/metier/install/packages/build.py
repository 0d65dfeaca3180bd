"""Builds an environment from locked packages: wheels by uv, archives by npm, both checked against the lock's hashes.

Bytecode that came with a package is deleted, because it could differ from the source that was published with it. For Python it
is compiled anew here. Compiling runs no code of the package, so the result can be read in a run without a check.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.message import Message
from email.parser import BytesHeaderParser
from io import StringIO
from shutil import rmtree

from metier.errors import UnavailableError
from metier.install.lock.locked_packages import LockedPackages
from metier.sources import safe_environment
from metier.spec import DeclaredPackages, PackageEcosystem
from metier.values import dataclass, replace

from .environments import BuiltPackage
from .programs import PackagePrograms, ProgramError
from .pythons import find_python
from .resolve import npm_documents, requirements_text

__all__ = ["PackageBuild"]

_COMPILE_SECONDS = 1800
_LONGEST_LICENSE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageBuild:
    """Builds the environment of one lock."""

    locked: LockedPackages
    declared: DeclaredPackages
    programs: PackagePrograms
    skill: str
    """Its name, for hints."""

    def __call__(self, tree: str, final: str) -> tuple[str, tuple[BuiltPackage, ...]]:
        """Fills the empty folder `tree`, which will be at `final`. Returns the Python, and the packages with their licences."""
        if self.locked.kind is PackageEcosystem.NPM:
            self._fetch(self._fetch_npm, tree)
            return "", tuple(sorted(_npm_packages(tree, self.locked), key=lambda one: one.name))
        python = find_python(self.locked.python, self.programs.find, skill=self.skill).executable
        self._fetch(lambda programs, tree: self._fetch_wheels(programs, tree, python), tree)
        _strip(tree)
        packages = tuple(sorted(_python_packages(tree), key=lambda one: one.name.lower()))
        _compile(python, tree, final)
        return python, packages

    def _fetch(self, fetch: Callable[[PackagePrograms, str], None], tree: str) -> None:
        """Takes what was downloaded before, and asks the index only if something is missing: the hashes are known."""
        try:
            fetch(replace(self.programs, offline=True), tree)
        except ProgramError:
            if self.programs.offline:
                raise
            rmtree(tree)
            os.mkdir(tree, 0o700)
            fetch(self.programs, tree)

    def _fetch_wheels(self, programs: PackagePrograms, tree: str, python: str) -> None:
        with programs.workspace() as folder:
            file = os.path.join(folder, "requirements.txt")
            _write(file, requirements_text(self.locked))
            programs.uv(
                ["install", "--requirements", file, "--target", tree, "--python", python, "--require-hashes", "--no-deps",
                 *programs.wheels_only, "--link-mode", "copy", "--no-compile-bytecode", "--quiet"],
                folder=folder,
            )  # fmt: skip

    def _fetch_npm(self, programs: PackagePrograms, tree: str) -> None:
        with programs.workspace() as folder:
            package, lock = npm_documents(self.declared, dict(self.locked.rows))
            _write(os.path.join(folder, "package.json"), package)
            _write(os.path.join(folder, "package-lock.json"), lock)
            programs.npm(["ci"], folder=folder)
            modules = os.path.join(folder, "node_modules")
            os.makedirs(modules, exist_ok=True)
            rmtree(os.path.join(modules, ".bin"), ignore_errors=True)
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(modules, ".package-lock.json"))
            os.rename(modules, os.path.join(tree, "node_modules"))


def _write(file: str, text: str) -> None:
    with open(file, "x", encoding="utf-8") as stream:
        stream.write(text)


def _strip(tree: str) -> None:
    """Deletes bytecode, and the programs of packages: those name a Python by its path, and no run starts them."""
    rmtree(os.path.join(tree, "bin"), ignore_errors=True)
    for here, _, names in os.walk(tree):
        for name in names:
            if name.endswith((".pyc", ".pyo")) or (here == tree and name == ".lock"):
                os.unlink(os.path.join(here, name))
        if here.endswith(".dist-info") and "RECORD" in names:
            _strip_record(os.path.join(here, "RECORD"))


def _strip_record(file: str) -> None:
    """Deletes the rows of programs, so that the same packages are the same bytes on every machine."""
    with open(file, encoding="utf-8", newline="") as stream:
        rows = sorted(
            row for row in csv.reader(stream) if row and not row[0].startswith(("bin/", "../")) and ".pyc" not in row[0]
        )
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    os.unlink(file)
    with open(file, "x", encoding="utf-8", newline="") as stream:
        stream.write(text.getvalue())


def _compile(python: str, tree: str, final: str) -> None:
    words = [python, "-I", "-m", "compileall", "-q", "-f", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    try:
        # A file that is no Python of this version is left out, and its import fails as it would elsewhere.
        subprocess.run(
            [*words, "-s", tree, "-p", final, tree], capture_output=True, timeout=_COMPILE_SECONDS, check=False,
            env=safe_environment(), stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"the packages could not be compiled: {error}", hint="try again") from None


def _python_packages(tree: str) -> Iterator[BuiltPackage]:
    for name in os.listdir(tree):
        try:
            with open(os.path.join(tree, name, "METADATA"), "rb") as stream:
                fields = BytesHeaderParser().parse(stream)
        except (NotADirectoryError, FileNotFoundError):
            continue
        classified = [one.rpartition(" :: ")[2] for one in fields.get_all("Classifier", []) if one.startswith("License :: ")]
        plain = (fields.get("License") or "").strip()
        # Some have the whole text in this field.
        is_name = 0 < len(plain) <= _LONGEST_LICENSE and "\n" not in plain and not plain.startswith("Copyright")
        license_ = fields.get("License-Expression") or (plain if is_name else ", ".join(classified)) or _license_file(fields)
        yield BuiltPackage(name=str(fields.get("Name", name)), version=str(fields.get("Version", "")), license=str(license_))


def _license_file(fields: Message) -> str:
    """Returns the name of the file with the licence, for a package that only says where it is."""
    files = fields.get_all("License-File", [])
    return f"see {files[0]}" if files else ""


def _npm_packages(tree: str, locked: LockedPackages) -> Iterator[BuiltPackage]:
    for place in locked.rows:
        try:
            with open(os.path.join(tree, place, "package.json"), encoding="utf-8") as stream:
                package = json.load(stream)
        except (OSError, ValueError):
            # An optional package for another platform.
            continue
        license_ = package.get("license", "")
        text = license_.get("type", "") if isinstance(license_, dict) else license_
        yield BuiltPackage(name=str(package.get("name")), version=str(package.get("version")), license=str(text))
