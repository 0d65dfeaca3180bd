"""The repairs, each as the edits that it proposes. `fix` verifies every edit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from metier.spec.fields import format_tools, has_outer_comma, is_name, parse_tools
from metier.spec.rules import INVISIBLE
from metier.spec.yaml import ListNode, MapNode, Node, Scalar, read_yaml, scalar_value
from metier.values import dataclass

from .frontmatter import Edit, Frontmatter, Place

__all__ = ["REPAIRS"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([Tt ].*)?")
_YAML_1_1_BOOLEANS = frozenset({"y", "n", "yes", "no", "on", "off"})
_AFTER_KEY = re.compile(r"[ \t]*:([ \t]*|[ \t]+#.*)")


def tools_as_the_standards_string(frontmatter: Frontmatter) -> Iterator[Edit]:
    """SK150 and SK151: a list or commas become one string with spaces."""
    key, node = _entry(frontmatter, "allowed-tools")
    if isinstance(node, Scalar) and has_outer_comma(node.text):
        value = format_tools(parse_tools(node.text))
        goal = _Change("SK151", "wrote allowed-tools with spaces, not commas", ("allowed-tools",), value)
        yield from _in_place_of_scalar(frontmatter, node, goal)
    elif key and isinstance(node, ListNode) and (words := _words(node)):
        value = format_tools(tool for word in words for tool in parse_tools(word))
        goal = _Change("SK150", "wrote allowed-tools as one string", ("allowed-tools",), value)
        yield from _in_place_of_list(frontmatter, key, node, goal)


def metadata_as_text(frontmatter: Frontmatter) -> Iterator[Edit]:
    """SK142, and SK143 for lists of words. A nested map has no equivalent text."""
    _, metadata = _entry(frontmatter, "metadata")
    if not isinstance(metadata, MapNode):
        return
    for key, node in metadata.entries:
        path = ("metadata", key.text)
        if isinstance(node, ListNode):
            words = _words(node)
            if words is None or any(word != word.strip() or not word or "," in word for word in words):
                continue
            text = (", " if any(" " in word for word in words) else " ").join(words)
            goal = _Change("SK143", f"wrote metadata.{key.text} as one text", path, text, in_flow=metadata.flow)
            yield from _in_place_of_list(frontmatter, key, node, goal)
        # A null means no value; the text "null" would mean something else.
        elif isinstance(node, Scalar) and _is_not_text(node) and scalar_value(node) is not None:
            written = frontmatter.written(node)
            if written and written.text == node.text:
                goal = _Change("SK142", f"quoted metadata.{key.text}", path, node.text)
                yield goal.edit(written.start, written.end, f'"{node.text}"')


def name_of_the_folder(frontmatter: Frontmatter) -> Iterator[Edit]:
    """SK101 to SK105, if the folder has a valid name."""
    folder, root = frontmatter.folder, frontmatter.root
    if folder is None or root is None or not is_name(folder):
        return
    key, node = _entry(frontmatter, "name")
    if key is None:
        goal = _Change("SK101", f"added the folder's name, {folder!r}", ("name",), folder)
        yield goal.edit((0, 0), (0, 0), " " * (root.column - 1) + f"name: {goal.written}\n")
    elif isinstance(node, Scalar) and node.text.strip():
        found = [one.code for one in frontmatter.parsed.report if one.code in ("SK102", "SK103", "SK104", "SK105")]
        if found:
            goal = _Change(found[0], f"set the name to the folder's, {folder!r}", ("name",), folder)
            yield from _in_place_of_scalar(frontmatter, node, goal)


REPAIRS: tuple[Callable[[Frontmatter], Iterator[Edit]], ...] = (
    tools_as_the_standards_string,
    metadata_as_text,
    name_of_the_folder,
)


@dataclass(frozen=True, slots=True)
class _Change:
    code: str
    message: str
    path: tuple[str, ...]
    value: str
    in_flow: bool = False
    """Inside `{...}`, commas and brackets end a plain value."""

    @property
    def written(self) -> str:
        """Returns the value plain if every parser, also YAML 1.1, reads this text; else quoted."""
        text = self.value
        root = read_yaml(f"{{key: {text}}}" if self.in_flow else f"key: {text}").root
        value = root.get("key") if isinstance(root, MapNode) and len(root.entries) == 1 else None
        is_safe = isinstance(value, Scalar) and value.text == text and not value.quoted and not _is_not_text(value)
        if is_safe and text.lower() not in _YAML_1_1_BOOLEANS:
            return text
        if INVISIBLE.search(text) or "\n" in text:
            escaped = (f"\\U{ord(char):08x}" if INVISIBLE.match(char) or char in '"\\\n' else char for char in text)
            return '"' + "".join(escaped) + '"'
        return "'" + text.replace("'", "''") + "'" if re.search(r"[\"\\]", text) else f'"{text}"'

    def edit(self, start: Place, end: Place, text: str) -> Edit:
        return Edit(start=start, end=end, text=text, code=self.code, message=self.message, path=self.path, value=self.value)


def _entry(frontmatter: Frontmatter, name: str) -> tuple[Scalar | None, Node | None]:
    entries = frontmatter.root.entries if frontmatter.root else ()
    return next(((key, value) for key, value in entries if key.text == name), (None, None))


def _words(node: ListNode) -> list[str] | None:
    words = [item.text for item in node.items if isinstance(item, Scalar)]
    return words if len(words) == len(node.items) else None


def _is_not_text(node: Scalar) -> bool:
    return not node.quoted and (not isinstance(scalar_value(node), str) or _DATE.fullmatch(node.text) is not None)


def _in_place_of_scalar(frontmatter: Frontmatter, node: Scalar, goal: _Change) -> Iterator[Edit]:
    """Keeps the quotes. Block scalars are left alone: the author chose that form."""
    written = frontmatter.written(node)
    if written is None or written.text[0] in "|>":
        return
    quote = written.text[0] if written.text[0] in "\"'" else ""
    keeps_quotes = quote and not re.search(r"[\"'\\]", goal.value)
    text = f"{quote}{goal.value}{quote}" if keeps_quotes else goal.written
    yield goal.edit(written.start, written.end, text)


def _in_place_of_list(frontmatter: Frontmatter, key: Scalar, node: ListNode, goal: _Change) -> Iterator[Edit]:
    if not node.flow:
        yield from _in_place_of_block(frontmatter, key, node, goal)
        return
    written = frontmatter.written(node)
    # A list over several lines may have comments, which do not fit on one line.
    if written and not ("\n" in written.text and "#" in written.text):
        yield goal.edit(written.start, written.end, goal.written)


def _in_place_of_block(frontmatter: Frontmatter, key: Scalar, node: ListNode, goal: _Change) -> Iterator[Edit]:
    """Moves the value to the key's line; comments between the items stay, each on a line of its own."""
    start = frontmatter.written(key)
    items = [item for item in map(frontmatter.written, node.items) if item and item.start[0] == item.end[0]]
    if start is None or not items or len(items) != len(node.items):
        return
    at, column = start.end
    after_key = _AFTER_KEY.fullmatch(frontmatter.lines[at].text[column:])
    ends = {item.end[0]: item.end[1] for item in items}
    last = max(ends)
    rests = [(line, frontmatter.lines[line].text[ends.get(line, 0) :]) for line in range(at + 1, last + 1)]
    if not after_key or any(rest.strip() and not rest.lstrip().startswith("#") for _, rest in rests):
        return
    lead = " " * (node.column - 1)
    comments = [lead + rest.strip() if line in ends else rest for line, rest in rests if rest.strip()]
    text = "\n".join([f": {goal.written}{after_key[1].rstrip()}", *comments])
    yield goal.edit((at, column), (last, len(frontmatter.lines[last].text)), text)
