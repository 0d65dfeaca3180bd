"""Reads what docstrings say about the arguments of a script: descriptions for a command line that is known, or a whole one.

A script that parses its own words documents them in its module docstring, in that of `main()`, or in a JSDoc comment at the top
of the file or above `main`. Without a parser to read, its arguments are positional, unless the script mentions `--name`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from metier.runtime.docstrings import DocumentedParameter, read_docstring, read_jsdoc
from metier.values import replace

from .command_line import ArgumentKind, CommandLine, ScriptArgument

__all__ = ["add_descriptions", "documented_line", "javascript_docs", "python_docs"]

_READS_ARGUMENTS = re.compile(r"\bargv\b|\bfire\.Fire\b|\bparseArgs\b|\bDeno\.args\b")
_ALL_WORDS = frozenset({"argv", "args", "arguments"})
"""Parameters of `main(argv)`: the whole command line, not one argument of it."""
_JSDOC = re.compile(r"/\*\*(?:(?!\*/).)*\*/", re.DOTALL)
_FUNCTION = re.compile(
    r"\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\s*\*?\s*(?P<name>\w*)|(?:const|let|var)\s+(?P<variable>\w+)\s*[=:]"
    r"|class\b|interface\b|type\b)"
)


def python_docs(tree: ast.Module) -> tuple[DocumentedParameter, ...]:
    """Returns the parameters that the module documents, else those of its `main()` with the defaults of its signature."""
    found = read_docstring(ast.get_docstring(tree) or "")
    if found:
        return found
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "main":
            optional = set(_optional_names(node.args))
            documented = read_docstring(ast.get_docstring(node) or "")
            return tuple(replace(each, is_optional=each.is_optional or each.name in optional) for each in documented)
    return ()


def javascript_docs(source: str) -> tuple[DocumentedParameter, ...]:
    """Returns the parameters of the JSDoc comment above `main`, else of one that belongs to no function."""
    header: tuple[DocumentedParameter, ...] = ()
    for comment in _JSDOC.finditer(source):
        found = read_jsdoc(comment[0])
        function = _FUNCTION.match(source, comment.end())
        if found and function and "main" in (function["name"], function["variable"]):
            return found
        if not function:
            header = header or found
    return header


def add_descriptions(line: CommandLine, docs: Iterable[DocumentedParameter]) -> CommandLine:
    """Returns the command line with the descriptions of its arguments, where it has none of its own."""
    about = {_name(each): each.description for each in docs if each.description}
    if not about:
        return line
    return replace(line, arguments=tuple(replace(each, help=each.help or about.get(each.name, "")) for each in line.arguments))


def documented_line(docs: Sequence[DocumentedParameter], types: dict[str, str], source: str) -> CommandLine | None:
    """Returns the command line that the docs describe; None if the script reads no arguments. `types` are type hints."""
    documented = [each for each in docs if each.name not in _ALL_WORDS]
    if not documented or not _READS_ARGUMENTS.search(source):
        return None
    arguments = tuple(_argument(each, types, source) for each in documented)
    return CommandLine(arguments=arguments, supports_equals="parseArgs" in source)


def _argument(parameter: DocumentedParameter, types: dict[str, str], source: str) -> ScriptArgument:
    name = _name(parameter)
    spelling = _spelling(parameter.name, source)
    kind = parameter.type or types.get(name, "string")
    one = ScriptArgument(name=name, help=parameter.description, spelling=spelling)
    if spelling and kind == "boolean":
        return replace(one, kind=ArgumentKind.FLAG)
    return replace(
        one,
        kind=ArgumentKind.OPTION if spelling else ArgumentKind.POSITIONAL,
        type=kind,
        choices=parameter.choices,
        default=parameter.default,
        required=not parameter.is_optional and not parameter.is_repeated,
        repeated=parameter.is_repeated,
    )


def _spelling(name: str, source: str) -> str:
    """Returns the option as the script spells it; empty for a positional argument."""
    if name.startswith("-"):
        return name
    for candidate in (f"--{name}", f"--{name.replace('_', '-')}"):
        if re.search(rf"[\"'`]{re.escape(candidate)}\b(?!-)", source):
            return candidate
    if "parseArgs" in source and re.search(rf"[\"']?\b{re.escape(name)}[\"']?\s*:\s*\{{[^}}]*\btype\b", source):
        return f"--{name}"
    return ""


def _name(parameter: DocumentedParameter) -> str:
    return re.sub(r"\W+", "_", parameter.name.lstrip("-")).strip("_") or "value"


def _optional_names(signature: ast.arguments) -> Iterator[str]:
    positional = [*signature.posonlyargs, *signature.args]
    yield from (each.arg for each in positional[len(positional) - len(signature.defaults) :])
    yield from (each.arg for each, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if default)
