"""The plugins of the configuration: `[[skills.plugins]]` with a url, and optionally a ref, a name and `enabled`.

The configuration says what should be installed; the lock says what is. A source with one skill is installed under `name`; of a
source with several, `name` selects one.
"""

from __future__ import annotations

from collections.abc import Iterable

from metier.errors import ConfigError, MetierError, UsageError
from metier.spec import is_name
from metier.values import dataclass, replace

from .lock.lock_file import Lock, LockEntry
from .refs.parsing import parse_ref
from .refs.pins import at_git_ref
from .refs.ref_types import Ref, RegistryRef

__all__ = ["ConfiguredPlugin", "not_installed", "read_plugins"]

_FIELDS = {"url": str, "ref": str, "name": str, "enabled": bool}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredPlugin:
    """One `[[skills.plugins]]` table."""

    url: str
    ref: str = ""
    name: str = ""
    enabled: bool = True

    def to_ref(self, aliases: Iterable[str] = ("r9s",)) -> Ref:
        parsed = parse_ref(self.url, aliases=tuple(aliases))
        if not self.ref:
            return parsed
        if isinstance(parsed, RegistryRef) and parsed.version in (None, self.ref):
            return replace(parsed, version=self.ref)
        try:
            return at_git_ref(parsed, self.ref)
        except UsageError:
            raise ConfigError(
                f"the plugin {self.url!r} cannot have the ref {self.ref!r}", file="skills.plugins",
                hint="ref is for a repository or a registry whose url names no version itself",
            ) from None  # fmt: skip

    def provides(self, entry: LockEntry) -> bool:
        """Returns True if this installed skill comes from the plugin, in any version."""
        try:
            parsed = parse_ref(self.url)
        except MetierError:
            return entry.asked == self.url
        source = getattr(parsed, "url", "") or getattr(parsed, "path", "") or parsed.text
        same = entry.origin.url.removesuffix(".git") == source.removesuffix(".git") or entry.asked in (self.url, parsed.text)
        return same and (not self.name or self.name in (entry.name, entry.called))


def read_plugins(table: object, *, where: str) -> tuple[ConfiguredPlugin, ...]:
    """Reads the configuration's tables. Raises ConfigError."""
    if table is None:
        return ()
    if not isinstance(table, list):
        raise ConfigError("skills.plugins is not a list", file=where, hint="write [[skills.plugins]] with two brackets")
    return tuple(_plugin(row, f"{where}: skills.plugins[{number}]") for number, row in enumerate(table))


def not_installed(plugins: Iterable[ConfiguredPlugin], lock: Lock) -> tuple[ConfiguredPlugin, ...]:
    """Returns the plugins that are not installed, or not at the configured ref."""

    def is_installed(plugin: ConfiguredPlugin) -> bool:
        return any(plugin.provides(entry) and plugin.ref in ("", entry.origin.ref, entry.origin.commit) for entry in lock)

    return tuple(plugin for plugin in plugins if not is_installed(plugin))


def _plugin(row: object, where: str) -> ConfiguredPlugin:
    fields = row if isinstance(row, dict) else {}
    for key, value in fields.items():
        # Reading the settings warns of unknown keys.
        if not isinstance(value, _FIELDS.get(key, object)):
            raise ConfigError(f"{key!r} of a plugin has another type", file=where,
                            hint="a plugin has url, ref, name and enabled (true or false)")  # fmt: skip
    if not fields.get("url"):
        raise ConfigError("a plugin needs a url", file=where, hint='url = "https://github.com/owner/repo"')
    if (name := fields.get("name", "")) and not is_name(name):
        raise ConfigError(f"{name!r} is not a skill name", file=where, hint="use a-z, 0-9 and single hyphens")
    return ConfiguredPlugin(url=fields["url"], ref=fields.get("ref", ""), name=name, enabled=fields.get("enabled", True))
