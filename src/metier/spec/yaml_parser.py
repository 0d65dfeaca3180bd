"""Builds the tree of nodes from the events of PyYAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import yaml

from metier.values import dataclass, field

from .codes import problem
from .report import Problem
from .yaml import ListNode, MapNode, Node, Scalar, YamlTree

__all__ = ["parse_events"]

_DEEPEST = 24
_MOST_REFUSALS = 20
_CLOSE = "add the same quote at the end of the value, or remove this one"

# libyaml if it is there, as in all wheels of PyYAML; else the pure Python parser, which is ten times slower.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def parse_events(text: str, *, first_line: int, loader: type[yaml.BaseLoader] | None) -> YamlTree:
    builder = _Builder(first_line)
    try:
        for event in yaml.parse(text, Loader=loader or _LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.context == "while scanning a quoted scalar" and error.context_mark:
            # libyaml reports the end of the text, where it gave up.
            place = _place(error.context_mark, first_line)
            builder.refuse("SK008", "not valid YAML: the quote that opens here is not closed", *place, hint=_CLOSE)
            return YamlTree(None, tuple(builder.problems))
        said = " ".join(filter(None, (error.context, error.problem)))
        builder.refuse("SK008", f"not valid YAML: {said}", *_place(mark, first_line))
    except yaml.YAMLError as error:
        # The reader refuses control characters before there are marks; its `position` counts characters.
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) if isinstance(position, int) else 0
        builder.refuse("SK008", "not valid YAML: a control character that YAML does not allow", first_line + line, 1)
    return YamlTree(builder.root if not builder.broken else None, tuple(builder.problems))


def _place(mark: Any, first_line: int) -> tuple[int, int]:
    # Any: libyaml and the pure parser have different Mark classes with the same attributes.
    return (mark.line + first_line, mark.column + 1) if mark else (first_line, 1)


@dataclass(slots=True)
class _Open:
    """A collection that has not ended yet."""

    event: yaml.CollectionStartEvent
    place: tuple[int, int]
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class _Builder:
    """Turns events into nodes without recursion, so that deep input cannot overflow the stack."""

    first_line: int
    problems: list[Problem] = field(default_factory=list)
    root: Node | None = None
    broken: bool = False
    stack: list[_Open] = field(default_factory=list)
    documents: int = 0

    def refuse(self, code: str, message: str, line: int, column: int, hint: str = "") -> None:
        self.broken = True
        if len(self.problems) < _MOST_REFUSALS:
            self.problems.append(problem(code, message, line=line, column=column, hint=hint))

    def take(self, event: yaml.Event) -> None:
        place = _place(event.start_mark, self.first_line)
        if isinstance(event, yaml.NodeEvent):
            self._refuse_features(event, place)
        if isinstance(event, yaml.ScalarEvent):
            self._add(Scalar(event.value, *place, quoted=bool(event.style)))
        elif isinstance(event, yaml.CollectionStartEvent):
            self.stack.append(_Open(event, place))
            if len(self.stack) > _DEEPEST:
                raise yaml.MarkedYAMLError(
                    problem=f"nested more than {_DEEPEST} deep", problem_mark=cast("yaml.error.Mark", event.start_mark)
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents == 2:
                self.refuse("SK008", "a second YAML document starts here", *place, hint="frontmatter is one document")
        elif isinstance(event, yaml.AliasEvent):
            self._add(Scalar("", *place))

    def _refuse_features(self, event: yaml.NodeEvent, place: tuple[int, int]) -> None:
        if isinstance(event, yaml.AliasEvent):
            self.refuse("SK011", f"alias *{event.anchor} is not allowed", *place, hint="write the value out")
            return
        if event.anchor is not None:
            self.refuse("SK011", f"anchor &{event.anchor} is not allowed", *place, hint="write the value out where it is used")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self.refuse("SK011", f"tag {tag} is not allowed", *place, hint="quote the value if it must stay text")

    def _close(self) -> None:
        done = self.stack.pop()
        flow = bool(done.event.flow_style)
        if isinstance(done.event, yaml.SequenceStartEvent):
            self._add(ListNode(tuple(done.items), *done.place, flow=flow))
        else:
            self._add(MapNode(tuple(self._pairs(done.items)), *done.place, flow=flow))

    def _pairs(self, items: list[Node]) -> Iterator[tuple[Scalar, Node]]:
        seen: dict[str, int] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, Scalar):
                self.refuse("SK161", "a list or map cannot be a key", key.line, key.column, hint="use a plain word as the key")
                continue
            if key.text == "<<" and not key.quoted:
                self.refuse("SK011", "merge key << is not allowed", key.line, key.column, hint="write the keys out")
            if key.text in seen:
                self.refuse("SK010", f"{key.text!r} is given twice, first on line {seen[key.text]}", key.line, key.column,
                            hint="keep one of the two")  # fmt: skip
            seen.setdefault(key.text, key.line)
            yield key, value

    def _add(self, node: Node) -> None:
        if self.stack:
            self.stack[-1].items.append(node)
        elif self.root is None:
            self.root = node
