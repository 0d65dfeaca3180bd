"""Edits a configuration file and keeps its comments, order and spacing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metier.errors import ConfigError, UsageError
from metier.sources import file_lock, inner_file, read_regular, replace_text

from .keys import SettingKey, SettingKind, SettingValue
from .settings import StrPath, check_value

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["change_list", "change_rows", "parse_value", "set_value", "unset_value"]


def set_value(file: StrPath, key: SettingKey, value: SettingValue, *, inside: str | None = None) -> None:
    """Sets one key. `inside` is the project of the file, which no link may leave."""
    plain = list(value) if isinstance(value, tuple) else value

    def put(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        _table(document, tables, file)[leaf] = plain

    _edit(file, put, inside=inside)


def unset_value(file: StrPath, key: SettingKey, *, inside: str | None = None) -> None:
    def drop(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        if tables[0] in document:
            _table(document, tables, file).pop(leaf, None)

    if os.path.exists(file):
        _edit(file, drop, inside=inside)


def change_list(file: StrPath, key: SettingKey, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
    """Adds to and removes from a list. Concurrent changes of other items are kept."""

    def change(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        table = _table(document, tables, file)
        words = check_value(key, table.get(leaf, []), file=os.fspath(file), line=None, base=os.path.dirname(file))
        kept = [word for word in words if word not in remove]
        if add or leaf in table:
            table[leaf] = kept + [word for word in add if word not in kept]

    _edit(file, change)


def change_rows(file: StrPath, key: SettingKey, change: Callable[[dict[str, object]], bool]) -> None:
    """Changes the rows of a list of tables in place; a row for which `change` returns False is removed."""

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

    if os.path.exists(file):
        _edit(file, each)


def parse_value(key: SettingKey, words: Sequence[str]) -> SettingValue:
    """Converts the arguments of a command line to the key's type."""
    if key.kind is SettingKind.TABLE:
        raise UsageError(f"{key.name} is a table", hint="edit the configuration file; `metier config path` prints where it is")
    if key.kind is SettingKind.LIST:
        return tuple(words)
    if len(words) != 1:
        raise UsageError(f"{key.name} takes one value, not {len(words)}", hint=f"it is a {key.kind}")
    value: object = words[0]
    if key.kind is SettingKind.NUMBER and re.fullmatch(r"-?\d{1,9}", words[0]):
        value = int(words[0])
    if key.kind is SettingKind.BOOLEAN and words[0].lower() in ("true", "false", "yes", "no", "on", "off"):
        value = words[0].lower() in ("true", "yes", "on")
    if key.kind is SettingKind.PATH and words[0]:
        # Written as it was typed: `~` and relative paths are expanded where the file is read.
        return words[0]
    result: SettingValue = check_value(key, value, file="command line", line=None, base="")
    return result


def _edit(file: StrPath, change: Callable[[TOMLDocument], None], *, inside: str | None = None) -> None:
    # Imported here: only a change pays for the editor, reading uses tomllib.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    with file_lock(os.fspath(file), inside=inside):
        try:
            document = _read(file, inside)
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"not valid TOML: {error}", file=os.fspath(file), hint="fix it by hand first; nothing was changed"
            ) from error
        change(document)
        replace_text(os.fspath(file), tomlkit.dumps(document), inside=inside)


def _read(file: StrPath, inside: str | None) -> TOMLDocument:
    import tomlkit

    try:
        with inner_file(os.fspath(file), inside=inside) as (folder, name):
            return tomlkit.parse(read_regular(name, dir_fd=folder).decode())
    except FileNotFoundError:
        return tomlkit.document()


def _table(document: TOMLDocument, names: Sequence[str], file: StrPath) -> dict[str, object]:
    import tomlkit

    table: object = document
    for name in names:
        if not isinstance(table, dict):
            raise ConfigError(
                f"{name!r} is not a table", file=os.fspath(file), hint="fix it by hand first; nothing was changed"
            )
        if name not in table:
            table[name] = tomlkit.table()
        table = table[name]
    if not isinstance(table, dict):
        raise ConfigError(
            f"{'.'.join(names)!r} is not a table", file=os.fspath(file), hint="fix it by hand first; nothing was changed"
        )
    return table
