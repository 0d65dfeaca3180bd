"""`metier skill enable` and `metier skill disable`."""

from __future__ import annotations

import click

from metier.app import App
from metier.catalog import Entry, Source, State
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_named, listing_plugins
from metier.cli.core.terminal import one_line
from metier.config import KEYS, change_list, change_rows
from metier.errors import RefusedError

__all__ = ["disable", "enable"]


@command("skill", "enable")
@click.argument("name", shell_complete=skill_names)
def enable(app: App, *, name: str) -> Result:
    """Enable a skill."""
    entry = entry_named(app, name)
    _switch_plugin(app, name, on=True)
    for key in ("skills.disabled", "skills.disabled_bundled"):
        if name in app.settings.strings(key):
            change_list(app.paths.config_file, KEYS[key], remove=[name])
    if entry.source is Source.BUNDLED and app.settings.strings("skills.enabled_bundled"):
        change_list(app.paths.config_file, KEYS["skills.enabled_bundled"], add=[name])
    if not entry.manifest.extensions.default_enabled:
        change_list(app.paths.config_file, KEYS["skills.enabled"], add=[name])
    return _after(app, entry)


@command("skill", "disable")
@click.argument("name", shell_complete=skill_names)
def disable(app: App, *, name: str) -> Result:
    """Disable a skill without removing it. `metier skill enable NAME` enables it again."""
    entry = entry_named(app, name)
    if not _switch_plugin(app, name, on=False):
        key = "skills.disabled_bundled" if entry.source is Source.BUNDLED else "skills.disabled"
        change_list(app.paths.config_file, KEYS[key], add=[name])
    change_list(app.paths.config_file, KEYS["skills.enabled"], remove=[name])
    return _after(app, entry)


def _switch_plugin(app: App, name: str, *, on: bool) -> bool:
    """Sets `enabled` of the configured plugins with this skill. Disables a plugin only if it has no other skill.

    Returns False if there is none.
    """
    plugins = listing_plugins(app, name)
    if not on:
        plugins = {plugin: others for plugin, others in plugins.items() if not others}
    if not plugins:
        return False
    rows = {(plugin.url, plugin.name) for plugin in plugins}

    def change(row: dict[str, object]) -> bool:
        if (row.get("url"), row.get("name", "")) in rows:
            row["enabled"] = on
        return True

    # The other skills of a plugin that is enabled for this one stay disabled.
    others = [other for plugin, names in plugins.items() if not plugin.enabled for other in names]
    change_rows(app.paths.config_file, KEYS["skills.plugins"], change)
    if others:
        change_list(app.paths.config_file, KEYS["skills.disabled"], add=others)
    return True


def _after(app: App, entry: Entry) -> Result:
    """Reports the new state, which a filter or a missing command may still decide."""
    now = entry_named(App(environment=app.environment, folder=app.folder, flags=app.flags), entry.name)
    if now.state is State.UNTRUSTED:
        raise RefusedError(
            f"{entry.name} is in a folder that is not trusted", rule="trust", hint="run `metier trust` in that folder"
        )
    reason = f" ({now.reason})" if now.reason else ""
    line = one_line(f"{now.name} is {now.state}{reason}")
    return Result(
        data={"name": now.name, "source": now.source, "state": now.state, "reason": now.reason}, lines=lambda _: (line,)
    )
