"""`metier skill eval`: trigger evals, output evals and a skill's own tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.models import required_model, run_with_model
from metier.cli.core.progress import progress
from metier.cli.core.report_formats import write_report
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entries_named
from metier.cli.core.terminal import Terminal
from metier.errors import UsageError
from metier.evals import EvalOptions, EvalPlan, EvalResults, EvalServices, junit_triggers, plan_evals, run_evals, starter_evals
from metier.models import ChatModel, ModelChoice

from .eval_agent import AgentChoice, agent_options, export_tasks, open_agent
from .eval_report import output_lines, trigger_lines
from .run import approve_named
from .starters import write_starters
from .test import runner_for, test_lines

__all__ = ["evaluate"]


@command("skill", "eval")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skill_names)
@click.option("--init", is_flag=True, help="Write a starter eval_queries.json, and run nothing.")
@click.option("--triggers", is_flag=True, help="Only trigger evals: is it selected for the right requests?")
@click.option("--outputs", is_flag=True, help="Only output evals: its tasks with the skill and without. Needs a model.")
@click.option("--tests", is_flag=True, help="Also run its own tests, like `metier skill test`.")
@click.option("--offline", is_flag=True, help="Use the local ranker even if a model is set.")
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs per request with a model.")
@click.option(
    "--baseline", type=click.Path(exists=True, file_okay=False), help="Compare with this older version instead of no skill."
)
@click.option("--workspace", type=click.Path(file_okay=False), help="Folder for the results of tasks; default: NAME-workspace.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write the report to this file, as one HTML page.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write the trigger results to this file, as JUnit XML.")
@agent_options
@click.option("--with-library", is_flag=True, help="With --agent: it also sees your other skills, not only the evaluated one.")
@click.option(
    "--export", "form", type=click.Choice(["harbor"]), help="Write the evals as tasks of this format, and run nothing."
)
@click.option("-o", "--output", type=click.Path(file_okay=False), help="With --export: the folder for the tasks.")
@click.option("--allow-none", is_flag=True, help="Exit with 0 if no skill has evals; for CI.")
@click.option("-v", "--verbose", is_flag=True, help="Also list the requests that passed.")
def evaluate(
    app: App, *, targets: tuple[str, ...], init: bool, triggers: bool, outputs: bool, tests: bool, offline: bool, runs: int,
    baseline: str | None, workspace: str | None, html: str | None, junit: str | None, allow_none: bool, verbose: bool,
    with_library: bool, form: str | None, output: str | None, **agent_words: Any,
) -> Result:  # fmt: skip
    """Measure whether a skill triggers when it should, and helps when it does.

    evals/eval_queries.json holds requests and whether the skill should be selected for each; the judge is the model of your
    settings, or else the local ranker, among all installed skills. evals/evals.json holds tasks; a model does each with the
    skill and without. Exits with 1 if a request fails, a test fails, or the skill makes results worse.

    With --agent the real program does both, in a fresh home and a sandbox. --record keeps the answers of its model, and
    --replay runs the same eval again without one.
    """
    if init:
        starter = "evals/eval_queries.json"
        return write_starters(app, targets, starter, lambda entry: starter_evals(entry.manifest), then="eval")
    entries = entries_named(app, targets)
    if form or output:
        return export_tasks(entries, form, output)
    agent = open_agent(app, offline=offline, **agent_words)
    model = agent.grader(app) if agent else _model(app, required=outputs, offline=offline)
    can_do_tasks = agent is not None or model is not None
    options = EvalOptions(
        triggers=triggers or not outputs, outputs=can_do_tasks and (outputs or not triggers), tests=tests, runs=runs,
        baseline=entries_named(app, [baseline])[0] if baseline else None, workspace=workspace,
    )  # fmt: skip
    plan = plan_evals(entries, options, allow_none=allow_none)
    with progress("evaluating", plan.steps) as advance:
        results = run_with_model(
            model,
            lambda client: run_evals(plan, _services(app, plan, client, agent, with_library), on_progress=lambda: advance(1)),
        )
    if junit:
        write_report(app, junit, junit_triggers(results.triggers))
    if html:
        write_report(app, html, results.html())
    return Result(
        data={**results.data(), **({"program": agent.data()} if agent else {})},
        lines=lambda terminal: (*_lines(results, terminal, verbose=verbose), *(agent.lines(terminal) if agent else ())),
        status=0 if results.ok else 1,
        notes=(*results.notes, *(agent.warnings if agent else ())),
    )


def _model(app: App, *, required: bool, offline: bool) -> ModelChoice | None:
    if required and offline:
        raise UsageError("--outputs needs a model, and --offline forbids one", hint="leave one of them out")
    if required:
        return required_model(app, purpose="--outputs")
    return None if offline else app.conversations.model()


def _services(app: App, plan: EvalPlan, model: ChatModel | None, agent: AgentChoice | None, with_library: bool) -> EvalServices:
    # Running the command approves the skill's scripts, but not packages; what the policy forbids stays forbidden.
    return EvalServices(
        catalog=app.catalog, selector=app.skills.selector, model=model, runner=app.sessions.runner,
        test_runner=runner_for(app, plan.test_files) if plan.test_files else None,
        permissions=app.sessions.permissions(approve_named(())), limits=app.sessions.options().limits,
        folder=app.folder, packages=app.packages, prepared=app.packages.prepared,
        agent=agent.runner if agent else None, at_once=agent.jobs if agent else 2,
        beside=tuple(entry for entry in app.catalog if entry.is_for_models) if agent and with_library else (),
    )  # fmt: skip


def _lines(results: EvalResults, terminal: Terminal, *, verbose: bool) -> Iterator[str]:
    yield from trigger_lines(results.triggers, terminal, verbose=verbose)
    yield from test_lines(results.tests, terminal, verbose=verbose) if results.tests else ()
    yield from output_lines(results.outputs, terminal)
    if not (results.triggers or results.tests or results.outputs):
        yield "No evals"
