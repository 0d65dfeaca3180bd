"""Settings from TOML, environment and flags. A library user never meets this room."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .edit import change_rows, change_words, parse_words, set_value, unset_value
    from .keys import KEYS, Key, Kind, Plain
    from .settings import Settings, Value, read_settings, unknown_key

__all__ = [
    "KEYS",
    "Key",
    "Kind",
    "Plain",
    "Settings",
    "Value",
    "change_rows",
    "change_words",
    "parse_words",
    "read_settings",
    "set_value",
    "unknown_key",
    "unset_value",
]

if not TYPE_CHECKING:  # every command reads settings, and nearly none edits them
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.config.edit": ("change_rows", "change_words", "parse_words", "set_value", "unset_value"),
            "metier.config.keys": ("KEYS", "Key", "Kind", "Plain"),
            "metier.config.settings": ("Settings", "Value", "read_settings", "unknown_key"),
        },
    )
