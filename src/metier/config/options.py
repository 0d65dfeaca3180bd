"""Converts settings to the options of other packages; an invalid value is reported with its file and line."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from metier.errors import ConfigError, UsageError

from .settings import Settings

if TYPE_CHECKING:
    from metier.runtime import Budgets, ToolPattern

__all__ = ["budgets", "one_of", "patterns", "source_patterns", "tables"]

W = TypeVar("W", bound=StrEnum)


def one_of(settings: Settings, name: str, words: type[W]) -> W:
    value = settings[name]
    try:
        return words(value.value)
    except ValueError:
        raise ConfigError(
            f"{name} is {value.value!r}, not one of {', '.join(words)}", file=value.origin, hint=f"{name}: {value.key.text}"
        ) from None


def patterns(settings: Settings, name: str) -> tuple[ToolPattern, ...]:
    from metier.runtime import ToolPattern

    value = settings[name]
    try:
        return tuple(map(ToolPattern.parse, value.value))
    except UsageError as error:
        raise ConfigError(f"{name}: {error}", file=value.origin, hint=error.hint) from None


def source_patterns(settings: Settings, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the lists of sources of the administrator and of the user, each with its file and line."""
    from metier.install import is_source_pattern

    found = [settings[name], *([settings.system[name]] if name in settings.system else [])]
    for value in found:
        for pattern in value.value:
            if not is_source_pattern(pattern):
                raise ConfigError(
                    f"{name}: {pattern!r} is not a source", file=value.origin,
                    hint="write path, a host, host/owner/*, or an https:// URL",
                )  # fmt: skip
    return [(value.origin, tuple(value.value)) for value in found]


def tables(settings: Settings, name: str) -> dict[str, dict[str, object]]:
    value = settings[name].value
    return {key: dict(table) for key, table in value.items() if isinstance(table, dict)} if isinstance(value, dict) else {}


def budgets(settings: Settings) -> Budgets:
    from metier.runtime import Allowance, Budgets

    def allowance(whose: str) -> Allowance:
        numbers = {
            name: settings.number(f"budget.{whose}_{name}") or None for name in ("activations", "tokens", "script_seconds")
        }
        return Allowance(activations=numbers["activations"], tokens=numbers["tokens"], seconds=numbers["script_seconds"])

    return Budgets(session=allowance("session"), skill=allowance("skill"))
