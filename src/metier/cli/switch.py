"""`metier skill enable` and `metier skill disable`: on and off without removing anything."""

from __future__ import annotations

import click

from metier.app import App
from metier.catalog import Entry, Source, State
from metier.config import KEYS, change_words
from metier.errors import Refused

from .completion import skill_names
from .find import entry_named
from .result import Result
from .run import command
from .terminal import shown

__all__ = ["disable", "enable"]


@command("skill", "enable")
@click.argument("name", shell_complete=skill_names)
def enable(app: App, *, name: str) -> Result:
    """Switch a skill on."""
    entry = entry_named(app, name)
    for key in ("skills.disabled", "skills.disabled_bundled"):
        if name in app.settings.words(key):
            change_words(app.config_file, KEYS[key], remove=[name])
    if entry.source is Source.BUNDLED and app.settings.words("skills.enabled_bundled"):
        change_words(app.config_file, KEYS["skills.enabled_bundled"], add=[name])
    if not entry.manifest.extensions.default_enabled:
        change_words(app.config_file, KEYS["skills.enabled"], add=[name])
    return _after(app, entry)


@command("skill", "disable")
@click.argument("name", shell_complete=skill_names)
def disable(app: App, *, name: str) -> Result:
    """Switch a skill off without removing it. `metier skill enable NAME` brings it back."""
    entry = entry_named(app, name)
    key = "skills.disabled_bundled" if entry.source is Source.BUNDLED else "skills.disabled"
    change_words(app.config_file, KEYS[key], add=[name])
    change_words(app.config_file, KEYS["skills.enabled"], remove=[name])
    return _after(app, entry)


def _after(app: App, entry: Entry) -> Result:
    """Look again: a filter or a missing command may still have the last word, and the user should hear it."""
    now = entry_named(App(environment=app.environment, folder=app.folder, flags=app.flags), entry.name)
    if now.state is State.UNTRUSTED:
        raise Refused(
            f"{entry.name} is in a folder that is not trusted", rule="trust", hint="run `metier trust` in that folder"
        )
    reason = f" ({now.reason})" if now.reason else ""
    line = shown(f"{now.name} is {now.state}{reason}")
    return Result(
        data={"name": now.name, "source": now.source, "state": now.state, "reason": now.reason}, lines=lambda _: (line,)
    )
