"""`metier config`: settings, and where each came from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.config import Setting, SettingKey, SettingKind, find_key, hide_password, parse_value, set_value, unset_value
from metier.errors import NotFoundError, RefusedError

from .completion import setting_names, setting_values
from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, one_line, strip_control_chars

__all__ = ["get", "path", "set_setting", "show", "unset_setting"]


@command("config", "show")
@click.argument("keys", nargs=-1, metavar="[KEY]...", shell_complete=setting_names)
def show(app: App, *, keys: tuple[str, ...]) -> Result:
    """Show every setting, its value and where it came from. A KEY is a setting or a group of them, such as `skills`."""
    values = list(app.settings)
    if keys:
        values = [each for key in keys for each in _settings_in(values, key)]

    def lines(terminal: Terminal) -> Iterator[str]:
        widest = max(len(value.key.name) for value in values)
        for value in values:
            name, origin = terminal.paint(value.key.name.ljust(widest), "bold"), terminal.paint(f"({value.origin})", "dim")
            yield f"{name}  {_display(_visible(value))}  {origin}"
            limit = app.settings.system.get(value.key.name)
            if limit and value.key.held and limit.origin != value.origin:
                yield f"{'':{widest}}  {_display(limit.value)}  {terminal.paint(f'(administrator: {limit.origin})', 'dim')}"
            yield f"{'':{widest}}  {terminal.paint(value.key.text, 'dim')}"

    return Result(
        data={"settings": {value.key.name: _row(value) | _limit(app, value) for value in values}},
        lines=lines,
        notes=app.settings.warnings,
    )


def _settings_in(values: list[Setting], group: str) -> list[Setting]:
    found = [each for each in values if f"{each.key.name}.".startswith(f"{group.rstrip('.')}.")]
    return found or [next(each for each in values if each.key == find_key(group)[0])]


@command("config", "get")
@click.argument("key", shell_complete=setting_names)
def get(app: App, *, key: str) -> Result:
    """Print one setting, or one value of a table: `metier config get skills.sources.work.url`."""
    known, below = find_key(key)
    setting = app.settings[known.name]
    value = _inner(_visible(setting), below)
    if below and value is None:
        raise NotFoundError(f"{key} is not set", hint=f"metier config set {key} VALUE")
    data = {"key": key, **_row(setting), "value": _plain(value)}
    if isinstance(value, dict | list) and known.kind is SettingKind.TABLE:
        return Result(data=data, lines=lambda _: toml_lines(key, value))
    return Result(data=data, lines=lambda _: (_display(value),))


@command("config", "set")
@click.argument("key", shell_complete=setting_names)
@click.argument("values", nargs=-1, required=True, shell_complete=setting_values)
@click.option("--project", is_flag=True, help="In this project's .metier/config.toml instead of your own.")
def set_setting(app: App, *, key: str, values: tuple[str, ...], project: bool) -> Result:
    """Change one setting. A list takes several values: `metier config set skills.deny 'old-*' draft`.

    A dot leads into a table: `metier config set skills.sources.work.url https://skills.work.example`.
    """
    known, below = find_key(key)
    parsed = parse_value(known, values, below=below)
    if project and not known.project:
        raise RefusedError(
            f"a project cannot set {key}", rule="project-setting", hint="leave out --project to set it for yourself"
        )
    file = _file(app, project=project)
    set_value(file, known, parsed, below=below, inside=app.paths.project if project else None)
    return _changed(app, known, below, file)


@command("config", "unset")
@click.argument("key", shell_complete=setting_names)
@click.option("--project", is_flag=True, help="In this project's .metier/config.toml instead of your own.")
def unset_setting(app: App, *, key: str, project: bool) -> Result:
    """Go back to a setting's default, or remove one value of a table."""
    known, below = find_key(key)
    file = _file(app, project=project)
    unset_value(file, known, below=below, inside=app.paths.project if project else None)
    return _changed(app, known, below, file)


@command("config", "path")
def path(app: App) -> Result:
    """Print where the configuration file is."""
    return Result(data={"path": app.paths.config_file}, lines=lambda _: (app.paths.config_file,))


def _file(app: App, *, project: bool) -> str:
    if not project:
        return app.paths.config_file
    if not app.trusts(app.paths.project):
        # It would be written and then not read, which looks like a bug.
        raise RefusedError(
            f"{app.paths.project} is not trusted, so its settings are not read",
            rule="trust",
            hint=f"run `{app.trust_command(app.paths.project)}` first",
        )
    return app.paths.project_config_file


def _changed(app: App, key: SettingKey, below: tuple[str, ...], file: str) -> Result:
    now = App(environment=app.environment, folder=app.folder).settings[key.name]
    name, value = ".".join((key.name, *below)), _inner(_visible(now), below)
    line = f"{name} is {_display(value)} ({now.origin})" if value is not None or not below else f"{name} is not set"
    notes = () if now.origin.startswith(file) or now.origin == "default" else (f"{now.origin} has the last word",)
    return Result(data={"key": name, **_row(now), "value": _plain(value), "file": file}, lines=lambda _: (line,), notes=notes)


def _inner(value: Any, below: tuple[str, ...]) -> Any:  # Any: as in the file
    for name in below:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def toml_lines(name: str, value: object) -> list[str]:
    """Returns a table as it stands in a configuration file."""
    import tomlkit  # takes 40 ms, which only a table needs

    for part in reversed(name.split(".")):
        value = {part: value}
    return [strip_control_chars(line) for line in tomlkit.dumps(value).strip().split("\n")]  # type: ignore[arg-type]


def _row(value: Setting) -> dict[str, Any]:
    return {"value": _plain(_visible(value)), "origin": value.origin, "type": value.key.kind, "about": value.key.text}


def _visible(setting: Setting) -> Any:  # Any: as in the file
    """Returns the value of a setting, or `***` for a secret."""
    return "***" if setting.key.name.endswith("_secret") and setting.value else setting.value


def _limit(app: App, value: Setting) -> dict[str, Any]:
    limit = app.settings.system.get(value.key.name)
    if not limit or not value.key.held:
        return {}
    return {"administrator": {"value": _plain(limit.value), "origin": limit.origin}}


def _plain(value: Any) -> Any:  # Any: as in the file
    """Returns the value for a reader: a list for a tuple, and an address without its password."""
    if isinstance(value, tuple):
        return list(value)
    return hide_password(value) if isinstance(value, str) else value


def _display(value: object) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return one_line(json.dumps(value, ensure_ascii=False, default=str))
    return one_line(" ".join(map(str, value)) if isinstance(value, tuple) else hide_password(str(value)))
