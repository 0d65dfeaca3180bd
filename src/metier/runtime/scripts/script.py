"""The scripts of a skill: tool name, description and command line, all read from the text and never by running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache

from metier.errors import MetierError
from metier.spec import FileEntry, Skill, is_file_of, script_summary
from metier.values import dataclass, replace

from .argparse_reader import read_argparse
from .click_reader import function_types, read_click, read_typer
from .command_line import UNKNOWN, ArgumentKind, CommandLine
from .docstring_reader import add_descriptions, documented_line, javascript_docs, python_docs
from .interpreters import FOREIGN_SUFFIXES
from .usage_line import read_usage

__all__ = ["SkillScript", "is_script", "read_script", "scripts_of"]

FOLDER = "scripts/"
_SUFFIXES = frozenset({".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb"})
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_MAX_BYTES = 256 * 1024
_MAX_SCRIPTS = 50
_MAX_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillScript:
    path: str
    """Inside the skill: scripts/chart.py."""
    tool_name: str
    """The name of its tool: `{skill}_{script}`."""
    description: str
    command_line: CommandLine
    problem: str = ""
    """Why it cannot run here; empty if it can."""


FindProblem = Callable[[str, bytes | None], str]
"""Takes the path and the bytes of a script, None if it is too large to read; returns why it cannot run."""


def scripts_of(skill: Skill, find_problem: FindProblem = lambda _, __: "") -> tuple[SkillScript, ...]:
    """Returns the scripts of a skill, each with a unique tool name. The manifest's descriptions win over those in the files."""
    paths = script_paths(skill, skill.resources("scripts"))
    declared = skill.manifest.extensions.script_descriptions
    described = {path: about for script, about in declared.items() for path in paths if is_file_of(script, path)}
    taken: set[str] = set()
    found = []
    for path in paths:
        tool = _tool_name(skill.name, path, taken)
        taken.add(tool)
        try:
            data: bytes | None = skill.resource(path, limit=_MAX_BYTES)
        except MetierError:
            # Too large to read; it still runs.
            data = None
        script = read_script((data or b"").decode("utf-8", "replace"), path)
        problem = find_problem(path, data)
        found.append(replace(script, tool_name=tool, description=described.get(path, script.description), problem=problem))
    return tuple(found)


def script_paths(skill: Skill, files: Iterable[FileEntry]) -> tuple[str, ...]:
    """Returns the paths of the scripts: those that the manifest declares, if any of them is there, else all in scripts/."""
    listed = tuple(files)
    declared = skill.manifest.extensions.scripts
    found = [entry.path for entry in listed if any(is_file_of(script, entry.path) for script in declared)]
    return tuple(found or [entry.path for entry in listed if is_script(entry)])[:_MAX_SCRIPTS]


def is_script(entry: FileEntry) -> bool:
    """Returns True for a script in any language, False for data and for modules that other scripts import."""
    name = entry.path.rpartition("/")[2]
    if not entry.path.startswith(FOLDER) or name.startswith((".", "_")):
        return False
    suffix = "." + name.rpartition(".")[2] if "." in name else ""
    return suffix in _SUFFIXES or suffix.lower() in FOREIGN_SUFFIXES or (entry.executable and suffix in ("", ".exe", ".bin"))


@lru_cache(maxsize=128)
def read_script(source: str, path: str) -> SkillScript:
    """Reads the text of a script. Cached: tools are made for every turn, and reading takes 30 ms."""
    line = _read_python(source, path) if path.endswith(".py") else _read_other(source, path)
    name = path.rpartition("/")[2]
    description = script_summary(source) or line.help or f"Runs {name}."
    return SkillScript(path=path, tool_name=name.partition(".")[0], description=description, command_line=line)


def _read_python(source: str, path: str) -> CommandLine:
    try:
        with warnings.catch_warnings(action="ignore"):  # about odd escapes in the script
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return UNKNOWN
    imported = _imported_modules(tree)
    line: CommandLine | None = None
    if "typer" in imported:
        line = read_typer(tree)
    elif "click" in imported:
        line = read_click(tree)
    elif "argparse" in imported:
        line = read_argparse(tree)
    docs, types = python_docs(tree), function_types(tree)
    if line is None and (usage := read_usage(source, path)) is not None:
        line = _with_types(usage, types)
    return add_descriptions(line, docs) if line is not None else documented_line(docs, types, source) or UNKNOWN


def _read_other(source: str, path: str) -> CommandLine:
    docs = javascript_docs(source) if path.endswith(_JAVASCRIPT) else ()
    usage = read_usage(source, path)
    return add_descriptions(usage, docs) if usage is not None else documented_line(docs, {}, source) or UNKNOWN


def _imported_modules(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _with_types(line: CommandLine, types: dict[str, str]) -> CommandLine:
    """Adds the types of the script's functions to the arguments of its usage line."""
    arguments = [
        replace(each, type=types[each.name])
        if each.kind != ArgumentKind.FLAG and types.get(each.name, "boolean") != "boolean"
        else each
        for each in line.arguments
    ]
    return replace(line, arguments=tuple(arguments))


def _tool_name(skill: str, path: str, taken: Iterable[str]) -> str:
    """Makes a tool name that every provider accepts: letters, digits, `_` and `-`, 64 at most."""
    inner = path.removeprefix(FOLDER)
    stem, _, suffix = inner.rpartition(".") if "." in inner.rpartition("/")[2] else (inner, "", "")
    name = _valid_name(f"{skill}_{stem}")
    if name in taken:
        name = _valid_name(f"{skill}_{stem}_{suffix}")
    number = 2
    while name in taken:
        name = f"{name[: _MAX_NAME - 4]}_{number}"
        number += 1
    return name


def _valid_name(text: str) -> str:
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "script"
    if len(clean) <= _MAX_NAME:
        return clean
    # The name of the script is more useful than the end of a long skill name.
    skill, _, script = clean.partition("_")
    return f"{skill[: max(8, _MAX_NAME - 1 - len(script))]}_{script}"[:_MAX_NAME]
