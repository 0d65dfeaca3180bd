"""Reads the command line of a script that uses argparse, from its syntax tree.

Follows parsers through variables, aliases (`add = parser.add_argument`), helper functions that take one, and loops over
several. Arguments that are computed at run time are left out; a value that is not a literal is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from metier.values import dataclass, field, replace

from .command_line import ArgumentKind, CommandLine, ScriptArgument

__all__ = ["read_argparse"]

_TYPES = {"int": "integer", "float": "number", "str": "string", "Path": "string"}
_FLAGS = frozenset({"store_true", "store_false", "BooleanOptionalAction", "store_const", "count"})
_MAX_DEPTH = 6


@dataclass(slots=True)
class _Parser:
    arguments: list[ScriptArgument] = field(default_factory=list)
    commands: dict[str, _Parser] = field(default_factory=dict)
    help: str = ""

    def line(self) -> CommandLine:
        arguments = {each.name: each for each in self.arguments}
        commands = {name: parser.line() for name, parser in self.commands.items()}
        return CommandLine(arguments=tuple(arguments.values()), commands=commands, help=self.help)


@dataclass(frozen=True, slots=True)
class _Adder:
    """An alias of `parser.add_argument`."""

    parser: _Parser


@dataclass(frozen=True, slots=True)
class _Commands:
    """The result of `add_subparsers`."""

    parser: _Parser


_Known = _Parser | _Adder | _Commands


def read_argparse(tree: ast.Module) -> CommandLine | None:
    if "ArgumentParser" not in {
        node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in ast.walk(tree)
    }:
        return None
    reader = _Reader({node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)})
    reader.block(tree.body, {}, 0)
    for function in reader.functions.values():
        if any(_called(node) == "ArgumentParser" for node in ast.walk(function)):
            reader.block(function.body, {}, 0)
    # The parser with the most arguments is the one that the program uses.
    made = max(reader.made, key=lambda parser: len(parser.arguments) + 10 * len(parser.commands), default=None)
    return made.line() if made is not None and (made.arguments or made.commands) else None


class _Reader:
    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self.functions = functions
        self.made: list[_Parser] = []

    def block(self, body: Sequence[ast.stmt], known: dict[str, _Known], depth: int) -> None:
        for statement in body:
            self.statement(statement, known, depth)

    def statement(self, statement: ast.stmt, known: dict[str, _Known], depth: int) -> None:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                found = self.value(value, known, depth)
                if found is not None:
                    known[name] = found
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                self.value(value, known, depth)
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=items) | ast.List(elts=items), body=body):
                for item in items:
                    one = self.value(item, known, depth)
                    if one is not None:
                        self.block(body, {**known, name: one}, depth)
            case ast.With(body=body) | ast.Try(body=body):
                self.block(body, known, depth)
            case ast.If(body=body, orelse=other):
                self.block(body, known, depth)
                self.block(other, known, depth)

    def value(self, node: ast.expr, known: dict[str, _Known], depth: int) -> _Known | None:
        match node:
            case ast.Name(id=name):
                return known.get(name)
            case ast.Tuple(elts=items):
                # `add("--title"), add("--subtitle")` on one line.
                for item in items:
                    self.value(item, known, depth)
            case ast.Attribute(value=owner, attr="add_argument"):
                parser = self.value(owner, known, depth)
                return _Adder(parser) if isinstance(parser, _Parser) else None
            case ast.Call():
                return self.call(node, known, depth)
        return None

    def call(self, node: ast.Call, known: dict[str, _Known], depth: int) -> _Known | None:
        name = _called(node)
        if name == "ArgumentParser":
            self.made.append(_Parser(help=_text(node, "description")))
            return self.made[-1]
        if isinstance(node.func, ast.Attribute):
            return self.method(node, node.func, known, depth)
        called = known.get(name)
        if isinstance(called, _Adder):
            _add(called.parser, node)
        elif name in self.functions and depth < _MAX_DEPTH:
            self.inline(self.functions[name], node, known, depth)
        return None

    def method(self, node: ast.Call, function: ast.Attribute, known: dict[str, _Known], depth: int) -> _Known | None:
        owner = self.value(function.value, known, depth)
        match owner, function.attr:
            case _Parser(), "add_argument":
                _add(owner, node)
            case _Parser(), "add_subparsers":
                return _Commands(owner)
            case _Parser(), "add_argument_group" | "add_mutually_exclusive_group":
                return owner
            case _Commands(parser=parser), "add_parser":
                name = _literal(node.args[0]) if node.args else None
                if isinstance(name, str):
                    parser.commands[name] = _Parser(help=_text(node, "help"))
                    return parser.commands[name]
        return None

    def inline(self, function: ast.FunctionDef, node: ast.Call, known: dict[str, _Known], depth: int) -> None:
        given = [self.value(each, known, depth) for each in node.args]
        names = [each.arg for each in function.args.args]
        inside = {name: value for name, value in zip(names, given, strict=False) if value is not None}
        if inside:
            self.block(function.body, inside, depth + 1)


def _add(parser: _Parser, node: ast.Call) -> None:
    names = [name for name in map(_literal, node.args) if isinstance(name, str)]
    if not names:
        return
    options = {each.arg: each.value for each in node.keywords if each.arg}
    action = _name_of(options.get("action"))
    if action in ("help", "version"):
        return
    spelling = max(names, key=len) if names[0].startswith("-") else ""
    nargs = _literal(options.get("nargs"))
    default = _literal(options.get("default"))
    one = ScriptArgument(name=(spelling or names[0]).lstrip("-").replace("-", "_"), help=_text(node, "help"), spelling=spelling)
    if action in _FLAGS:
        negation = f"--no-{spelling[2:]}" if action == "BooleanOptionalAction" else ""
        parser.arguments.append(replace(one, kind=ArgumentKind.FLAG, negation=negation))
        return
    appends = action in ("append", "extend")
    needed = _literal(options.get("required")) is True if spelling else nargs not in ("?", "*") and "default" not in options
    parser.arguments.append(
        replace(
            one,
            kind=ArgumentKind.OPTION if spelling else ArgumentKind.POSITIONAL,
            type=_type(options.get("type"), default),
            choices=_choices(options.get("choices")),
            default=default if isinstance(default, str | int | float | bool) else None,
            required=needed,
            repeat_option=appends,
            repeated=appends or nargs in ("*", "+") or (isinstance(nargs, int) and nargs > 1),
        )
    )


def _called(node: ast.AST) -> str:
    return _name_of(node.func) if isinstance(node, ast.Call) else ""


def _name_of(node: ast.expr | None) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str() as text):
            return text
    return ""


def _literal(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _text(node: ast.Call, name: str) -> str:
    value = next((each.value for each in node.keywords if each.arg == name), None)
    if isinstance(value, ast.JoinedStr):
        # Computed parts are replaced by an ellipsis.
        parts = [part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "…" for part in value.values]
        return " ".join("".join(map(str, parts)).split())
    found = _literal(value)
    return " ".join(found.replace("%(default)s", "").replace("%%", "%").split()) if isinstance(found, str) else ""


def _type(node: ast.expr | None, default: object) -> str:
    name = _name_of(node)
    if name in _TYPES:
        return _TYPES[name]
    if isinstance(node, ast.Call):
        # `bounded(int, 1, 10)`: a factory that takes the type.
        named = [_TYPES[each] for each in map(_name_of, node.args) if each in ("int", "float")]
        if named:
            return named[0]
    if node is not None and isinstance(default, int | float) and not isinstance(default, bool):
        # A custom converter; its default shows the type.
        return "integer" if isinstance(default, int) else "number"
    return "string"


def _choices(node: ast.expr | None) -> tuple[str | int | float, ...]:
    found = _literal(node)
    if isinstance(found, dict | list | tuple | set) and all(isinstance(each, str | int | float) for each in found):
        return tuple(sorted(found) if isinstance(found, set) else found)
    return ()
