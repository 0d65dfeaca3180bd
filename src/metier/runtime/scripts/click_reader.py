"""Reads the command line of a script that uses click or typer, from its syntax tree.

Click declares arguments in decorators, typer in the signature of the function: parameters without a default are arguments, the
others are options.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from metier.runtime.docstrings import read_docstring
from metier.values import replace

from .command_line import ArgumentKind, CommandLine, ScriptArgument
from .docstring_reader import add_descriptions

__all__ = ["function_types", "read_click", "read_typer"]

_TYPES = {
    "int": "integer", "INT": "integer", "IntRange": "integer", "float": "number", "FLOAT": "number", "FloatRange": "number",
    "bool": "boolean", "BOOL": "boolean",
}  # fmt: skip
_COMMANDS = frozenset({"command", "callback"})


def read_click(tree: ast.Module) -> CommandLine | None:
    lines: dict[str, CommandLine] = {}
    for function in _functions(tree):
        arguments = list(_click_arguments(function))
        is_command = any(_name(decorator) in _COMMANDS for decorator in function.decorator_list)
        if arguments or is_command:
            lines[_command_name(function)] = _line(function, reversed(arguments))
    has_group = any(_name(decorator) == "group" for function in _functions(tree) for decorator in function.decorator_list)
    return _combine(lines, grouped=has_group)


def read_typer(tree: ast.Module) -> CommandLine | None:
    by_name = {function.name: function for function in _functions(tree)}
    commands = [each for each in by_name.values() if any(_name(decorator) == "command" for decorator in each.decorator_list)]
    if not commands:
        run = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) == "run" and node.args]
        commands = [by_name[_name(call.args[0])] for call in run if _name(call.args[0]) in by_name][:1]
    lines = {_command_name(each): _line(each, _typer_arguments(each)) for each in commands}
    return _combine(lines, grouped=len(lines) > 1)


def function_types(tree: ast.Module) -> dict[str, str]:
    """Returns the JSON type of every annotated parameter of the script's functions, by name."""
    return {
        argument.arg: _TYPES.get(_name(argument.annotation), "string")
        for function in _functions(tree) for argument in (*function.args.args, *function.args.kwonlyargs) if argument.annotation
    }  # fmt: skip


def _combine(lines: dict[str, CommandLine], *, grouped: bool) -> CommandLine | None:
    if not lines:
        return None
    return CommandLine(commands=lines) if grouped else next(iter(lines.values()))


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _click_arguments(function: ast.FunctionDef) -> Iterator[ScriptArgument]:
    # Decorators apply from the bottom up, and click shows them from the top down.
    for decorator in reversed(function.decorator_list):
        if isinstance(decorator, ast.Call) and _name(decorator) in ("argument", "option"):
            names = [name for name in map(_literal, decorator.args) if isinstance(name, str)]
            if names:
                yield _click_argument(
                    _name(decorator), names, {each.arg: each.value for each in decorator.keywords if each.arg}
                )


def _click_argument(kind: str, names: list[str], options: dict[str, ast.expr]) -> ScriptArgument:
    nargs, default = _literal(options.get("nargs")), _literal(options.get("default"))
    plain = default if isinstance(default, str | int | float | bool) else None
    if kind == "argument":
        required = _literal(options.get("required")) is not False and nargs != -1 and "default" not in options
        return ScriptArgument(
            name=names[0].lower().replace("-", "_"),
            type=_type(options.get("type"), plain),
            choices=_choice(options.get("type")),
            required=required,
            repeated=isinstance(nargs, int) and nargs != 1,
            default=plain,
        )
    spelled = [name for name in names if name.startswith("-")]
    spelling, _, off = max(spelled, key=len, default="--value").partition("/")
    called = next((name for name in names if not name.startswith("-")), spelling.lstrip("-"))
    one = ScriptArgument(
        name=called.replace("-", "_"),
        kind=ArgumentKind.OPTION,
        spelling=spelling,
        help=_help(options),
        required=_literal(options.get("required")) is True,
    )
    if off or _literal(options.get("is_flag")) is True or isinstance(plain, bool):
        return replace(one, kind=ArgumentKind.FLAG, negation=off.strip())
    multiple = _literal(options.get("multiple")) is True
    return replace(
        one,
        type=_type(options.get("type"), plain),
        choices=_choice(options.get("type")),
        default=plain,
        repeated=multiple,
        repeat_option=multiple,
    )


def _typer_arguments(function: ast.FunctionDef) -> Iterator[ScriptArgument]:
    given = function.args
    defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    pairs = [*zip(given.args, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    for argument, default in pairs:
        yield _typer_argument(argument, default)


def _typer_argument(argument: ast.arg, default: ast.expr | None) -> ScriptArgument:
    hint, marker = _unwrap(argument.annotation)
    if isinstance(default, ast.Call) and _name(default) in ("Option", "Argument"):
        marker, default = default, (default.args[0] if default.args else None)
        if isinstance(default, ast.Constant) and default.value is ...:
            default = None
    options = {each.arg: each.value for each in marker.keywords if each.arg} if marker is not None else {}
    value = _literal(default)
    plain = value if isinstance(value, str | int | float | bool) else None
    name = argument.arg
    repeated = _name(hint) in ("list", "List", "tuple")
    base = ScriptArgument(
        name=name, type=_item_type(hint), required=default is None, repeated=repeated, default=plain, help=_help(options)
    )
    if _name(marker) == "Argument" or (default is None and _name(marker) != "Option"):
        return base
    spelled = [
        text
        for text in map(_literal, marker.args if marker is not None else ())
        if isinstance(text, str) and text.startswith("-")
    ]
    spelling = max(spelled, key=len, default=f"--{name.replace('_', '-')}").partition("/")[0]
    if _name(hint) == "bool":
        return replace(
            base, kind=ArgumentKind.FLAG, spelling=spelling, negation="" if spelled else f"--no-{spelling[2:]}", type="boolean"
        )
    return replace(base, kind=ArgumentKind.OPTION, spelling=spelling, repeat_option=repeated)


def _unwrap(hint: ast.expr | None) -> tuple[ast.expr | None, ast.Call | None]:
    """Splits `Annotated[int, typer.Option(...)]` into type and marker, and `int | None` and `Optional[int]` to `int`."""
    marker: ast.Call | None = None
    if isinstance(hint, ast.Subscript) and _name(hint.value) == "Annotated" and isinstance(hint.slice, ast.Tuple):
        marker = next((each for each in hint.slice.elts[1:] if isinstance(each, ast.Call)), None)
        hint = hint.slice.elts[0]
    if isinstance(hint, ast.Subscript) and _name(hint.value) == "Optional":
        hint = hint.slice
    if isinstance(hint, ast.BinOp):
        hint = hint.left
    return hint, marker


def _item_type(hint: ast.expr | None) -> str:
    if isinstance(hint, ast.Subscript):
        inner = hint.slice.elts[0] if isinstance(hint.slice, ast.Tuple) else hint.slice
        return _TYPES.get(_name(inner), "string")
    return _TYPES.get(_name(hint), "string")


def _type(node: ast.expr | None, default: object) -> str:
    if node is None and isinstance(default, int | float) and not isinstance(default, bool):
        return "integer" if isinstance(default, int) else "number"
    return _TYPES.get(_name(node), "string")


def _choice(node: ast.expr | None) -> tuple[str | int | float, ...]:
    if isinstance(node, ast.Call) and _name(node) == "Choice" and node.args:
        found = _literal(node.args[0])
        if isinstance(found, list | tuple) and all(isinstance(each, str | int | float) for each in found):
            return tuple(found)
    return ()


def _help(options: dict[str, ast.expr]) -> str:
    found = _literal(options.get("help"))
    return " ".join(found.split()) if isinstance(found, str) else ""


def _command_name(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _name(decorator) == "command" and decorator.args:
            given = _literal(decorator.args[0])
            if isinstance(given, str):
                return given
    return function.name.replace("_", "-")


def _line(function: ast.FunctionDef, arguments: Iterable[ScriptArgument]) -> CommandLine:
    docstring = ast.get_docstring(function) or ""
    line = CommandLine(arguments=tuple(arguments), help=docstring.partition("\n")[0])
    return add_descriptions(line, read_docstring(docstring))


def _name(node: ast.AST | None) -> str:
    match node:
        case ast.Call(func=function):
            return _name(function)
        case ast.Subscript(value=value):
            return _name(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _literal(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
