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
from .toml_comments import comments_at_tables

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["change_list", "change_rows", "parse_value", "set_value", "unset_value"]


def set_value(
    file: StrPath, key: SettingKey, value: SettingValue, *, below: Sequence[str] = (), inside: str | None = None
) -> None:
    """Sets one key, or a key inside its table. `inside` is the project of the file, which no link may leave."""
    plain = list(value) if isinstance(value, tuple) else value

    def put(document: TOMLDocument) -> None:
        *tables, leaf = (*key.name.split("."), *below)
        _table(document, tables, file)[leaf] = plain

    _edit(file, put, inside=inside)


def unset_value(file: StrPath, key: SettingKey, *, below: Sequence[str] = (), inside: str | None = None) -> None:
    def drop(document: TOMLDocument) -> None:
        _drop(document, (*key.name.split("."), *below), least=len(key.name.split(".")) - 1)

    if os.path.exists(file):
        _edit(file, drop, inside=inside)


def _drop(table: object, names: Sequence[str], *, least: int) -> None:
    """Removes a key. Tables deeper than `least` that are empty then are removed too: an empty source is an error."""
    if not isinstance(table, dict) or names[0] not in table:
        return
    if len(names) > 1:
        _drop(table[names[0]], names[1:], least=least - 1)
        if least > 0 or table[names[0]]:
            return
    del table[names[0]]


def change_list(file: StrPath, key: SettingKey, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
    """Adds to and removes from a list. Concurrent changes of other items are kept."""

    def change(document: TOMLDocument) -> None:
        *tables, leaf = key.name.split(".")
        table = _table(document, tables, file)
        words = check_value(key, table.get(leaf, []), file=os.fspath(file), line=None, base=os.path.dirname(file))
        kept = [word for word in words if word not in remove]
        kept += [word for word in add if word not in kept]
        if kept:
            table[leaf] = kept
        elif leaf in table:
            del table[leaf]

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


def parse_value(key: SettingKey, words: Sequence[str], *, below: Sequence[str] = ()) -> SettingValue:
    """Converts the arguments of a command line to the type of the key, or of the key `below` it."""
    if key.kind is SettingKind.TABLE:
        inner = _inner_key(key, below)
        return _guess(words) if inner is None else parse_value(inner, words)
    if key.kind is SettingKind.LIST:
        return tuple(words)
    if len(words) != 1:
        raise UsageError(f"{key.name} takes one value, not {len(words)}", hint=f"it is a {key.kind}")
    value: object = words[0]
    if key.kind is SettingKind.NUMBER and re.fullmatch(r"-?\d{1,9}", words[0]):
        value = int(words[0])
    if key.kind is SettingKind.BOOLEAN and words[0].lower() in ("true", "false", "yes", "no", "on", "off"):
        value = words[0].lower() in ("true", "yes", "on")
    if key.kind in (SettingKind.PATH, SettingKind.LOCATION) and words[0]:
        # Written as it was typed: `~` and relative paths are expanded where the file is read.
        return words[0]
    result: SettingValue = check_value(key, value, file="command line", line=None, base="")
    return result


def _inner_key(key: SettingKey, below: Sequence[str]) -> SettingKey | None:
    """Returns the key inside a table; None if it may have any type. Raises UsageError if there is no such key."""
    if key.name == "skills.plugins":
        raise UsageError(f"{key.name} is a list of tables", hint="`metier install` adds to it; or edit `metier config path`")
    fields = key.fields or {"KEY": SettingKind.TEXT}
    forms = " or ".join(f"{key.name}.NAME.{name}" for name in fields)
    if len(below) < 2:
        raise UsageError(f"{'.'.join((key.name, *below))} is a table", hint=f"set one value in it: {forms}")
    kind = key.fields.get(below[1])
    if key.fields and (kind is None or len(below) > (3 if kind is SettingKind.TABLE else 2)):
        raise UsageError(f"unknown setting {'.'.join((key.name, *below))!r}", hint=f"use {forms}")
    if kind is SettingKind.TABLE:
        if len(below) == 2:
            raise UsageError(f"{'.'.join((key.name, *below))} is a table", hint="add a dot and the name of a variable")
        kind = SettingKind.TEXT
    return SettingKey(name=".".join((key.name, *below)), kind=kind, text=key.text) if kind else None


def _guess(words: Sequence[str]) -> SettingValue:
    """Returns a number or a boolean if the only word is one, else text; several words are a list."""
    if len(words) != 1:
        return tuple(words)
    if re.fullmatch(r"-?\d{1,15}", words[0]):
        return int(words[0])
    if re.fullmatch(r"-?\d+\.\d+", words[0]):
        return float(words[0])
    return words[0] == "true" if words[0] in ("true", "false") else words[0]


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
        with comments_at_tables(document):
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
    for place, name in enumerate(names, start=1):
        if not isinstance(table, dict):
            raise ConfigError(
                f"{name!r} is not a table", file=os.fspath(file), hint="fix it by hand first; nothing was changed"
            )
        if name not in table:
            # A header is written for the last table only; those around it have no keys of their own.
            table[name] = tomlkit.table(is_super_table=place < len(names))
        table = table[name]
    if not isinstance(table, dict):
        raise ConfigError(
            f"{'.'.join(names)!r} is not a table", file=os.fspath(file), hint="fix it by hand first; nothing was changed"
        )
    return table
