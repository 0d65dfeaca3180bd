"""`metier skill versions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import offline_option, registry_options, split_registry, split_version
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad

__all__ = ["versions"]


@command("skill", "versions")
@click.argument("name")
@offline_option
@registry_options
def versions(app: App, *, name: str, offline: bool, registry: str | None, insecure_http: bool) -> Result:
    """List all versions of a skill in a registry, including yanked ones."""
    name, registry = split_registry(name, registry)
    client = app.registries.reader(registry, offline=offline, insecure=insecure_http)
    response = client.versions(split_version(name)[0])
    return Result(data={"registry": client.url, **response}, lines=lambda terminal: _lines(response, terminal))


def _lines(response: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:  # Any: JSON of the registry
    tags: dict[str, list[str]] = {}
    for tag, version in response.get("tags", {}).items():
        tags.setdefault(version, []).append(tag)
    for row in response.get("versions", []):
        notes = [*tags.get(row["version"], []), *([f"signed by {row['signed_by']}"] if row.get("signed_by") else [])]
        line = f"{pad(one_line(row['version']), 12)} {str(row.get('published'))[:10]}  {one_line(' '.join(notes))}"
        if row.get("available"):
            line += terminal.paint(f" in its cool-down until {one_line(str(row['available']))}", "yellow")
        if row.get("yanked"):
            line += terminal.paint(f"yanked: {one_line(row.get('yank_reason') or 'no reason given')}", "yellow")
        yield line.rstrip()
