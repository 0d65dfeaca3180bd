"""`metier config get|set|unset skills.parameters.SKILL.NAME`: the value of one parameter of one skill."""

from __future__ import annotations

from collections.abc import Sequence

from metier.app import App
from metier.config import KEYS, SettingKey, SettingKind, set_value, tables, unset_value
from metier.errors import UsageError
from metier.values import replace

from .core.result import Result
from .core.terminal import one_line

__all__ = ["get_parameter", "is_parameter", "set_parameter", "unset_parameter"]

_PREFIX = "skills.parameters."


def is_parameter(key: str) -> bool:
    return key.startswith(_PREFIX) and len(key.split(".")) == 4


def get_parameter(app: App, key: str) -> Result:
    value = _value(app, key)
    data = {"key": key, "value": value, "origin": app.settings["skills.parameters"].origin}
    return Result(data=data, lines=lambda _: ("-" if value is None else one_line(str(value)),))


def set_parameter(app: App, key: str, values: Sequence[str], file: str, *, inside: str | None) -> Result:
    """Stores the text; the skill's declaration says which type it becomes."""
    if len(values) != 1:
        raise UsageError(f"{key} takes one value, not {len(values)}", hint="put a text with spaces in quotes")
    set_value(file, _key(key), values[0], inside=inside)
    return _changed(app, key, file)


def unset_parameter(app: App, key: str, file: str, *, inside: str | None) -> Result:
    unset_value(file, _key(key), inside=inside)
    return _changed(app, key, file)


def _key(key: str) -> SettingKey:
    return replace(KEYS["skills.parameters"], name=key, kind=SettingKind.TEXT)


def _value(app: App, key: str) -> object:
    skill, name = key.split(".")[2:]
    return tables(app.settings, "skills.parameters").get(skill, {}).get(name)


def _changed(app: App, key: str, file: str) -> Result:
    value = _value(App(environment=app.environment, folder=app.folder), key)
    shown = "not set" if value is None else one_line(str(value))
    return Result(data={"key": key, "value": value, "file": file}, lines=lambda _: (f"{key} is {shown}",))
