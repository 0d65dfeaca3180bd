"""`metier skill remove`: remove an installed skill. It does the same as `metier skill delete`."""

from __future__ import annotations

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .delete import delete_options, delete_skill

__all__ = ["remove"]


@command("skill", "remove")
@delete_options
def remove(app: App, *, name: str, source: str | None, yes: bool, force: bool, targets: tuple[str, ...]) -> Result:
    """Remove an installed skill: its folder, its entry in the lock, and its copies for agents. Asks first.

    With --target, it stays installed, and is only removed from these agents. A skill that was not installed is deleted.
    """
    return delete_skill(app, name, source=source, yes=yes, force=force, targets=targets)
