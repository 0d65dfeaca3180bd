"""Builds one version of the site: copies the pages, adds the generated ones, and runs the site generator strictly.

    python -m tools.documentation.build ROOT TARGET [--no-python]

`tools/docs.py` installs what this needs and calls it.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any  # the values of a TOML file

import tomlkit

from tools.documentation.pages import copy_pages
from tools.documentation.reference import PARTS, command_files, package_files

__all__ = ["build", "copy_commands_only", "nav_files", "read_nav", "run_generator"]

_SHIM = "https://unpkg.com/iframe-worker/shim"
_OWN_SHIM = "assets/javascripts/file-worker.js"
_CONSOLE = re.compile(r'<div class="language-console highlight">(?=(.*?)</div>)', re.DOTALL)


def main() -> int:
    root, target, *rest = sys.argv[1:]
    return build(Path(root).resolve(), Path(target), python="--no-python" not in rest)


def build(root: Path, target: Path, *, python: bool) -> int:
    """Returns the exit status. `python` adds the pages of the Python packages."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = work / "docs"
        copy_pages(root, pages, PARTS)
        commands, packages = list(command_files()), list(package_files(root)) if python else []
        for file, _, text in (*commands, *packages):
            (pages / file).parent.mkdir(parents=True, exist_ok=True)
            (pages / file).write_text(text, encoding="utf-8")
        settings = _settings(root, commands, packages)
        (work / "zensical.toml").write_text(tomlkit.dumps(settings), encoding="utf-8")
        if problems := run_generator(work):
            print(f"{problems}\nerror: the site was not built; see the problems above", file=sys.stderr)
            return 1
        for page in (work / "site").rglob("*.html"):
            page.write_text(copy_commands_only(page.read_text(encoding="utf-8")), encoding="utf-8")
        _make_self_contained(work / "site")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(work / "site", target)
    return 0


def run_generator(folder: Path) -> str:
    """Builds the project in that folder, and returns the problems that it reports; empty if there are none."""
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "NO_COLOR": "1"}, check=False, capture_output=True, text=True)
    # Its own traceback says only that there were problems.
    said = done.stdout + done.stderr.partition("Traceback")[0]
    return re.sub(r"\x1b\[[0-9;]*m", "", said).strip() if done.returncode else ""


def read_nav(root: Path) -> list[Any]:
    with (root / "zensical.toml").open("rb") as file:
        nav: list[Any] = tomllib.load(file)["project"]["nav"]
    return nav


def nav_files(nav: list[Any]) -> list[str]:
    """Returns the pages of the navigation, in order."""
    found: list[str] = []
    for item in nav:
        for value in item.values() if isinstance(item, dict) else [item]:
            found += nav_files(value) if isinstance(value, list) else [value]
    return found


def copy_commands_only(text: str) -> str:
    """Makes the copy button of a console block copy its commands, without prompts and output."""

    def mark(found: re.Match[str]) -> str:
        lines = html.unescape(re.sub(r"<[^>]+>", "", found[1])).split("\n")
        commands = [
            line.removeprefix("$ ")
            for before, line in zip(["", *lines], lines, strict=False)
            if line.startswith("$ ") or before.endswith("\\")
        ]
        copied = html.escape("\n".join(commands))
        return f'{found[0][:-1]} data-copy="{copied}">' if commands else found[0]

    return _CONSOLE.sub(mark, text)


def _settings(root: Path, commands: list[tuple[str, str, str]], packages: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Returns zensical.toml with the folders of this build, and with the generated pages in the navigation."""
    with (root / "zensical.toml").open("rb") as file:
        settings = tomllib.load(file)
    project = settings["project"]
    project["docs_dir"], project["site_dir"] = "docs", "site"
    project["plugins"]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(root / "src")]
    records = sorted(f"adr/{each.name}" for each in (root / "docs" / "adr").glob("[0-9]*.md"))
    extra: dict[str, list[Any]] = {
        "Commands": [{title: file} for file, title, _ in commands],
        "Python": [{title: file} for file, title, _ in packages],
        "Decision records": records,
    }
    _extend(project["nav"], extra)
    return settings


def _extend(nav: list[Any], extra: dict[str, list[Any]]) -> None:
    for item in nav:
        for title, value in item.items() if isinstance(item, dict) else ():
            if isinstance(value, list):
                _extend(value, extra)
                value.extend(extra.get(title, ()))


def _make_self_contained(site: Path) -> None:
    """Replaces the one script that pages load from another server by our own; it lets the search work from disk."""
    shutil.copy(Path(__file__).with_name("file-worker.js"), site / _OWN_SHIM)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if _SHIM in text:
            page.write_text(text.replace(_SHIM, "../" * (len(page.relative_to(site).parts) - 1) + _OWN_SHIM), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
