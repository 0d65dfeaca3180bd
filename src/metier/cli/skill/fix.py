"""`metier skill fix`: repair mechanical mistakes, and keep every other byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import Terminal, one_line, strip_control_chars
from metier.errors import NotFoundError, RefusedError
from metier.sources import BUNDLED, DiskFiles, replace_bytes
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, FixResult, check, fix_skill_file

__all__ = ["fix"]


@command("skill", "fix")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--dry-run", is_flag=True, help="Show what would change without changing it.")
def fix(app: App, *, targets: tuple[str, ...], dry_run: bool) -> Result:
    """Repair mechanical mistakes, and keep every other byte.

    Quotes values with a colon, writes allowed-tools and metadata in the form of the standard, sets the name to the folder's,
    and removes a byte order mark. Exits with 1 if a skill is still not valid.
    """
    rows = [_repair(folder, dry_run=dry_run) for folder in folders_named(app, targets)]
    failed = sum(not row["ok"] for row in rows)

    def lines(terminal: Terminal) -> Iterator[str]:
        for row in rows:
            yield from _lines(row, terminal, dry_run=dry_run)

    data = {"dry_run": dry_run, "skills": rows, "changed": sum(bool(row["changes"]) for row in rows), "failed": failed}
    return Result(data=data, lines=lines, status=1 if failed else 0)


def _repair(folder: str, *, dry_run: bool) -> dict[str, Any]:
    name = os.path.basename(folder)
    if folder.startswith(BUNDLED + os.sep):
        raise RefusedError(
            f"{name} is bundled with metier", rule="bundled", hint="copy it first: `metier skill create NAME -f FILE`"
        )
    try:
        data = DiskFiles(folder).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
    except (NotFoundError, RefusedError):
        # It is missing or cannot be read. `validate` reports that; the other skills are still repaired.
        return {"folder": folder, "changes": [], "diff": "", "ok": False, "left": 1}
    fixed = fix_skill_file(data, folder=name)
    if fixed.data != data and not dry_run:
        file = os.path.join(folder, SKILL_FILE)
        replace_bytes(file, fixed.data)
    report = check(DiskFiles(folder), folder=name) if not dry_run else None
    changes = [{"code": change.code, "line": change.line, "message": change.message} for change in fixed.changes]
    return {
        "folder": folder,
        "changes": changes,
        "diff": _diff(data, fixed, os.path.join(name, SKILL_FILE)),
        "ok": report is None or report.ok,
        "left": len(report.errors) if report is not None else 0,
    }


def _diff(data: bytes, fixed: FixResult, name: str) -> str:
    before, after = (text.decode("utf-8", "replace").splitlines() for text in (data, fixed.data))
    return "\n".join(unified_diff(before, after, name, name, lineterm=""))


def _lines(row: dict[str, Any], terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    changes = row["changes"]
    name = one_line(os.path.basename(row["folder"]))
    made = "1 change" if len(changes) == 1 else f"{len(changes)} changes"
    yield f"{name}: {'would make ' if dry_run else ''}{made}" if changes else f"{name}: nothing to repair"
    for change in row["changes"]:
        yield f"  line {change['line']}: {change['code']}: {one_line(change['message'])}"
    if dry_run:
        styles = {"+": "green", "-": "red", "@": "cyan"}
        yield from (
            terminal.paint(strip_control_chars(line), styles[line[0]]) if line[:1] in styles else strip_control_chars(line)
            for line in row["diff"].split("\n")
            if line
        )
    if row["left"]:
        errors = "1 error remains" if row["left"] == 1 else f"{row['left']} errors remain"
        yield f"  {errors}; see `metier skill validate {name}`"
