"""Frontmatter YAML as a small tree that remembers where everything stood.

The standard wants text, so a scalar stays exactly the text that was written: the name `on` is not a boolean and the
version `1.10` is not 1.1. Where a number or a truth value is meant, `resolved` applies the YAML 1.2 core rules, never
those of 1.1. Anchors, aliases, tags and merge keys are refused and duplicate keys are an error; all are collected
in one pass. Depth is capped, and no construct here can grow beyond the bytes it was written in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metier.values import dataclass

from .report import Problem

if TYPE_CHECKING:
    import yaml

__all__ = ["Json", "ListNode", "MapNode", "Node", "Scalar", "YamlTree", "read_yaml", "scalar_value", "to_json", "to_text"]

_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

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
    """The tree of `text`, whose first line is line `first_line` of its file. Never raises on bad input."""
    # Imported here: PyYAML costs 15 ms, and a clean head takes the quick road and never comes this way.
    from .yaml_parser import parse_events

    return parse_events(text, first_line=first_line, loader=loader)


def to_json(node: Node) -> Json:
    """The node as JSON values, with YAML 1.2 core meaning for unquoted scalars."""
    match node:
        case Scalar():
            return scalar_value(node)
        case ListNode():
            return [to_json(item) for item in node.items]
        case MapNode():
            return {key.text: to_json(value) for key, value in node.entries}


def to_text(node: Node) -> Json:
    """The node as JSON values with every scalar as the text that was written."""
    match node:
        case Scalar():
            return node.text
        case ListNode():
            return [to_text(item) for item in node.items]
        case MapNode():
            return {key.text: to_text(value) for key, value in node.entries}


def scalar_value(scalar: Scalar) -> bool | int | float | str | None:
    text = scalar.text
    if scalar.quoted:
        return text
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
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
