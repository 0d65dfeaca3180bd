"""The rules of the standard for its six fields. Each is one function over the frontmatter, and yields all problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from metier.errors import suggested_name
from metier.lazy import lazy_pattern

from .codes import problem
from .fields import MAX_NAME_LENGTH, format_tools, has_outer_comma, is_balanced, parse_tools
from .manifest import STANDARD_KEYS
from .report import Problem
from .yaml import ListNode, MapNode, Node, Scalar, scalar_value

__all__ = ["INVISIBLE", "MAX_COMPATIBILITY_LENGTH", "MAX_DESCRIPTION_LENGTH", "check_fields", "looks_like_a_date"]

MAX_DESCRIPTION_LENGTH = 1024
MAX_COMPATIBILITY_LENGTH = 500

INVISIBLE = lazy_pattern(
    # Zero-width joiners are allowed: emoji, Persian and Indic scripts need them.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_DATE = lazy_pattern(r"\d{4}-\d{2}-\d{2}([Tt ].*)?")

Rule = Callable[[MapNode, str | None], Iterator[Problem]]


def check_fields(fields: MapNode, folder: str | None) -> Iterator[Problem]:
    """Applies every rule. `folder` is the name of the skill's folder, if there is one."""
    for rule in _RULES:
        yield from rule(fields, folder)


def name_is_present(fields: MapNode, folder: str | None) -> Iterator[Problem]:
    node = fields.get("name")
    if node is None:
        hint = f"add `name: {suggested_name(folder)}`" if folder and suggested_name(folder) else "add `name: my-skill`"
        yield problem("SK101", "there is no name", hint=hint, line=fields.line, column=fields.column)
    elif not isinstance(node, Scalar) or not node.text.strip():
        yield _at(node, "SK106", "the name is not a text")


def name_is_well_formed(fields: MapNode, folder: str | None) -> Iterator[Problem]:
    node = fields.get("name")
    if not isinstance(node, Scalar) or not node.text.strip():
        return
    name = node.text.strip()
    slug = suggested_name(name)
    hint = f"use {slug!r}" if slug and slug != name else "use a-z, 0-9 and single hyphens"
    if not re.fullmatch(r"[a-z0-9-]*", name):
        yield _at(node, "SK102", f"the name {_cut(name)} has characters other than a-z, 0-9 and -", hint)
    if len(name) > MAX_NAME_LENGTH:
        yield _at(node, "SK103", f"the name has {len(name)} characters, {MAX_NAME_LENGTH} are allowed", hint)
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield _at(node, "SK104", f"the name {_cut(name)} has a hyphen at an end, or two in a row", hint)
    if folder is not None and name != folder:
        yield _at(node, "SK105", f"the name is {_cut(name)} but the folder is {_cut(folder)}", "rename one of the two")


def description_is_text(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    node = fields.get("description")
    hint = "say what the skill does and when to use it"
    if node is None:
        yield problem("SK110", "there is no description", hint=hint, line=fields.line, column=fields.column)
    elif not isinstance(node, Scalar):
        yield _at(node, "SK112", "the description is not a text", hint)
    elif not node.text.strip() or (not node.quoted and scalar_value(node) is None):
        yield _at(node, "SK110", "the description is empty", hint)
    elif len(node.text.strip()) > MAX_DESCRIPTION_LENGTH:
        length = len(node.text.strip())
        yield _at(node, "SK111", f"the description has {length:,} characters, {MAX_DESCRIPTION_LENGTH:,} are allowed",
                  "keep what and when, and move the rest into the body")  # fmt: skip


def compatibility_is_short_text(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    node = fields.get("compatibility")
    if node is None:
        return
    if not isinstance(node, Scalar) or not node.text.strip():
        yield _at(node, "SK120", "compatibility is not a text", "write it as a sentence, or leave the key out")
    elif len(node.text.strip()) > MAX_COMPATIBILITY_LENGTH:
        yield _at(
            node, "SK121", f"compatibility has {len(node.text.strip())} characters, {MAX_COMPATIBILITY_LENGTH} are allowed"
        )


def license_is_text(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    node = fields.get("license")
    if node is not None and (not isinstance(node, Scalar) or not node.text.strip()):
        yield _at(node, "SK130", "license is not a text", "name the licence, such as MIT, or the file that holds it")


def metadata_is_text_to_text(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    node = fields.get("metadata")
    if node is None:
        return
    if not isinstance(node, MapNode):
        if not (isinstance(node, Scalar) and not node.quoted and not node.text):
            yield _at(node, "SK140", "metadata is not a map", "write one `key: value` a line under it")
        return
    for key, value in node.entries:
        if isinstance(value, ListNode) and all(isinstance(item, Scalar) for item in value.items):
            yield _at(value, "SK143", f"metadata.{key.text} is a list", "write the words with spaces between them")
        elif not isinstance(value, Scalar):
            yield _at(value, "SK141", f"metadata.{key.text} is not a text", "flatten it into several keys")
        elif not value.quoted and (not isinstance(scalar_value(value), str) or looks_like_a_date(value.text)):
            yield _at(value, "SK142", f"metadata.{key.text} is not quoted, so other parsers do not read it as text",
                      f'write "{value.text}"')  # fmt: skip


def allowed_tools_is_the_standards_string(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    node = fields.get("allowed-tools")
    if node is None or (isinstance(node, Scalar) and not node.text):
        return
    if not isinstance(node, Scalar):
        hint = "write the tools in one line with spaces between them"
        if isinstance(node, ListNode) and all(isinstance(item, Scalar) for item in node.items):
            hint = f"write `{format_tools(item.text for item in node.items if isinstance(item, Scalar))}`"
        yield _at(node, "SK150", "allowed-tools is not a string", hint)
        return
    if not is_balanced(node.text):
        yield _at(node, "SK152", "a parenthesis in allowed-tools is not closed or not opened")
    if has_outer_comma(node.text):
        yield _at(
            node, "SK151", "allowed-tools has commas between its tools", f"write `{format_tools(parse_tools(node.text))}`"
        )


def keys_are_known(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    for key, _ in fields.entries:
        if key.text not in STANDARD_KEYS:
            near = next((known for known in STANDARD_KEYS if known == key.text.lower().replace("_", "-")), None)
            hint = f"write {near!r}" if near else f"move it under metadata, or use it where the client reads {key.text!r}"
            yield _at(key, "SK160", f"{_cut(key.text)} is not a key of the standard", hint)


def text_can_be_seen(fields: MapNode, folder: str | None) -> Iterator[Problem]:  # noqa: ARG001
    for key, value in fields.entries:
        nodes = [inner for _, inner in value.entries] if isinstance(value, MapNode) else [value]
        for node in nodes:
            unseen = INVISIBLE.search(node.text) if isinstance(node, Scalar) else None
            if unseen:
                yield _at(node, "SK162", f"{_cut(key.text)} holds the invisible character U+{ord(unseen[0]):04X}", "delete it")


_RULES: tuple[Rule, ...] = (
    name_is_present,
    name_is_well_formed,
    description_is_text,
    compatibility_is_short_text,
    license_is_text,
    metadata_is_text_to_text,
    allowed_tools_is_the_standards_string,
    keys_are_known,
    text_can_be_seen,
)


def looks_like_a_date(text: str) -> bool:
    """Returns whether some YAML parsers read the text as a date."""
    return _DATE.fullmatch(text) is not None


def _at(node: Node, code: str, message: str, hint: str = "") -> Problem:
    return problem(code, message, hint=hint, line=node.line, column=node.column)


def _cut(text: str) -> str:
    return repr(text if len(text) <= 70 else text[:69] + "…")
