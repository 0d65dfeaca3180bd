"""`metier man`: the manual pages, made from the commands themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from metier import __version__
from metier.app import App
from metier.sources import replace_bytes

from .core.command_pages import CommandPage, command_pages, group_pages
from .core.dispatch import command
from .core.result import Result
from .core.terminal import plural, shorten

__all__ = ["man", "manual_pages"]


@command("", "man")
@click.option("--folder", metavar="DIR", type=click.Path(), help="Folder of manuals; by default ~/.local/share/man.")
def man(app: App, *, folder: str | None) -> Result:
    """Write the manual pages of every command, so that `man metier-skill-install` works.

    Run it again after an upgrade. `man` searches ~/.local/share/man if ~/.local/bin is on your PATH.
    """
    section = os.path.join(app.folder, os.path.expanduser(folder or "~/.local/share/man"), "man1")
    pages = dict(manual_pages())
    os.makedirs(section, exist_ok=True)
    for name, text in pages.items():
        replace_bytes(os.path.join(section, name), text.encode(), mode=0o644)
    shown = shorten(section, app.paths.user_home)
    line = f"Wrote {plural(len(pages), 'manual page')} to {shown}; try `man metier-skill-install`"
    return Result(data={"folder": section, "pages": list(pages)}, lines=lambda _: (line,))


def manual_pages() -> Iterator[tuple[str, str]]:
    """Yields the file name and the text of every manual page."""
    pages = {_name(page): page for page in (*group_pages(), *command_pages())}
    for name, page in pages.items():
        yield f"{name}.1", _render(name, page, [each for each in _related(page) if each in pages])


def _name(page: CommandPage) -> str:
    return page.title.replace(" ", "-")


def _render(name: str, page: CommandPage, related: list[str]) -> str:
    lines = [
        f'.TH "{name.upper()}" "1" "" "metier {__version__}" "metier"',
        ".SH NAME",
        rf"{_escape(name)} \- {_escape(page.summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        rf".B {_escape(page.usage)}",
    ]
    if page.paragraphs or page.other_names:
        lines.append(".SH DESCRIPTION")
        for paragraph in page.paragraphs:
            lines += [".PP", *_paragraph(paragraph)]
        if page.other_names:
            names = ", ".join(f"metier {each}" for each in page.other_names)
            lines += [".PP", _escape(f"Other names: {names}.")]
    lines.append(".SH COMMANDS" if page.is_group else ".SH OPTIONS")
    for option, text in page.options:
        lines += [".TP", rf".B {_escape(option)}", _escape(text)]
    lines += [".SH EXAMPLES", ".nf", *(_escape(each) for each in page.examples), ".fi"]
    lines += [".SH SEE ALSO", ", ".join(rf"\fB{_escape(each)}\fR(1)" for each in related)]
    return "\n".join(lines) + "\n"


def _paragraph(text: str) -> list[str]:
    if "\n" not in text and not text.startswith(" "):
        return [_escape(text)]
    return [".nf", *(_escape(line) for line in text.split("\n")), ".fi"]


def _related(page: CommandPage) -> list[str]:
    """Returns the page one level up, and for a group those of its commands."""
    up = [_name(page).rpartition("-")[0] if " " in page.path else "metier"] if page.path else []
    return [*up, *(f"{_name(page)}-{command}" for command, _ in page.options if page.is_group)]


def _escape(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
