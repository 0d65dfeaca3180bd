"""Keeps the comment above a table with that table.

tomlkit counts a comment above `[cache]` as the end of the table before it, and would write a new key of that table between the
comment and `[cache]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.container import Container
    from tomlkit.items import Table

__all__ = ["comments_at_tables"]

# Blank lines, then the comments that stand directly above the header.
_LEADING = re.compile(r"^(?:[ \t]*\r?\n)*(?:[ \t]*#[^\n]*\n)*[ \t]*\Z", re.MULTILINE)


@contextmanager
def comments_at_tables(document: TOMLDocument) -> Iterator[None]:
    """For the block, takes the comments and blank lines above each table out of the document; then puts them back above it."""
    taken: list[tuple[Table, str]] = []
    _take(document, [], taken)
    yield
    for table, text in taken:
        # Not before: tomlkit indents new keys of a table like its header.
        table.trivia.indent = text + table.trivia.indent


def _take(container: Container, above: list[tuple[Container, int]], taken: list[tuple[Table, str]]) -> None:
    """`above` are the comments and blank lines since the last key, each with the container that holds it."""
    from tomlkit.items import AoT, Comment, Table, Whitespace

    for place, (_, item) in enumerate(container.body):
        if isinstance(item, Comment | Whitespace):
            above.append((container, place))
        elif isinstance(item, Table | AoT):
            for table in item.body if isinstance(item, AoT) else (item,):
                if not table.is_super_table():
                    taken.append((table, _leading_text(above)))
                    above.clear()
                _take(table.value, above, taken)
        else:
            above.clear()


def _leading_text(above: list[tuple[Container, int]]) -> str:
    """Removes the text that belongs to the next header from the containers, and returns it."""
    from tomlkit.items import Null

    texts = [container.body[place][1].as_string() for container, place in above]
    found = _LEADING.search("".join(texts))
    kept, moved = found.start() if found else 0, ""
    for (container, place), text in zip(above, texts, strict=True):
        if kept <= 0:
            container.body[place] = (None, Null())
            moved += text
        kept -= len(text)
    return moved
