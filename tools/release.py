"""Builds the wheel and the source archive of a release, checks them, and installs them as users do.

    python3 tools/release.py             build into dist/ and check
    python3 tools/release.py --matrix    and install them on every Python here, with each extra alone and with all of them

The second prints the table that belongs to a release: size, time to import and what was tried.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.environment import ROOT, child_environment, find_python, find_uv

__all__ = ["build", "check", "main", "problems_of_sdist", "problems_of_wheel"]

PYTHONS = ("3.11", "3.12", "3.13")
LARGEST_BYTES = 12_000_000
# Everything in a source archive, besides the package.
_SDIST_FILES = {"PKG-INFO", "README.md", "LICENSE", "pyproject.toml", "pyproject.toml.orig"}
_NEVER = re.compile(r"(^|/)(tests?|benchmarks|training|docs|node_modules|__pycache__|\.venv)/|\.pyc$|\.(jsonl|gz|zip)$")
_PACKAGE = "metier/"
# A skill's own tests belong to it.
_BUNDLED = "sources/bundled/"
_TRIED = (
    ("--version",),
    ("doctor",),
    ("skill", "list"),
    ("prompt", "--preset", "active", "plot the monthly sales in sales.csv"),
)


def build(folder: Path) -> tuple[Path, Path]:
    """Builds into the folder, and returns the wheel and the source archive."""
    variables = {**child_environment(), "SOURCE_DATE_EPOCH": _date_of_commit()}
    subprocess.run([*find_uv(), "build", "--quiet", "--out-dir", str(folder)], cwd=ROOT, env=variables, check=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check(wheel: Path, sdist: Path) -> list[str]:
    """Returns what is wrong with a release."""
    problems = [*problems_of_wheel(wheel), *problems_of_sdist(sdist)]
    with tempfile.TemporaryDirectory() as folder:
        for first, second in zip((wheel, sdist), build(Path(folder)), strict=True):
            if hashlib.sha256(first.read_bytes()).digest() != hashlib.sha256(second.read_bytes()).digest():
                problems.append(f"{first.name} is another file when it is built again")
    return problems


def problems_of_wheel(wheel: Path) -> Iterator[str]:
    if wheel.stat().st_size > LARGEST_BYTES:
        yield f"{wheel.name} has {wheel.stat().st_size} bytes"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (info,) = {name.partition("/")[0] for name in names if name.partition("/")[0].endswith(".dist-info")}
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    for name in names:
        if not name.startswith((_PACKAGE, f"{info}/")) or _is_foreign(name.removeprefix(_PACKAGE)):
            yield f"{wheel.name} has {name}"
    for wanted in (f"{_PACKAGE}py.typed", f"{_PACKAGE}selection/data/trained.bin", f"{info}/licenses/LICENSE"):
        if wanted not in names:
            yield f"{wheel.name} lacks {wanted}"
    version = str(metadata["Version"])
    if version != _newest_release():
        yield f"the wheel is {version}, and the newest release in CHANGELOG.md is {_newest_release()}"
    if not str(metadata.get_payload()).strip():
        yield "the wheel has no description"


def problems_of_sdist(sdist: Path) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            name = member.name.partition("/")[2]
            is_expected = not member.isfile() or name in _SDIST_FILES or name.startswith("src/metier/")
            if not is_expected or _is_foreign(name.removeprefix("src/metier/")):
                yield f"{sdist.name} has {name}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build a release and check it.")
    parser.add_argument("--matrix", action="store_true", help="install it on every Python here, with every extra")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the two files")
    given = parser.parse_args(arguments)
    for old in (*given.out.glob("metier-*.whl"), *given.out.glob("metier-*.tar.gz")):
        old.unlink()
    wheel, sdist = build(given.out)
    problems = check(wheel, sdist)
    subprocess.run([*find_uv(), "tool", "run", "twine", "check", "--strict", wheel, sdist], env=child_environment(), check=True)
    for file in (wheel, sdist):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB, sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}")
    if given.matrix and not problems:
        problems = _install_everywhere(wheel)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _install_everywhere(wheel: Path) -> list[str]:
    problems = []
    print("\n| Python | extra | packages | MB | `import metier` | `metier --version` | tried |\n|---|---|---|---|---|---|---|")
    extras = _extras(wheel)
    for version in PYTHONS:
        for wanted in ((), *((extra,) for extra in extras), extras):
            try:
                print(_install(wheel, version, wanted), flush=True)
            except subprocess.CalledProcessError as error:
                said = (error.stderr or error.stdout or "").strip().splitlines()
                problems.append(f"Python {version} with {','.join(wanted) or 'no extra'}: {said[-1] if said else error}")
    return problems


def _install(wheel: Path, version: str, extras: Sequence[str]) -> str:
    """Installs the wheel with plain pip in an empty environment, tries it, and returns a row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([find_python(version), "-m", "venv", str(folder / "env")])
        python = folder / "env" / "bin" / "python"
        wanted = f"metier[{','.join(extras)}] @ {wheel.resolve().as_uri()}" if extras else str(wheel)
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted])
        home = {"HOME": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}
        for words in _TRIED:
            _run([python.with_name("metier"), *words], home)
        doctor = _run([python.with_name("metier"), "doctor"], home)
        for extra in extras:
            if not re.search(rf"\n✓ extras +installed: [^\n]*\b{extra}\b", doctor) and extra in doctor:
                raise subprocess.CalledProcessError(1, "doctor", stderr=f"doctor does not name {extra}")
        _run([python, "-m", "pip", "check", "--disable-pip-version-check"])
        packages = len(_run([python, "-m", "pip", "list", "--disable-pip-version-check", "--format=freeze"]).splitlines())
        size = sum(file.stat().st_size for file in (folder / "env").rglob("*") if file.is_file())
        bare = _seconds([python, "-c", "pass"])
        imported = _seconds([python, "-c", "import metier"]) / bare
        started = _seconds([python.with_name("metier"), "--version"]) / bare
    label = "all" if len(extras) > 1 else "".join(extras) or "none"
    tried = ", ".join(words[0] if words[0] != "skill" else "skill list" for words in _TRIED)
    return f"| {version} | {label} | {packages} | {size / 1e6:.0f} | {imported:.2f} x | {started:.2f} x | {tried} |"


def _seconds(words: Sequence[object]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        _run(words)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _run(words: Sequence[object], variables: dict[str, str] | None = None) -> str:
    text = [str(word) for word in words]
    return subprocess.run(text, env=variables or child_environment(), check=True, capture_output=True, text=True).stdout


def _extras(wheel: Path) -> tuple[str, ...]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return tuple(email.message_from_bytes(archive.read(name)).get_all("Provides-Extra", []))


def _is_foreign(name: str) -> bool:
    return bool(_NEVER.search(name)) and not name.startswith(_BUNDLED)


def _newest_release() -> str:
    headings = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    return str(headings[0])


def _date_of_commit() -> str:
    return subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
