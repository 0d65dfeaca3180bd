"""`metier skill verify`: compares installed skills with the lock."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.install import LockCondition
from metier.install import verify as verify_store

from .install_common import entry_row, grouped_stores, project_phrase, scope_options

__all__ = ["verify"]


@command("skill", "verify")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@scope_options
def verify(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Compare installed skills and their packages with the lock, byte for byte. Exits with 1 if one differs.

    Where a source demands signatures, they are verified too.
    """
    stores = grouped_stores(app, names, project=project, user=user)
    access = app.installation.access(offline=True)
    found = [
        (store, verdict)
        for store, chosen in stores
        for verdict in verify_store(store, chosen, packages=app.packages.skills.differences, access=access)
    ]
    interrupted = [store.scope.root for store, _ in stores if store.is_interrupted]
    rows = [
        {
            **entry_row(verdict.entry, store),
            "condition": verdict.condition,
            "details": list(verdict.details),
            "signed_by": list(verdict.signed_by),
        }
        for store, verdict in found
    ]
    bad = [verdict for _, verdict in found if verdict.condition is not LockCondition.OK]

    def lines(terminal: Terminal) -> Iterator[str]:
        for verdict in bad:
            sign = terminal.paint("✗", "red")
            name = terminal.paint(one_line(verdict.entry.name), "bold")
            yield f"{sign} {name}: {verdict.condition}  {one_line(verdict.folder)}"
            yield from (f"    {one_line(detail)}" for detail in verdict.details)
        for _, verdict in found:
            if verdict.signed_by:
                yield f"{one_line(verdict.entry.name)} is signed by {one_line(', '.join(verdict.signed_by))}"
        where = project_phrase(app, *(store.scope for store, _ in stores))
        differ = "1 differs" if len(bad) == 1 else f"{len(bad)} differ"
        yield terminal.paint(f"Verified {plural(len(found), 'skill')}{where}; {differ} from the lock", "dim")

    notes = tuple(f"an installation in {root} was interrupted; `metier doctor --repair` finishes it" for root in interrupted)
    return Result(data={"skills": rows, "ok": not bad}, lines=lines, status=1 if bad or interrupted else 0, notes=notes)
