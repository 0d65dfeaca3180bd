"""The compat verdict: the answer of the reference validator, skills-ref 0.1.1, also where it departs from the standard.

The conformance corpus has a row for each of its habits: the first `---` anywhere ends the frontmatter; YAML is the subset that
strictyaml takes (no flow collections, anchors, tags, duplicate keys or tabs); names are folded by NFKC and may use any
alphabet; an empty compatibility passes and a list under allowed-tools passes. Where it crashes (bytes that are not UTF-8, a
NUL byte, a folder called SKILL.md) the verdict here is a plain no.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import TypeGuard

import yaml

from .codes import problem
from .fields import MAX_NAME_LENGTH
from .manifest import STANDARD_KEYS
from .report import Problem, Report
from .rules import MAX_COMPATIBILITY_LENGTH, MAX_DESCRIPTION_LENGTH
from .yaml import ListNode, MapNode, Node, Scalar, read_yaml

__all__ = ["check_compat"]


def check_compat(data: bytes, *, folder: str) -> Report:
    return Report.of(_problems(data, folder))


def _problems(data: bytes, folder: str) -> Iterator[Problem]:
    try:
        # The reference opens the file in text mode, which turns every line end into one \n.
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        yield problem("SK003", "the file is not UTF-8")
        return
    if not text.startswith("---"):
        yield problem("SK005", "the file does not start with `---`", line=1, column=1)
        return
    parts = text.split("---", 2)
    if len(parts) < 3:
        yield problem("SK006", "no second `---` closes the frontmatter", line=1, column=1)
        return
    yield from _head_problems(parts[1], folder)


def _head_problems(frontmatter: str, folder: str) -> Iterator[Problem]:
    if "\0" in frontmatter:
        yield problem("SK004", "holds a NUL byte")
        return
    tree = read_yaml(frontmatter, loader=_Forked)
    refused = [*tree.problems, *(_beyond_strictyaml(tree.root) if tree.root else ())]
    if refused:
        yield from refused
        return
    if not isinstance(tree.root, MapNode):
        yield problem("SK009", "the frontmatter is not a mapping", line=1, column=1)
        return
    yield from _field_problems(tree.root, folder)


def _beyond_strictyaml(root: Node) -> Iterator[Problem]:
    """Yields what YAML allows and strictyaml rejects."""
    if isinstance(root, Scalar):
        return
    if root.flow:
        yield problem("SK008", "strictyaml takes no flow collections", line=root.line, column=root.column)
        return
    if isinstance(root, MapNode):
        maps = [value for _, value in root.entries if isinstance(value, MapNode)]
        for later in maps[1:]:
            if later.column != maps[0].column:
                yield problem("SK008", "strictyaml wants sibling maps at one indentation", line=later.line, column=later.column)
    for child in _children(root):
        yield from _beyond_strictyaml(child)


class _Forked(yaml.BaseLoader):
    """PyYAML's Python parser, of which strictyaml carries a fork, with that fork's changes that alter the answer."""

    def forward(self, length: int = 1) -> None:
        # Only CR and LF move to the next line; NEL and the Unicode separators are wide characters there.
        if self.pointer + length + 1 >= len(self.buffer):
            self.update(length + 1)
        for _ in range(length):
            char = self.buffer[self.pointer]
            self.pointer += 1
            self.index += 1
            if char == "\n":
                self.line += 1
                self.column = 0
            elif char != "\ufeff":
                self.column += 1

    def parse_block_mapping_key(self) -> yaml.Event:
        if self.check_token(yaml.ValueToken):
            # `: value` has an empty key.
            self.state = self.parse_block_mapping_value
            return self.process_empty_scalar(self.peek_token().start_mark)  # type: ignore[no-untyped-call]
        return super().parse_block_mapping_key()  # type: ignore[no-untyped-call,no-any-return]


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, ListNode):
        yield from node.items
    elif isinstance(node, MapNode):
        for _, value in node.entries:
            yield value


def _field_problems(fields: MapNode, folder: str) -> Iterator[Problem]:
    for key, _ in fields.entries:
        if key.text not in STANDARD_KEYS:
            yield problem("SK160", f"unexpected field {key.text!r}", line=key.line, column=key.column)
    yield from _name_problems(fields.get("name"), folder)
    description = fields.get("description")
    if not _is_text(description) or not description.text.strip():
        yield problem("SK110", "the description is missing or empty")
    elif len(description.text) > MAX_DESCRIPTION_LENGTH:
        yield problem("SK111", f"the description has {len(description.text)} characters", line=description.line)
    compatibility = fields.get("compatibility")
    if compatibility is not None:
        if not _is_text(compatibility):
            yield problem("SK120", "compatibility is not a text", line=compatibility.line)
        elif len(compatibility.text) > MAX_COMPATIBILITY_LENGTH:
            yield problem("SK121", f"compatibility has {len(compatibility.text)} characters", line=compatibility.line)


def _name_problems(node: Node | None, folder: str) -> Iterator[Problem]:
    if not _is_text(node) or not node.text.strip():
        yield problem("SK101", "the name is missing or empty")
        return
    name = unicodedata.normalize("NFKC", node.text.strip())
    if len(name) > MAX_NAME_LENGTH:
        yield problem("SK103", f"the name has {len(name)} characters", line=node.line)
    if name != name.lower() or not all(char.isalnum() or char == "-" for char in name):
        yield problem("SK102", "the name has characters other than lowercase letters, digits and hyphens", line=node.line)
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield problem("SK104", "the name has a hyphen at an end, or two in a row", line=node.line)
    if unicodedata.normalize("NFKC", folder) != name:
        yield problem("SK105", f"the name is not the folder's, {folder!r}", line=node.line)


def _is_text(node: Node | None) -> TypeGuard[Scalar]:
    # A bare `=` is YAML 1.1's "default value", which strictyaml leaves as an object of its own.
    return isinstance(node, Scalar) and (node.quoted or node.text != "=")
