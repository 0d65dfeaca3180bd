"""`metier skill try`: read, scan and run a skill without installing it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.questions import Choice, ask_one, ask_yes_no, can_ask
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import catalog_in, entry_in
from metier.cli.core.terminal import Terminal, one_line, truncate
from metier.errors import RefusedError, UsageError
from metier.install import FoundSkill, InstallOptions, ScannedSkill, TrialSkill, scan_folder, try_skill
from metier.scan import ScanVerdict

from .install import ACCESS_OPTIONS, install_refs
from .install_common import access_of, access_options, fetch_progress, pause_progress
from .install_prompts import with_prompts
from .run import approve_named, run_in
from .scan import report_lines, scan_row
from .show import skill_page

__all__ = ["try_it"]


@command("skill", "try")
@click.argument("ref")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--skill", help="This skill of several.")
@click.option("--run", "script", metavar="SCRIPT", help="Run this script of the skill in the sandbox; its arguments follow --.")
@click.option("--network", "hosts", multiple=True, metavar="HOST", help="With --run: allow connections to this host.")
@click.option("--full-depth", is_flag=True, help="Search the whole source for skills, also inside other skills.")
@access_options
def try_it(
    app: App, *, ref: str, arguments: tuple[str, ...], skill: str | None, script: str | None, hosts: tuple[str, ...],
    **options: Any,
) -> Result:  # fmt: skip
    """Read, scan and run a skill without installing it.

    REF is what `metier skill install` takes. The skill is fetched into a temporary folder, which is deleted afterwards; your
    skills, the lock and other agents do not change. With --run a script of it runs in the sandbox, as `metier skill run` does:

        metier skill try ./fill-forms --run fill -- form.pdf

    A skill that the scan blocks is not run. On a terminal you are then asked whether to install it.
    """
    # Any: the options above.
    if arguments and not script:
        raise UsageError("arguments need --run SCRIPT", hint="metier skill try REF --run SCRIPT -- ARGUMENTS")
    access = access_of(app, **{key: options[key] for key in ACCESS_OPTIONS})
    choose = _choose if can_ask() else None
    with (
        fetch_progress() as progress,
        try_skill(ref, access, skill=skill or "", choose=choose, progress=progress) as trial,
        pause_progress(),
    ):
        scanned = scan_folder(trial.folder)
        if script:
            return _run(app, trial, scanned, script, arguments, hosts)
        offers = _offers_to_install()
        result = _page(app, ref, trial, scanned, with_next_step=not offers)
        if not offers:
            return result
        for line in result.lines(Terminal.of(sys.stderr)):
            click.echo(line, err=True)
        wants_it = ask_yes_no("Install it?", default=False)
    if not wants_it:
        return Result(data=result.data, lines=lambda _: ("Nothing was installed",))
    # The name in the source, by which it is selected there.
    name = trial.entry.called or trial.name
    chosen = with_prompts(InstallOptions(skills=(name,)))
    return install_refs(app, (ref,), chosen, access=access, scope=None, with_questions=True)


def _choose(offered: tuple[FoundSkill, ...]) -> Sequence[FoundSkill]:
    paths = {one.path or one.name: one for one in offered}
    choices = [
        Choice(value=path, title=f"{one.name}  {truncate(one_line(one.description), 80)}") for path, one in paths.items()
    ]
    with pause_progress():
        return [paths[ask_one("Which skill?", choices)]]


def _offers_to_install() -> bool:
    return can_ask() and sys.stdout.isatty() and not click.get_current_context().params["as_json"]


def _run(
    app: App, trial: TrialSkill, scanned: ScannedSkill, script: str, arguments: tuple[str, ...], hosts: tuple[str, ...]
) -> Result:
    if scanned.report.verdict is ScanVerdict.BLOCK:
        raise RefusedError(
            f"{trial.name} is blocked by the scan, and was not run", rule="scan", hint="read the report: leave out --run"
        )
    session = app.sessions.open(approve=approve_named(hosts), kept=False, catalog=catalog_in(app, trial.folder))
    return run_in(session, app.folder, trial.name, script, arguments, hosts=hosts)


def _page(app: App, ref: str, trial: TrialSkill, scanned: ScannedSkill, *, with_next_step: bool) -> Result:
    page = skill_page(app, entry_in(app, trial.folder), where=ref, with_files=False)
    is_one_of_several = trial.entry.origin.path and not ref.rstrip("/").endswith(trial.entry.origin.path)
    again = f"{ref} --skill {trial.entry.called or trial.name}" if is_one_of_several else ref

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from page.lines(terminal)
        yield ""
        yield from report_lines(trial.name, ref, scanned.report, terminal)
        if with_next_step:
            yield terminal.paint(one_line(f"Not installed. To install it: metier skill install {again}"), "dim")

    scan = {key: value for key, value in scan_row(scanned).items() if key not in ("name", "where", "folder")}
    return Result(data={**page.data, "scan": scan}, lines=lines)
