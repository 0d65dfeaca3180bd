"""`metier skill yank` and `metier skill unyank`."""

from __future__ import annotations

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import exact_version, registry_options
from metier.cli.core.result import Result

__all__ = ["unyank", "yank"]


@command("skill", "yank")
@click.argument("ref", metavar="NAME@VERSION")
@click.option("--reason", required=True, help="Reason, shown to users who have this version.")
@registry_options
def yank(app: App, *, ref: str, reason: str, registry: str | None, insecure_http: bool) -> Result:
    """Withdraw a version. It can only be installed by its exact version, for example from a lock file."""
    client = app.registries.client(registry, insecure=insecure_http)
    name, version = exact_version(ref)
    changed = client.yank(name, version, reason=reason).get("changed", True)
    message = f"Yanked {name} {version}" if changed else f"{name} {version} is already yanked"
    return Result(data={"name": name, "version": version, "changed": changed}, lines=lambda _: (message,))


@command("skill", "unyank")
@click.argument("ref", metavar="NAME@VERSION")
@registry_options
def unyank(app: App, *, ref: str, registry: str | None, insecure_http: bool) -> Result:
    """Undo a yank."""
    client = app.registries.client(registry, insecure=insecure_http)
    name, version = exact_version(ref)
    changed = client.unyank(name, version).get("changed", True)
    message = f"{name} {version} is no longer yanked" if changed else f"{name} {version} is not yanked"
    return Result(data={"name": name, "version": version, "changed": changed}, lines=lambda _: (message,))
