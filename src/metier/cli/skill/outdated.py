"""`metier skill outdated`: asks the sources of installed skills for newer versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.errors import UnavailableError
from metier.install import LockFetcher, SkillStore, UpdateState, UpdateStatus
from metier.install import outdated as outdated_skills

from .install_common import access_of, access_options, entry_row, fetch_progress, grouped_stores, scope_options

__all__ = ["outdated"]


@command("skill", "outdated")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@scope_options
@access_options
def outdated(app: App, *, names: tuple[str, ...], project: bool, user: bool, **access: Any) -> Result:
    """Ask the sources for newer versions, and change nothing.

    Exits with 1 if a skill is outdated, else with 4 if a source could not be asked. All sources are asked in parallel,
    each once; one that has something new is asked again for its version.
    """
    # Any: what `access_options` parsed.
    found: list[tuple[SkillStore, UpdateStatus]] = []
    with fetch_progress() as progress:
        shared = access_of(app, **access)
        for store, chosen in grouped_stores(app, names, project=project, user=user):
            fetcher = LockFetcher(app.installation.access_for(store, shared), progress=progress)
            found += [(store, status) for status in outdated_skills(store, fetcher, chosen)]
    rows = [
        {**entry_row(one.entry, store), "state": one.state, "newest": one.commit, "newest_version": one.version,
         "versions": one.versions, "problem": one.problem, "held": one.held}
        for store, one in found
    ]  # fmt: skip
    old = sum(one.state is UpdateState.OUTDATED for _, one in found)
    unknown = sum(one.state is UpdateState.UNKNOWN for _, one in found)

    def lines(terminal: Terminal) -> Iterator[str]:
        for _, one in found:
            if one.held:
                yield f"{terminal.paint(one_line(one.entry.name), 'bold')}: newer version held back: {one_line(one.held)}"
            if one.state is not UpdateState.CURRENT:
                yield f"{terminal.paint(one_line(one.entry.name), 'bold')}: {one_line(_describe(one))}"
        unchecked = f"; {unknown} could not be checked" if unknown else ""
        yield terminal.paint(f"{old} of {plural(len(found), 'skill')} outdated{unchecked}", "dim")

    status = 1 if old else UnavailableError.exit_status if unknown else 0
    return Result(data={"skills": rows, "outdated": old, "unknown": unknown}, lines=lines, status=status)


def _describe(status: UpdateStatus) -> str:
    if status.state is UpdateState.UNKNOWN:
        return f"could not be checked: {status.problem}"
    versions = f" ({status.versions})" if status.versions else ""
    pinned = f", but you asked for {status.exact}" if status.exact else ", but it is pinned"
    return f"newer version available{versions}{pinned if status.state is UpdateState.PINNED else ''}"
