"""The description of every command, as values: for the manual pages and the reference on the site.

Everything comes from the table of commands, from click's declarations and from the examples, so that no text is written twice.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from metier.values import dataclass

from .commands import ALIASES, GROUPS, about_group, find_command
from .dispatch import root_command
from .examples import EXAMPLES

__all__ = ["CommandPage", "command_pages", "group_pages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPage:
    path: str
    """The words behind `metier`; empty for the program itself."""
    usage: str
    summary: str
    paragraphs: tuple[str, ...]
    """The text below the summary. A paragraph of several lines keeps them."""
    options: tuple[tuple[str, str], ...]
    examples: tuple[str, ...]
    other_names: tuple[str, ...] = ()
    is_group: bool = False

    @property
    def title(self) -> str:
        return f"metier {self.path}".rstrip()


def command_pages() -> Iterator[CommandPage]:
    """Yields every command once, in the order of the table; second names have no page of their own."""
    for group, rows in GROUPS.items():
        for name, (location, _) in rows.items():
            is_second = group == "skill manage" and rows[name] == GROUPS["skill"].get(name)
            if location and not is_second:
                yield _command_page(f"{group} {name}".strip())


def group_pages() -> Iterator[CommandPage]:
    """Yields the groups of commands. Their options are their commands."""
    for group, rows in GROUPS.items():
        yield CommandPage(
            path=group,
            usage=f"{f'metier {group}'.rstrip()} COMMAND [ARGUMENTS]",
            summary=about_group(group),
            paragraphs=(),
            options=tuple((name, text) for name, (_, text) in rows.items()),
            examples=EXAMPLES[group],
            is_group=True,
        )


def _command_page(path: str) -> CommandPage:
    context = click.Context(root_command(), info_name="metier")
    for word in path.split():
        group = context.command
        assert isinstance(group, click.Group)  # noqa: S101 - the table says so
        found = group.get_command(context, word)
        assert found is not None  # noqa: S101
        context = click.Context(found, info_name=word, parent=context)
    command = context.command
    summary, *paragraphs = [_unwrap(each) for each in re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))]
    records = (each.get_help_record(context) for each in command.get_params(context) if isinstance(each, click.Option))
    return CommandPage(
        path=path,
        usage=" ".join([context.command_path, *command.collect_usage_pieces(context)]),
        summary=summary,
        paragraphs=tuple(paragraphs),
        options=tuple(record for record in records if record),
        examples=EXAMPLES[path],
        other_names=tuple(_other_names(path)),
    )


def _unwrap(paragraph: str) -> str:
    """Returns the paragraph on one line, unless `\\b` or an indent asks to keep its lines."""
    if paragraph.startswith("\b\n"):
        return paragraph.removeprefix("\b\n")
    return paragraph if paragraph.startswith("    ") else " ".join(paragraph.split())


def _other_names(path: str) -> Iterator[str]:
    for group, names in ALIASES.items():
        for name in names:
            if " ".join(find_command(group, name) or ()).strip() == path:
                yield f"{group} {name}".strip()
    parent, _, last = path.rpartition(" ")
    if parent == "skill" and GROUPS["skill manage"].get(last) == GROUPS["skill"][last]:
        yield f"skill manage {last}"
