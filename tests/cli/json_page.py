"""docs/json.md as data: the fields and types of the document that each command prints with --json.

A section is headed by the commands that it is about, or by the name of a shape that other sections refer to. A row of its table
has fields, their type and their meaning. `a[].b` is the field `b` of each item of the list `a`, and `*` is any name. A type is
`text`, `number`, `boolean`, `any`, the name of a section, `list of` or `map of` a type, and may end with `or null`. A row
without a field gives the whole object the fields of another section.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "Field", "complaints", "examples", "field_names", "fields", "sections"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
_KINDS = {str: "text", bool: "boolean", int: "number", float: "number"}


@dataclass
class Field:
    """What is documented at one place of a document."""

    kinds: set[str] = field(default_factory=set)
    inner: dict[str, Field] = field(default_factory=dict)

    def at(self, path: str) -> Field:
        found = self
        for name in re.findall(r"[^.\[\]]+|\[\]", path):
            found = found.inner.setdefault(name, Field())
        return found

    def add(self, kind: str) -> None:
        if kind.endswith(" or null"):
            self.kinds.add("null")
            kind = kind.removesuffix(" or null")
        if kind.startswith("list of "):
            self.at("[]").add(kind.removeprefix("list of "))
        elif kind.startswith("map of "):
            self.at("*").add(kind.removeprefix("map of "))
        elif kind in ("text", "number", "boolean", "any"):
            self.kinds.add(kind)
        else:
            self.merge(fields(kind))

    def merge(self, other: Field) -> None:
        self.kinds |= other.kinds
        for name, each in other.inner.items():
            self.inner.setdefault(name, Field()).merge(each)

    def paths(self, at: str = "") -> Iterator[str]:
        """The paths of all fields that have no fields below them."""
        if not self.inner or (set(self.inner) == {"[]"} and not self.inner["[]"].inner):
            yield at
        else:
            for name, each in self.inner.items():
                yield from each.paths(f"{at}[]" if name == "[]" else f"{at}.{name}" if at else name)


@cache
def sections() -> dict[str, str]:
    """The text of each section, by command and by shape."""
    found = {}
    for section in re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        for name in re.findall(r"`([^`]+)`", heading):
            found[name] = re.split(r"^## ", text, flags=re.MULTILINE)[0]
    return found


@cache
def fields(name: str) -> Field:
    """The fields of a section."""
    root = Field()
    for names, kind in re.findall(r"^\| ((?:`[^`|]+`(?:, )?)*) ?\| ([^|]+) \|", sections()[name], re.MULTILINE):
        for path in re.findall(r"`([^`]+)`", names) or [""]:
            root.at(path).add(re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", kind))
    return root


def complaints(name: str, data: object) -> list[str]:
    """The fields of a document that the page does not name, or names with another type."""
    if name not in sections():
        return [f"{name} has no section"]
    return list(_complaints(data, fields(name), ""))


def _complaints(value: object, known: Field, at: str) -> Iterator[str]:
    if "any" in known.kinds:
        return
    if isinstance(value, dict):
        for key, each in value.items():
            place = f"{at}.{key}" if at else str(key)
            if inner := known.inner.get(key) or known.inner.get("*"):
                yield from _complaints(each, inner, place)
            else:
                yield f"{place} is not on the page"
    elif isinstance(value, list):
        if "[]" not in known.inner:
            yield f"{at} is a list, but the page says {_words(known)}"
        else:
            for each in value:
                yield from _complaints(each, known.inner["[]"], f"{at}[]")
    elif value is None:
        if "null" not in known.kinds and not known.inner:
            yield f"{at} is null, but the page says {_words(known)}"
    elif _KINDS[type(value)] not in known.kinds:
        yield f"{at} is {_KINDS[type(value)]}, but the page says {_words(known)}"


def _words(known: Field) -> str:
    return " or ".join(sorted(known.kinds)) or "an object"


def examples(name: str) -> list[Any]:
    """The documents that the section shows."""
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", sections()[name], re.MULTILINE | re.DOTALL)]


def field_names() -> set[str]:
    """The names of all fields of all sections."""
    return {
        part
        for text in sections().values()
        for names in re.findall(r"^\| ((?:`[^`|]+`(?:, )?)+) \|", text, re.MULTILINE)
        for path in re.findall(r"`([^`]+)`", names)
        for part in re.findall(r"[^.\[\]*]+", path)
    }
