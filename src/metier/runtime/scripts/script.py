"""One script: its name as a tool, what it is for, and what it takes, all read from its text."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from functools import lru_cache

from metier.errors import MetierError
from metier.spec import FileEntry, Skill, script_summary
from metier.values import dataclass, replace

from .argparse_reader import read_argparse
from .click_reader import function_types, read_click, read_typer
from .command_line import ANY_ARGUMENTS, ArgumentKind, CommandLine
from .usage_line import read_usage

__all__ = ["SkillScript", "is_script", "read_script", "scripts_of"]

FOLDER = "scripts/"
_SUFFIXES = frozenset({".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb"})
_LARGEST = 256 * 1024
_MOST = 50
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillScript:
    path: str
    """Inside the skill: scripts/chart.py."""
    tool: str
    """The name of the tool that it is: `{skill}_{script}`."""
    description: str
    line: CommandLine


def scripts_of(skill: Skill) -> tuple[SkillScript, ...]:
    """The scripts of a skill, each with a tool name that no other has."""
    taken: set[str] = set()
    found = []
    for path in script_paths(skill, skill.resources("scripts")):
        tool = _tool_name(skill.name, path, taken)
        taken.add(tool)
        try:
            source = skill.resource(path, limit=_LARGEST).decode("utf-8", "replace")
        except MetierError:
            # Too large to read for its schema; it still runs.
            source = ""
        found.append(replace(read_script(source, path), tool=tool))
    return tuple(found)


def script_paths(skill: Skill, files: Iterable[FileEntry]) -> tuple[str, ...]:
    """Those of the skill's files that can be started."""
    declared = {path if path.startswith(FOLDER) else f"{FOLDER}{path}" for path in skill.manifest.extensions.scripts}
    return tuple(entry.path for entry in files if is_script(entry) or entry.path in declared)[:_MOST]


def is_script(entry: FileEntry) -> bool:
    """Something to start, and not data or a module that other scripts import."""
    name = entry.path.rpartition("/")[2]
    if not entry.path.startswith(FOLDER) or name.startswith((".", "_")):
        return False
    suffix = "." + name.rpartition(".")[2] if "." in name else ""
    return suffix in _SUFFIXES or (entry.executable and suffix in ("", ".exe", ".bin"))


@lru_cache(maxsize=128)
def read_script(source: str, path: str) -> SkillScript:
    """What the text of a script says about it. Remembered: tools are made anew for every turn, and reading takes 30 ms."""
    line = _python_line(source, path) if path.endswith(".py") else read_usage(source, path) or ANY_ARGUMENTS
    name = path.rpartition("/")[2]
    description = script_summary(source) or line.help or f"Runs {name}."
    return SkillScript(path=path, tool=name.partition(".")[0], description=description, line=line)


def _python_line(source: str, path: str) -> CommandLine:
    try:
        with warnings.catch_warnings(action="ignore"):  # an odd escape in it is not ours to print
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ANY_ARGUMENTS
    imported = _imports(tree)
    line: CommandLine | None = None
    if "typer" in imported:
        line = read_typer(tree)
    elif "click" in imported:
        line = read_click(tree)
    elif "argparse" in imported:
        line = read_argparse(tree)
    if line is not None:
        return line
    usage = read_usage(source, path)
    return _typed(usage, function_types(tree)) if usage is not None else ANY_ARGUMENTS


def _imports(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _typed(line: CommandLine, types: dict[str, str]) -> CommandLine:
    """A usage line names the arguments; the functions of the script say of which type they are."""
    arguments = [
        replace(each, type=types[each.name])
        if each.kind != ArgumentKind.FLAG and types.get(each.name, "boolean") != "boolean"
        else each
        for each in line.arguments
    ]
    return replace(line, arguments=tuple(arguments))


def _tool_name(skill: str, path: str, taken: Iterable[str]) -> str:
    """Letters, digits, `_` and `-`, 64 at most: what every provider takes."""
    inner = path.removeprefix(FOLDER)
    stem, _, suffix = inner.rpartition(".") if "." in inner.rpartition("/")[2] else (inner, "", "")
    name = _clean(f"{skill}_{stem}")
    if name in taken:
        name = _clean(f"{skill}_{stem}_{suffix}")
    number = 2
    while name in taken:
        name = f"{name[: _LONGEST_NAME - 4]}_{number}"
        number += 1
    return name


def _clean(text: str) -> str:
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "script"
    if len(clean) <= _LONGEST_NAME:
        return clean
    # The script's own name tells more than the end of a long skill name.
    skill, _, script = clean.partition("_")
    return f"{skill[: max(8, _LONGEST_NAME - 1 - len(script))]}_{script}"[:_LONGEST_NAME]
