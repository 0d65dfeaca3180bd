"""Changing the user's configuration file the way its owner would: comments, order and spacing stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metier.errors import ConfigError, UsageError
from metier.sources import file_lock, replace_text

from .keys import Key, Kind, Plain
from .settings import checked

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["change_rows", "change_words", "parse_words", "set_value", "unset_value"]


def set_value(file: Path, key: Key, value: Plain) -> None:
    plain = list(value) if isinstance(value, tuple) else value

    def put(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        _table(document, tables, file)[leaf] = plain

    _edit(file, put)


def unset_value(file: Path, key: Key) -> None:
    def drop(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        if tables[0] in document:
            _table(document, tables, file).pop(leaf, None)

    if file.exists():
        _edit(file, drop)


def change_words(file: Path, key: Key, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
    """Add to or take from a list without touching its other words, however many of us do it at once."""

    def change(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        table = _table(document, tables, file)
        words = checked(key, table.get(leaf, []), file=str(file), line=None, base=file.parent)
        kept = [word for word in words if word not in remove]
        if add or leaf in table:
            table[leaf] = kept + [word for word in add if word not in kept]

    _edit(file, change)


def change_rows(file: Path, key: Key, change: Callable[[dict[str, object]], bool]) -> None:
    """Change the rows of a list of tables in place; a row for which `change` says False is taken out."""

    def each(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        table = _table(document, tables, file)
        rows = table.get(leaf)
        if isinstance(rows, list):
            for number in reversed(range(len(rows))):
                if not change(rows[number]):
                    del rows[number]
            if not rows:
                del table[leaf]

    if file.exists():
        _edit(file, each)


def parse_words(key: Key, words: Sequence[str]) -> Plain:
    """What was typed on the command line, as the key's type."""
    if key.kind is Kind.TABLE:
        raise UsageError(f"{key.name} is a table", hint="edit the configuration file; `metier config path` prints where it is")
    if key.kind is Kind.WORDS:
        return tuple(words)
    if len(words) != 1:
        raise UsageError(f"{key.name} takes one value, not {len(words)}", hint=f"it is a {key.kind}")
    value: object = words[0]
    if key.kind is Kind.NUMBER and re.fullmatch(r"-?\d{1,9}", words[0]):
        value = int(words[0])
    if key.kind is Kind.TRUTH and words[0].lower() in ("true", "false", "yes", "no", "on", "off"):
        value = words[0].lower() in ("true", "yes", "on")
    if key.kind is Kind.PATH and words[0]:
        # Written as it was typed: `~` and relative paths are expanded where the file is read.
        return words[0]
    result: Plain = checked(key, value, file="command line", line=None, base=Path())
    return result


def _edit(file: Path, change: Callable[[TOMLDocument], None]) -> None:
    # Imported here: only a change pays for the editor, reading uses tomllib.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    with file_lock(str(file)):
        try:
            document = tomlkit.parse(file.read_bytes().decode()) if file.exists() else tomlkit.document()
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"not valid TOML: {error}", file=str(file), hint="mend it by hand first; nothing was changed"
            ) from error
        change(document)
        replace_text(str(file), tomlkit.dumps(document))


def _table(document: TOMLDocument, names: Sequence[str], file: Path) -> dict[str, object]:
    import tomlkit

    table: object = document
    for name in names:
        if not isinstance(table, dict):
            raise ConfigError(f"{name!r} is not a table", file=str(file), hint="mend it by hand first; nothing was changed")
        if name not in table:
            table[name] = tomlkit.table()
        table = table[name]
    if not isinstance(table, dict):
        raise ConfigError(
            f"{'.'.join(names)!r} is not a table", file=str(file), hint="mend it by hand first; nothing was changed"
        )
    return table
