"""JSON with comments and trailing commas, changed the way its owner would: everything that is not meant stays as it is.

Editors and agents keep their settings in it, and people write notes there. So nothing is parsed and written anew; the
place is found, and only the text there is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from metier.spec import Json

__all__ = ["JsoncError", "read_jsonc", "with_item", "with_member", "without_item", "without_member"]

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_PLAIN = re.compile(r"[^\s,\]}/]+")
_DEEPEST = 200


class JsoncError(ValueError):
    """With the line at which it is."""


class _Member(NamedTuple):
    """A member of an object, or an item of an array, whose key is empty."""

    key: str
    at: int
    """The offset of its key; of an item, that of its value."""
    start: int
    end: int
    """Of its value."""
    value: Json


def read_jsonc(text: str) -> Json:
    """The value that the text stands for; an empty one, or one of comments only, is an empty object."""
    start = _blank(text, 0)
    if start == len(text):
        return {}
    value, end = _value(text, start, 0)
    if _blank(text, end) != len(text):
        raise _malformed(text, end, "more than one value")
    return value


def with_member(text: str, path: Sequence[str], value: Json) -> str:
    """The text with this value at this path of keys; objects on the way are made where there are none."""
    read_jsonc(text)  # all of it must be sound before a part of it is changed
    start = _blank(text, 0)
    if start == len(text):
        return text + ("\n" if text and not text.endswith("\n") else "") + _render(_nested(path, value), "", "  ", "\n") + "\n"
    return _with_member(text, start, path, value)


def _with_member(text: str, start: int, path: Sequence[str], value: Json) -> str:
    if text[start] != "{":
        raise _malformed(text, start, "an object is needed here")
    members, close = _members(text, start, 0)
    found = next((each for each in reversed(members) if each.key == path[0]), None)
    if found is None:
        return _insert(text, start, members, close, path[0], _nested(path[1:], value))
    if len(path) > 1 and text[found.start] == "{":
        return _with_member(text, found.start, path[1:], value)
    indent = _indent(text, found.at)
    new = _render(_nested(path[1:], value), indent, _unit(text), _newline(text))
    return text[: found.start] + new + text[found.end :]


def with_item(text: str, path: Sequence[str], value: Json) -> str:
    """Returns the text with this value as the last item of the array at this path; the array is made if it is missing."""
    read_jsonc(text)
    found = _find(text, path)
    if found is None:
        return with_member(text, path, [value])
    if text[found.start] != "[":
        raise _malformed(text, found.start, "an array is needed here")
    items, close = _items(text, found.start, 0)
    end = items[-1].end if items else close
    if items and "\n" not in text[end:close] and text[_blank(text, end)] != ",":
        return f"{text[:end]}, {json.dumps(value, ensure_ascii=False)}{text[end:]}"
    return _insert(text, found.start, items, close, None, value)


def without_item(text: str, path: Sequence[str], position: int) -> str:
    """Returns the text without one item of the array at this path."""
    found = _find(text, path)
    if found is None or text[found.start] != "[":
        return text
    items, _ = _items(text, found.start, 0)
    return _without(text, found.start, items, position)


def without_member(text: str, path: Sequence[str]) -> str:
    """Returns the text without the member at this path."""
    read_jsonc(text)
    start = _blank(text, 0)
    if path[:-1]:
        above = _find(text, path[:-1])
        start = above.start if above else len(text)
    if text[start : start + 1] != "{":
        return text
    members, _ = _members(text, start, 0)
    positions = [place for place, each in enumerate(members) if each.key == path[-1]]
    return _without(text, start, members, positions[-1]) if positions else text


def _find(text: str, path: Sequence[str]) -> _Member | None:
    start, found = _blank(text, 0), None
    for key in path:
        if text[start : start + 1] != "{":
            return None
        members, _ = _members(text, start, 0)
        found = next((each for each in reversed(members) if each.key == key), None)
        if found is None:
            return None
        start = found.start
    return found


def _without(text: str, start: int, members: Sequence[_Member], position: int) -> str:
    """Cuts one member out, with the comma and the white space that separate it. Comments around it stay."""
    gone = members[position]
    if position:
        before = members[position - 1].end
        gap = text[before : gone.at].replace(",", "", 1).rstrip()
        return text[:before] + gap + text[gone.end :]
    comma = _blank(text, gone.end)
    end = comma + 1 if text[comma : comma + 1] == "," else gone.end
    if len(members) > 1:
        return text[: gone.at] + text[end:].lstrip()
    between = text[start + 1 : gone.at].rstrip()
    return text[: start + 1] + between + (text[end:] if between else text[end:].lstrip())


def _insert(text: str, start: int, members: Sequence[_Member], close: int, key: str | None, value: Json) -> str:
    unit, newline, base = _unit(text), _newline(text), _indent(text, start)
    indent = _indent(text, members[-1].at) if members and _stands_alone(text, members[-1].at) else base + unit
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    line = f"{indent}{name}{_render(value, indent, unit, newline)}"
    # After everything that stands before the closing brace, also a remark about the last member.
    last = len(text[:close].rstrip())
    after = newline + base if not text[last:close].count("\n") else text[last:close]
    if not members:
        return f"{text[:last]}{newline}{line}{after}{text[close:]}"
    end = members[-1].end
    comma = "" if text[_blank(text, end)] == "," else ","
    return f"{text[:end]}{comma}{text[end:last]}{newline}{line}{after}{text[close:]}"


def _members(text: str, start: int, depth: int) -> tuple[list[_Member], int]:
    """The members of the object at `start`, and where its closing brace is."""
    members: list[_Member] = []
    at = _blank(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise _malformed(text, at, "a key in double quotes is needed here")
        key, end = _string(text, at)
        colon = _blank(text, end)
        if text[colon : colon + 1] != ":":
            raise _malformed(text, colon, "a colon is needed here")
        first = _blank(text, colon + 1)
        value, last = _value(text, first, depth + 1)
        members.append(_Member(key, at, first, last, value))
        at = _skip_separator(text, last, "}")
    return members, at


def _value(text: str, at: int, depth: int) -> tuple[Json, int]:
    if depth > _DEEPEST:
        raise _malformed(text, at, "it is nested too deeply")
    first = text[at : at + 1]
    if first == "{":
        members, close = _members(text, at, depth)
        return {each.key: each.value for each in members}, close + 1
    if first == "[":
        items, close = _items(text, at, depth)
        return [each.value for each in items], close + 1
    if first == '"':
        return _string(text, at)
    plain = _PLAIN.match(text, at)
    try:
        return (json.loads(plain[0]), plain.end()) if plain else _nothing(text, at)
    except ValueError:
        raise _malformed(text, at, "not a value") from None


def _items(text: str, start: int, depth: int) -> tuple[list[_Member], int]:
    items: list[_Member] = []
    at = _blank(text, start + 1)
    while text[at : at + 1] != "]":
        item, end = _value(text, at, depth + 1)
        items.append(_Member("", at, at, end, item))
        at = _skip_separator(text, end, "]")
    return items, at


def _skip_separator(text: str, at: int, close: str) -> int:
    """Returns the position of the next part or of the closing bracket. A trailing comma is allowed."""
    at = _blank(text, at)
    if text[at : at + 1] == ",":
        return _blank(text, at + 1)
    if text[at : at + 1] != close:
        raise _malformed(text, at, f"a comma or {close} is needed here")
    return at


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise _malformed(text, at, "a text that does not end")
    try:
        return str(json.loads(found[0])), found.end()
    except ValueError:
        raise _malformed(text, at, "not a text") from None


def _nothing(text: str, at: int) -> tuple[Json, int]:
    raise _malformed(text, at, "a value is missing")


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _nested(path: Sequence[str], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _render(value: Json, indent: str, unit: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _stands_alone(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _unit(text: str) -> str:
    """One step of indentation, as the file has it."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return ("\t" if found[1][0] == "\t" else found[1]) if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _malformed(text: str, at: int, why: str) -> JsoncError:
    return JsoncError(f"line {text.count(chr(10), 0, at) + 1}: {why}")
