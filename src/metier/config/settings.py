"""Settings from files, environment and flags; every value knows where it came from.

Later wins: default, system file, user file, project file, environment, flag. The system's file is the administrator's: a
project overrides nothing in it, and where a key is marked (`SettingKey.held`) a user cannot go beyond it either. A project's
file is only read from a trusted folder, because it could otherwise point the search at any folder or switch skills off. Even
there it may set only the keys marked for projects (`SettingKey.project`), and a path only inside the project: trust in a
project's skills does not extend to the user's folders, secrets and permissions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from metier.errors import ConfigError, NotFoundError, RefusedError, nearest
from metier.values import dataclass, field

from .keys import KEYS, Held, SettingKey, SettingKind, SettingValue

__all__ = ["Setting", "Settings", "is_switched_on", "read_settings"]

StrPath = str | os.PathLike[str]
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Setting:
    key: SettingKey
    value: Any  # Any: a Plain, or the tables of skills.sources and skills.plugins
    origin: str
    """`default`, `environment: METIER_…`, `flag`, or a file with its line."""


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[str, Setting]
    warnings: tuple[str, ...] = ()
    """Keys that are unknown or that a project cannot set, each with its file and line."""
    files: tuple[str, ...] = ()
    """The configuration files that were read, or would have been if they existed."""
    system: Mapping[str, Setting] = field(default_factory=dict)
    """The administrator's settings, from the system's file."""
    asked: Mapping[str, Setting] = field(default_factory=dict)
    """Requests of a trusted project's file that only the user can allow (`SettingKey.asks`). Never part of `values`."""

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.values.values())

    def __getitem__(self, name: str) -> Setting:
        try:
            return self.values[name]
        except KeyError:
            raise unknown_key(name) from None

    def strings(self, name: str) -> tuple[str, ...]:
        return tuple(self[name].value)

    def number(self, name: str) -> int:
        return int(self[name].value)

    def boolean(self, name: str) -> bool:
        return bool(self[name].value)

    def path(self, name: str) -> str | None:
        value = self[name].value
        return str(value) if value is not None else None


def read_settings(
    files: Iterable[StrPath], *, environment: Mapping[str, str], flags: Mapping[str, SettingValue] | None = None,
    defaults: Mapping[str, SettingValue] | None = None, folder: StrPath = "", project_file: StrPath | None = None,
    system_file: StrPath | None = None, project: StrPath | None = None,
) -> Settings:  # fmt: skip
    """The settings of these files, later ones over earlier, then the environment, then the flags that were given.

    `system_file` is the administrator's, and read first. `project_file` is read after `files`, and only its keys that a project
    may set count. If it is one of `files`, which it is in the home folder, it is read as that. It belongs to `project`,
    which no link may leave; without it, to `folder`.

    A relative path in a file starts at that file's folder, any other at `folder`.
    """
    home, here = environment.get("HOME"), os.path.abspath(folder)
    inside = os.path.abspath(project) if project is not None else here
    values = {key.name: Setting(key, (defaults or {}).get(key.name, key.default), "default") for key in KEYS.values()}
    warnings: list[str] = []
    asked: dict[str, Setting] = {}
    looked = tuple(os.fspath(file) for file in files)
    system = {value.key.name: value for value in _from_file(os.fspath(system_file), warnings, home)} if system_file else {}
    values |= system
    for file in looked:
        values |= {value.key.name: value for value in _from_file(file, warnings, home)}
    if project_file is not None and not any(_is_same(project_file, file) for file in looked):
        looked += (os.fspath(project_file),)
        found = {value.key.name: value for value in _from_file(looked[-1], warnings, home, project=inside)}
        asked = {name: value for name, value in found.items() if value.key.asks}
        warnings += [
            f"{value.origin}: {name} is ignored, because {system[name].origin} sets it"
            for name, value in found.items()
            if name in system
        ]
        values |= {name: value for name, value in found.items() if name not in asked and name not in system}
        asked = {name: value for name, value in asked.items() if name not in system}
        warnings += _hidden_sources(values["skills.sources"].value, asked.get("skills.sources"))
    for key in KEYS.values():
        for variable in (*key.variables, key.variable):
            # An empty variable is one that was never filled in, as in `SKILLS_MAX_ACTIVE= metier chat`.
            text = environment.get(variable, "")
            if text.strip() and key.kind is not SettingKind.TABLE:
                values[key.name] = Setting(key, _from_text(key, text, variable, here, home), f"environment: {variable}")
    for name, flag in (flags or {}).items():
        if flag is not None:
            values[name] = Setting(
                KEYS[name], check_value(KEYS[name], flag, file="flag", line=None, base=here, home=home), "flag"
            )
    values |= {name: _limited(values[name], value) for name, value in system.items()}
    looked = (os.fspath(system_file), *looked) if system_file else looked
    return Settings(values, tuple(warnings), looked, system, asked)


def _limited(value: Setting, system: Setting) -> Setting:
    """Returns a setting within the limits of the administrator's."""
    both = f"{system.origin} and {value.origin}"
    match value.key.held:
        case _ if value.origin == system.origin:
            return system
        case Held.UNION:
            return Setting(value.key, tuple(dict.fromkeys((*system.value, *value.value))), both)
        case Held.WITHIN:
            return Setting(value.key, tuple(word for word in value.value if word in system.value), both)
        case Held.STRICTEST:
            order = value.key.order
            # An invalid value of the administrator stays, and is an error where it is used.
            is_stricter = (
                system.value in order and value.value in order and order.index(value.value) > order.index(system.value)
            )
            return value if is_stricter else system
    return value


def _is_same(one: StrPath, other: StrPath) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def find_key(name: str) -> tuple[SettingKey, tuple[str, ...]]:
    """Returns a key, and the path in its table: `skills.sources.work.url` is `skills.sources` and (work, url)."""
    if name in KEYS:
        return KEYS[name], ()
    for key in KEYS.values():
        if key.kind is SettingKind.TABLE and name.startswith(f"{key.name}."):
            below = tuple(name.removeprefix(f"{key.name}.").split("."))
            if all(below):
                return key, below
    raise unknown_key(name)


def unknown_key(name: str) -> NotFoundError:
    if any(key.startswith(f"{name}.") for key in KEYS):
        return NotFoundError(f"unknown setting {name!r}", hint=f"`metier config show {name}` lists the settings in it")
    near = nearest(name, KEYS)
    hint = f"did you mean {near!r}?" if near else "see `metier config show` for every key"
    return NotFoundError(f"unknown setting {name!r}", hint=hint)


def check_value(
    key: SettingKey, value: object, *, file: str, line: int | None, base: str, home: str | None = None
) -> Any:  # Any: see Value
    """`value` as its key wants it, or ConfigError that names the line."""

    def bad(expected: str) -> ConfigError:
        return ConfigError(
            f"{key.name} is {_short(value)}, not {expected}", file=file, line=line, hint=f"{key.name}: {key.text}"
        )

    match key.kind:
        case SettingKind.TEXT if isinstance(value, str):
            return value
        case SettingKind.LOCATION if isinstance(value, str) and "://" in value and "\0" not in value:
            return value
        case SettingKind.PATH | SettingKind.LOCATION if isinstance(value, str) and value and "\0" not in value:
            if home and (value == "~" or value.startswith("~/")):
                value = home + value[1:]
            # Imported here: most settings are no paths. Not Path.expanduser, which raises for an unknown user.
            from pathlib import Path

            return str(Path(base, os.path.expanduser(value)))
        case SettingKind.NUMBER if isinstance(value, int) and not isinstance(value, bool):
            if key.least is not None and value < key.least:
                raise bad(f"{key.least} or more")
            return value
        case SettingKind.BOOLEAN if isinstance(value, bool):
            return value
        case SettingKind.LIST if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        case SettingKind.TABLE if isinstance(value, dict | list):
            return value
    raise bad(f"a {key.kind}")


def _from_file(file: str, warnings: list[str], home: str | None, *, project: str | None = None) -> Iterator[Setting]:
    try:
        # Not `lexists`, which takes a file that may not be looked at for one that does not exist.
        os.lstat(file)
        # Imported here: most homes have no configuration.
        from metier.sources import inner_file, read_regular

        with inner_file(file, inside=project) as (folder, name):
            text = read_regular(name, dir_fd=folder).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8 text", file=file, hint="save the file as UTF-8") from error
    except RefusedError:
        warnings.append(f"{file}: ignored, because it is a link out of the project")
        return
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {(error.strerror or 'error').lower()}", file=file, hint="check its permissions"
        ) from error
    # Imported here: most homes have no configuration.
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" \(at [^)]*\)", "", str(error))
        raise ConfigError(f"not valid TOML: {message}", file=file, line=int(place[1]) if place else text.count("\n") + 1,
                        hint="see `metier config show` for keys and types") from error  # fmt: skip
    for name, value in _leaves(document, ""):
        line = _line_of(text, name)
        key = KEYS.get(name)
        if key is None:
            near = nearest(name, KEYS)
            warnings.append(f"{file}:{line or 1}: unknown setting {name!r}" + (f"; did you mean {near!r}?" if near else ""))
            continue
        origin = f"{file}:{line}" if line else file
        if project is not None and not (key.project or key.asks):
            warnings.append(f"{origin}: {name} is ignored, because a project cannot set it")
            continue
        warnings += [f"{origin}: unknown key {part!r} in {where}" for where, part in _unknown_fields(key, value)]
        checked = check_value(key, value, file=file, line=line, base=os.path.dirname(file), home=home)
        if project is not None and key.kind is SettingKind.PATH and not _is_inside(checked, project):
            warnings.append(f"{origin}: {name} is ignored, because it leads out of the project")
            continue
        yield Setting(key, checked, origin)


def _is_inside(path: str, folder: str) -> bool:
    return os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(folder), ""))


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path not in KEYS:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _hidden_sources(own: object, asked: Setting | None) -> Iterator[str]:
    """Yields a warning for each source of a project whose name the user has given to another."""
    if asked is None or not isinstance(asked.value, dict) or not isinstance(own, dict):
        return
    for name in asked.value:
        if name in own and own[name] != asked.value[name]:
            yield f"{asked.origin}: [skills.sources.{name}] is ignored, because your own settings have it"


def _unknown_fields(key: SettingKey, value: object) -> Iterator[tuple[str, str]]:
    """Yields the keys that a table of this setting does not have, each with the table."""
    if isinstance(value, dict):
        tables = [(f"[{key.name}.{name}]", table) for name, table in value.items()]
    else:
        tables = [(f"[[{key.name}]]", table) for table in value] if isinstance(value, list) else []
    for where, table in tables:
        for name in table if key.fields and isinstance(table, dict) else ():
            if name not in key.fields:
                yield where, name


def _line_of(text: str, name: str) -> int | None:
    """The line on which a dotted key is written, whether under its table or spelled out."""
    *tables, leaf = name.split(".")
    here = ""
    for number, line in enumerate(text.split("\n"), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            here = header[1].replace('"', "")
            if here == name or here.startswith(f"{name}."):
                return number
        written = re.match(r"\s*([\w.\"-]+)\s*=", line)
        if written and ".".join(filter(None, (here, written[1].replace('"', "")))) in (name, ".".join((*tables, leaf))):
            return number
    # Inside an inline table, `skills = { max_depth = 0 }`: the line on which that stands.
    return _line_of(text, ".".join(tables)) if tables else None


def _from_text(key: SettingKey, text: str, variable: str, here: str, home: str | None) -> Any:  # Any: see Value
    value: object = text
    match key.kind:
        case SettingKind.NUMBER:
            value = int(text) if re.fullmatch(r"-?\d{1,9}", text.strip()) else text
        case SettingKind.BOOLEAN:
            truth = _truth(text)
            value = text if truth is None else truth
        case SettingKind.LIST:
            value = [word for word in re.split(r"[,\s]+", text) if word]
    return check_value(key, value, file=f"environment variable {variable}", line=None, base=here, home=home)


def is_switched_on(environment: Mapping[str, str], variable: str) -> bool:
    """Returns whether a variable that is no setting says yes: 1, true, yes or on. Raises ConfigError for any other word."""
    text = environment.get(variable, "")
    truth = _truth(text) if text.strip() else False
    if truth is None:
        raise ConfigError(
            f"{_short(text)} is neither yes nor no",
            file=f"environment variable {variable}",
            hint=f"write {variable}=1, or unset it",
        )
    return truth


def _truth(text: str) -> bool | None:
    word = text.strip().lower()
    return word in _TRUE if word in _TRUE + _FALSE else None


def hide_password(address: str) -> str:
    """Returns the text with `***` for the password in an address such as postgresql://USER:PASSWORD@HOST/NAME."""
    hidden = re.sub(r"(://[^/:@\s]*):\S*@", r"\1:***@", address)
    return re.sub(r"([?&][a-z]*password=)[^&\s]+", r"\1***", hidden)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
