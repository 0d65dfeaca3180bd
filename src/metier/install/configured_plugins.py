"""Plugins that a configuration lists: `[[skills.plugins]]` with a url, and perhaps a ref, a name, and whether it is on.

The list is what somebody wants; the lock is what was installed of it. A plugin of one skill is installed under `name`; of a
repository with several, `name` is the one that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable

from metier.errors import ConfigError, MetierError
from metier.spec import is_name
from metier.values import dataclass, replace

from .lock.lock_file import Lock, LockEntry
from .refs.parsing import parse_ref
from .refs.ref_types import GitRef, Ref, RegistryRef

__all__ = ["ConfiguredPlugin", "not_installed", "read_plugins"]

_FIELDS = {"url": str, "ref": str, "name": str, "enabled": bool, "installed_at": object}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredPlugin:
    """One row of the list."""

    url: str
    ref: str = ""
    name: str = ""
    enabled: bool = True

    def wanted(self, aliases: Iterable[str] = ("r9s",)) -> Ref:
        parsed = parse_ref(self.url, aliases=tuple(aliases))
        if self.ref and isinstance(parsed, GitRef):
            return replace(parsed, ref=self.ref, tail="")
        return replace(parsed, version=self.ref) if self.ref and isinstance(parsed, RegistryRef) else parsed

    def brought(self, entry: LockEntry) -> bool:
        """Is this installed skill from here, whatever version it is?"""
        try:
            parsed = parse_ref(self.url)
        except MetierError:
            return entry.asked == self.url
        source = getattr(parsed, "url", "") or getattr(parsed, "path", "") or parsed.text
        same = entry.origin.url.removesuffix(".git") == source.removesuffix(".git") or entry.asked in (self.url, parsed.text)
        return same and (not self.name or self.name in (entry.name, entry.called))


def read_plugins(table: object, *, where: str) -> tuple[ConfiguredPlugin, ...]:
    """The rows of a configuration, or ConfigError that names the one that is wrong."""
    if table is None:
        return ()
    if not isinstance(table, list):
        raise ConfigError("skills.plugins is not a list", file=where, hint="write [[skills.plugins]] with two brackets")
    return tuple(_plugin(row, f"{where}: skills.plugins[{number}]") for number, row in enumerate(table))


def not_installed(plugins: Iterable[ConfiguredPlugin], lock: Lock) -> tuple[ConfiguredPlugin, ...]:
    """Those of which nothing is installed, or not at the ref that the list has now."""

    def is_there(plugin: ConfiguredPlugin) -> bool:
        return any(plugin.brought(entry) and plugin.ref in ("", entry.origin.ref, entry.origin.commit) for entry in lock)

    return tuple(plugin for plugin in plugins if not is_there(plugin))


def _plugin(row: object, where: str) -> ConfiguredPlugin:
    fields = row if isinstance(row, dict) else {}
    for key, value in fields.items():
        if key not in _FIELDS or not isinstance(value, _FIELDS[key]):
            raise ConfigError(f"{key!r} is not a field of a plugin, or has another type", file=where,
                            hint="a plugin has url, ref, name and enabled (true or false)")  # fmt: skip
    if not fields.get("url"):
        raise ConfigError("a plugin needs a url", file=where, hint='url = "https://github.com/owner/repo"')
    if (name := fields.get("name", "")) and not is_name(name):
        raise ConfigError(f"{name!r} is not a skill name", file=where, hint="use a-z, 0-9 and single hyphens")
    return ConfiguredPlugin(url=fields["url"], ref=fields.get("ref", ""), name=name, enabled=fields.get("enabled", True))
