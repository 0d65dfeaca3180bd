"""Settings from TOML, environment and flags. A library user never meets this room."""

from .edit import change_words, parse_words, set_value, unset_value
from .keys import KEYS, Key, Kind, Plain
from .settings import Settings, Value, read_settings, unknown_key

__all__ = [
    "KEYS",
    "Key",
    "Kind",
    "Plain",
    "Settings",
    "Value",
    "change_words",
    "parse_words",
    "read_settings",
    "set_value",
    "unknown_key",
    "unset_value",
]
