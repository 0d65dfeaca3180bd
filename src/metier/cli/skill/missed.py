"""`metier skill missed`: requests in other agents for which a skill should have been loaded."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.period import agent_option, since_option
from metier.cli.core.questions import Choice, ask_many, ask_yes_no, can_ask
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural, shorten, truncate
from metier.errors import NotFoundError, RefusedError, UnavailableError, UsageError
from metier.evals import SURE_FIT, MissedReport, MissedRequest, add_queries, find_missed
from metier.sources import refuse_bundled

__all__ = ["missed"]

_SHOWN_REQUESTS = 5
_SHOWN_SKILLS = 30


@command("skill", "missed")
@since_option("30d")
@agent_option
@click.option("--skill", "skill", metavar="NAME", shell_complete=skill_names, help="Only this skill.")
@click.option(
    "--fit", type=click.FloatRange(0.5, 1.0), default=SURE_FIT, show_default=True, help="How sure the ranker must be."
)
@click.option("--write-evals", is_flag=True, help="Add requests to the skills' evals/eval_queries.json.")
@click.option("-y", "--yes", is_flag=True, help="With --write-evals: add all of them and ask nothing.")
@click.option("--edit-installed", is_flag=True, help="With --write-evals: also change skills that were installed.")
def missed(
    app: App, *, since: float, agents: tuple[str, ...], skill: str | None, fit: float, write_evals: bool, yes: bool,
    edit_installed: bool,
) -> Result:  # fmt: skip
    """Find requests in your agents for which a skill should have been loaded.

    Reads the transcripts that other agents keep on this machine. A request is listed if the local ranker is sure of a skill
    (it would activate it, with at least --fit) and no such skill was loaded in that session, with the reason that can be
    seen. With --write-evals, requests that you choose become trigger evals of the skill.
    """
    if not app.transcripts.is_enabled:
        raise UnavailableError(
            "the setting stats.transcripts is off", hint="`metier config set stats.transcripts true` switches it on"
        )
    if (yes or edit_installed) and not write_evals:
        raise UsageError("--yes and --edit-installed need --write-evals", hint="add --write-evals")
    transcripts = app.transcripts.read(agents=agents, since=since)
    report = find_missed(transcripts, app.recent_requests.library, fit=fit)
    groups = report.by_skill()
    if skill is not None:
        groups = {name: rows for name, rows in groups.items() if name == skill}
    written = _write_evals(app, groups, take_all=yes, edit_installed=edit_installed) if write_evals else {}
    data: dict[str, Any] = {  # Any: JSON
        "requests": report.requests, "served": report.served, "fit": fit,
        "skills": [
            {"name": name, "folder": rows[0].folder, "missed": len(rows), "requests": [row.data() for row in rows]}
            for name, rows in groups.items()
        ],
        "written": [{"file": file, "requests": list(texts)} for file, texts in written.items()],
    }  # fmt: skip

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from _lines(groups, report, terminal)
        for file, texts in written.items():
            yield f"Added {plural(len(texts), 'request')} to {one_line(shorten(file, app.paths.user_home))}"
        if write_evals and not written:
            yield "No new requests were written"

    return Result(data=data, lines=lines, pages=not write_evals)


def _lines(groups: dict[str, list[MissedRequest]], report: MissedReport, terminal: Terminal) -> Iterator[str]:
    for name, rows in list(groups.items())[:_SHOWN_SKILLS]:
        where = ", ".join(f"{agent} {count}" for agent, count in Counter(row.agent for row in rows).most_common())
        yield f"{terminal.paint(one_line(name), 'bold')}  missed {len(rows)} x  {where}"
        for row in rows[:_SHOWN_REQUESTS]:
            day = datetime.fromtimestamp(row.time, UTC).astimezone().strftime("%Y-%m-%d") if row.time else "unknown day"
            text = truncate(repr(one_line(row.text)), max(terminal.width - 24, 20) if terminal.width else 160)
            yield f"  {day}  {row.fit:.0%}  {text}"
            yield terminal.paint(f"      {row.agent}: {one_line(row.detail)}", "dim")
        if len(rows) > _SHOWN_REQUESTS:
            yield terminal.paint(f"  and {len(rows) - _SHOWN_REQUESTS:,} more; --json lists them all", "dim")
    if len(groups) > _SHOWN_SKILLS:
        yield f"and {len(groups) - _SHOWN_SKILLS:,} more skills; --json lists them all"
    count = sum(map(len, groups.values()))
    counts = f"{count:,} missed, {report.served:,} served of {plural(report.requests, 'request')}"
    yield terminal.paint(counts, "dim")


def _write_evals(
    app: App, groups: dict[str, list[MissedRequest]], *, take_all: bool, edit_installed: bool
) -> dict[str, tuple[str, ...]]:
    """Writes the chosen requests, and returns those that were new for each file."""
    if not groups:
        raise NotFoundError(
            "there are no missed requests to write", hint="`metier skill missed --since 90d` looks further back"
        )
    if not take_all and not can_ask():
        raise UsageError("--write-evals asks which requests to add, and there is no terminal", hint="add --yes to add all")
    installed = _installed_folders(app)
    # Agents may have copies of a skill, or links to one.
    by_folder: dict[str, list[str]] = {}
    for name, rows in groups.items():
        for row in rows if take_all else _ask(name, rows):
            by_folder.setdefault(os.path.realpath(row.folder), []).append(row.text)
    # All are checked before the first is written.
    for folder in by_folder:
        _check_writable(folder, installed, edit_installed=edit_installed)
    written = {}
    for folder, texts in by_folder.items():
        new = add_queries(folder, texts, inside=app.paths.inside(folder))
        if new:
            written[os.path.join(folder, "evals", "eval_queries.json")] = new
    return written


def _check_writable(folder: str, installed: frozenset[str], *, edit_installed: bool) -> None:
    name = one_line(os.path.basename(folder))
    refuse_bundled(folder)
    if folder not in installed or edit_installed:
        return
    if can_ask() and ask_yes_no(f"{name} was installed; an update must then merge your change. Write to it?", default=False):
        return
    raise RefusedError(
        f"{name} was installed, and its files belong to its author", rule="installed",
        hint="add --edit-installed, or name one of your own skills with --skill NAME",
    )  # fmt: skip


def _installed_folders(app: App) -> frozenset[str]:
    placed = [
        place for store in app.installation.every_store() if store.exists for place in store.place_all(store.lock()).values()
    ]
    return frozenset(os.path.realpath(path) for place in placed for path in place.paths)


def _ask(name: str, rows: Sequence[MissedRequest]) -> list[MissedRequest]:
    by_text = {row.text: row for row in rows}
    choices = [Choice(value=str(at), title=truncate(one_line(text), 100), checked=True) for at, text in enumerate(by_text)]
    picked = ask_many(f"Requests that should select {one_line(name)}", choices)
    return [list(by_text.values())[int(at)] for at in picked]
