"""Settings from TOML, environment and flags. The library does not use this package."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .edit import change_list, change_rows, parse_value, set_value, unset_value
    from .keys import KEYS, Held, SettingKey, SettingKind, SettingValue
    from .options import budgets, one_of, patterns, source_patterns, tables
    from .settings import Setting, Settings, find_key, hide_password, is_switched_on, read_settings

__all__ = [
    "KEYS",
    "Held",
    "Setting",
    "SettingKey",
    "SettingKind",
    "SettingValue",
    "Settings",
    "budgets",
    "change_list",
    "change_rows",
    "find_key",
    "hide_password",
    "is_switched_on",
    "one_of",
    "parse_value",
    "patterns",
    "read_settings",
    "set_value",
    "source_patterns",
    "tables",
    "unset_value",
]

if not TYPE_CHECKING:  # every command reads settings, and nearly none edits them
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.config.edit": ("change_rows", "change_list", "parse_value", "set_value", "unset_value"),
            "metier.config.keys": ("KEYS", "Held", "SettingKey", "SettingKind", "SettingValue"),
            "metier.config.options": ("budgets", "one_of", "patterns", "source_patterns", "tables"),
            "metier.config.settings": ("Settings", "Setting", "find_key", "hide_password", "is_switched_on", "read_settings"),
        },
    )
