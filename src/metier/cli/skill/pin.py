"""`metier skill pin` and `unpin`: keep installed skills at their version, or update them again."""

from __future__ import annotations

from collections.abc import Sequence

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line
from metier.values import replace

from .install_common import grouped_stores, scope_options

__all__ = ["pin", "unpin"]


@command("skill", "pin")
@click.argument("names", nargs=-1, required=True, shell_complete=skill_names)
@scope_options
def pin(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Keep installed skills at their version; `update` skips them."""
    return _set_pinned(app, names, pinned=True, project=project, user=user)


@command("skill", "unpin")
@click.argument("names", nargs=-1, required=True, shell_complete=skill_names)
@scope_options
def unpin(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Let `update` install newer versions again."""
    return _set_pinned(app, names, pinned=False, project=project, user=user)


def _set_pinned(app: App, names: Sequence[str], *, pinned: bool, project: bool, user: bool) -> Result:
    for store, chosen in grouped_stores(app, names, project=project, user=user):
        store.change(chosen, lambda entry: replace(entry, pinned=pinned))
    lines = [one_line(f"{'Pinned' if pinned else 'Unpinned'} {name}") for name in names]
    return Result(data={"names": list(names), "pinned": pinned}, lines=lambda _: lines)
