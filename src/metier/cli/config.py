"""`metier config`: settings, and where each came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.config import KEYS, Setting, SettingKey, parse_value, set_value, unknown_key, unset_value
from metier.errors import RefusedError

from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, one_line
from .parameter_setting import get_parameter, is_parameter, set_parameter, unset_parameter

__all__ = ["get", "path", "set_setting", "show", "unset_setting"]


@command("config", "show")
def show(app: App) -> Result:
    """Show every setting, its value and where it came from."""
    values = list(app.settings)

    def lines(terminal: Terminal) -> Iterator[str]:
        widest = max(len(value.key.name) for value in values)
        for value in values:
            name, origin = terminal.paint(value.key.name.ljust(widest), "bold"), terminal.paint(f"({value.origin})", "dim")
            yield f"{name}  {_display(value.value)}  {origin}"
            limit = app.settings.system.get(value.key.name)
            if limit and value.key.held and limit.origin != value.origin:
                yield f"{'':{widest}}  {_display(limit.value)}  {terminal.paint(f'(administrator: {limit.origin})', 'dim')}"
            yield f"{'':{widest}}  {terminal.paint(value.key.text, 'dim')}"

    return Result(
        data={"settings": {value.key.name: _row(value) | _limit(app, value) for value in values}},
        lines=lines,
        notes=app.settings.warnings,
    )


@command("config", "get")
@click.argument("key")
def get(app: App, *, key: str) -> Result:
    """Print one setting."""
    if is_parameter(key):
        return get_parameter(app, key)
    value = app.settings[key]
    return Result(data={"key": key, **_row(value)}, lines=lambda _: (_display(value.value),))


@command("config", "set")
@click.argument("key")
@click.argument("values", nargs=-1, required=True)
@click.option("--project", is_flag=True, help="In this project's .metier/config.toml instead of your own.")
def set_setting(app: App, *, key: str, values: tuple[str, ...], project: bool) -> Result:
    """Change one setting. A list takes several values: `metier config set skills.deny 'old-*' draft`."""
    if is_parameter(key):
        return set_parameter(app, key, values, _file(app, project=project), inside=app.folder if project else None)
    known = _key(key)
    parsed = parse_value(known, values)
    if project and not known.project:
        raise RefusedError(
            f"a project cannot set {key}", rule="project-setting", hint="leave out --project to set it for yourself"
        )
    file = _file(app, project=project)
    set_value(file, known, parsed, inside=app.folder if project else None)
    return _changed(app, known, file)


@command("config", "unset")
@click.argument("key")
@click.option("--project", is_flag=True, help="In this project's .metier/config.toml instead of your own.")
def unset_setting(app: App, *, key: str, project: bool) -> Result:
    """Go back to a setting's default."""
    file = _file(app, project=project)
    if is_parameter(key):
        return unset_parameter(app, key, file, inside=app.folder if project else None)
    unset_value(file, _key(key), inside=app.folder if project else None)
    return _changed(app, _key(key), file)


@command("config", "path")
def path(app: App) -> Result:
    """Print where the configuration file is."""
    return Result(data={"path": app.paths.config_file}, lines=lambda _: (app.paths.config_file,))


def _key(name: str) -> SettingKey:
    if name not in KEYS:
        raise unknown_key(name)
    return KEYS[name]


def _file(app: App, *, project: bool) -> str:
    if not project:
        return app.paths.config_file
    if not app.is_trusted:
        # It would be written and then not read, which looks like a bug.
        raise RefusedError(
            f"{app.folder} is not trusted, so its settings are not read", rule="trust", hint="run `metier trust` first"
        )
    return app.paths.project_config_file


def _changed(app: App, key: SettingKey, file: str) -> Result:
    now = App(environment=app.environment, folder=app.folder).settings[key.name]
    line = f"{key.name} is {_display(now.value)} ({now.origin})"
    notes = () if now.origin.startswith(file) or now.origin == "default" else (f"{now.origin} has the last word",)
    return Result(data={"key": key.name, **_row(now), "file": file}, lines=lambda _: (line,), notes=notes)


def _row(value: Setting) -> dict[str, Any]:
    plain = list(value.value) if isinstance(value.value, tuple) else value.value
    return {"value": plain, "origin": value.origin, "type": value.key.kind, "about": value.key.text}


def _limit(app: App, value: Setting) -> dict[str, Any]:
    limit = app.settings.system.get(value.key.name)
    if not limit or not value.key.held:
        return {}
    plain = list(limit.value) if isinstance(limit.value, tuple) else limit.value
    return {"administrator": {"value": plain, "origin": limit.origin}}


def _display(value: object) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return one_line(" ".join(map(str, value)) if isinstance(value, tuple) else str(value))
