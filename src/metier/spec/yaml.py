"""Frontmatter YAML as a small tree of nodes with their lines and columns.

The standard wants text, so a scalar keeps the text that was written: the name `on` is not a boolean and the version `1.10` is
not 1.1. Where a number or a boolean is meant, `scalar_value` applies the YAML 1.2 core rules, never those of 1.1. Anchors,
aliases, tags and merge keys are refused, and duplicate keys are an error; one pass collects them all. Depth is capped, and no
construct can grow beyond the bytes it was written in.

`quote_colons` repairs the most common mistake in public skills, `description: Use this when: asked`: a second colon without
quotes. YAML sees a key inside a value and rejects the file. The meaning is plain, so the value is quoted and parsed again, as
the client guide asks. Only lines of the form `key: words: words` are changed, never quoted or block values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metier.lazy import lazy_pattern
from metier.values import dataclass

from .report import Problem

if TYPE_CHECKING:
    import yaml

__all__ = [
    "Json",
    "ListNode",
    "MapNode",
    "Node",
    "Scalar",
    "YamlTree",
    "quote_colons",
    "quoted",
    "read_yaml",
    "scalar_value",
    "to_json",
    "to_text",
]

_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = lazy_pattern(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_PLAIN_LINE = lazy_pattern(r"(?P<lead>[ \t]*(?:-[ \t]+)?)(?P<key>[A-Za-z_][\w.-]*):[ \t]+(?P<value>[^\s\"'\[{|>&*!%@`#].*)")
_BLOCK_LINE = lazy_pattern(r"(?P<lead>[ \t]*(?:-[ \t]+)?).*:[ \t]+[|>][-+0-9]*[ \t]*(?:#.*)?")
_COLON = lazy_pattern(r":(?=[ \t]|$)")
_FLOAT = lazy_pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str
    line: int
    column: int
    quoted: bool = False
    """Quoted or a block: certainly text. Otherwise other parsers may see a number in it."""


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple[Node, ...]
    line: int
    column: int
    flow: bool = False


@dataclass(frozen=True, slots=True)
class MapNode:
    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    column: int
    flow: bool = False

    def get(self, key: str) -> Node | None:
        return next((value for name, value in self.entries if name.text == key), None)


Node = Scalar | ListNode | MapNode


@dataclass(frozen=True, slots=True)
class YamlTree:
    root: Node | None
    problems: tuple[Problem, ...] = ()


def read_yaml(text: str, *, first_line: int = 1, loader: type[yaml.BaseLoader] | None = None) -> YamlTree:
    """Returns the tree of `text`, whose first line is line `first_line` of its file. Never raises on bad input."""
    # Imported here: PyYAML takes 15 ms to import, and `fast_yaml` reads most skills without it.
    from .yaml_parser import parse_events

    return parse_events(text, first_line=first_line, loader=loader)


def to_json(node: Node) -> Json:
    """Returns the node as JSON values, with the YAML 1.2 core meaning of unquoted scalars."""
    match node:
        case Scalar():
            return scalar_value(node)
        case ListNode():
            return [to_json(item) for item in node.items]
        case MapNode():
            return {key.text: to_json(value) for key, value in node.entries}


def to_text(node: Node) -> Json:
    """Returns the node as JSON values, with every scalar as the text that was written."""
    match node:
        case Scalar():
            return node.text
        case ListNode():
            return [to_text(item) for item in node.items]
        case MapNode():
            return {key.text: to_text(value) for key, value in node.entries}


def scalar_value(scalar: Scalar) -> bool | int | float | str | None:
    """Returns the YAML 1.2 core value of a scalar; a quoted one is always text."""
    text = scalar.text
    if scalar.quoted:
        return text
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        if len(text) >= 20:
            # Too long for the integers of other languages, and a float would lose digits: keep what was written.
            return text
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text) and len(text) < 40:
        number = float(text)
        # 1e999 is infinite, and JSON has no such number: keep what was written.
        return number if abs(number) < float("inf") else text
    return text


def quote_colons(frontmatter: str) -> tuple[str, list[tuple[str, int, int]]]:
    """Returns `frontmatter` with such values quoted, and the key, line (from 0) and column (from 1) of each."""
    lines = frontmatter.split("\n")
    changed: list[tuple[str, int, int]] = []
    at = 0
    while at < len(lines):
        match = _PLAIN_LINE.fullmatch(lines[at])
        block = _BLOCK_LINE.fullmatch(lines[at])
        end = at + 1
        if block:
            # Inside a block every character is text already, colons too.
            end = _value_end(lines, end, len(block["lead"]), over_blanks=True)
        elif match:
            # A plain value continues over the following lines that are indented deeper than its key.
            end = _value_end(lines, end, len(match["lead"]), over_blanks=False)
            value = "\n".join([match["value"], *lines[at + 1 : end]])
            if _COLON.search(value):
                lines[at:end] = (f"{match['lead']}{match['key']}: " + quoted(value)).split("\n")
                changed.append((match["key"], at, match.start("value") + 1))
        at = end
    return "\n".join(lines), changed


def quoted(value: str) -> str:
    """Returns a plain value with single quotes: line folding stays the same, and only quotes are doubled."""
    return "'" + value.rstrip().replace("'", "''") + "'"


def _value_end(lines: list[str], at: int, indent: int, *, over_blanks: bool) -> int:
    """Returns the first line from `at` on that is not indented deeper than the key, where the value ends."""
    while at < len(lines) and (_indent(lines[at]) > indent if lines[at].strip() else over_blanks):
        at += 1
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
