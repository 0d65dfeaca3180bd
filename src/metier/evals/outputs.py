"""Output evals: every task with the skill and without it (or with its old version), graded and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from metier.catalog import Entry
from metier.models import ChatModel
from metier.runtime import Limits, PackageProvider, Permissions, ScriptRunner
from metier.values import dataclass

from .files import EvalCase
from .grades import grade
from .parallel import run_parallel
from .results_folder import ResultsFolder
from .run_task import TaskResult, Variant, run_task
from .summary import EvalFlag, GradedRun, find_flags, summarize
from .task_workspace import TaskWorkspace

__all__ = ["TASKS_AT_ONCE", "OutputEval", "OutputReport", "TaskAgent", "run_outputs"]

TASKS_AT_ONCE = 4


class TaskAgent(Protocol):
    """Does the tasks instead of the model."""

    name: str

    async def run(self, case: EvalCase, variant: Variant, workspace: TaskWorkspace) -> TaskResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEval:
    entry: Entry
    cases: tuple[EvalCase, ...]
    model: ChatModel | None
    """Does the tasks, unless there is an agent, and grades them. Without it, only assertions with a command are graded."""
    runner: ScriptRunner
    permissions: Permissions
    limits: Limits
    packages: PackageProvider | None = None
    """Prepares the packages that the skill's scripts declare."""
    runs: int = 1
    old: Entry | None = None
    """The version to compare with instead of no skill."""
    agent: TaskAgent | None = None
    at_once: int = TASKS_AT_ONCE

    @property
    def doer(self) -> str:
        return self.agent.name if self.agent else self.model.name if self.model else ""

    async def run(self, case: EvalCase, variant: Variant, workspace: TaskWorkspace) -> TaskResult:
        if self.agent:
            return await self.agent.run(case, variant, workspace)
        if self.model is None:
            raise ValueError("an output eval needs a model or an agent")
        return await run_task(case, variant, self.model, workspace, self.permissions)

    @property
    def variants(self) -> tuple[Variant, Variant]:
        other = Variant(name="old_skill", entry=self.old) if self.old else Variant(name="without_skill")
        return Variant(name="with_skill", entry=self.entry), other


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReport:
    skill: str
    model: str
    variants: tuple[str, str]
    done: tuple[GradedRun, ...]
    summary: dict[str, Any]
    flags: tuple[EvalFlag, ...]
    folder: str = ""

    @property
    def ok(self) -> bool:
        """True unless results are worse with the skill."""
        return bool(self.summary["delta"]["pass_rate"] >= 0)

    def data(self) -> dict[str, Any]:
        """`benchmark.json`: run_summary as other tools read it, and every run."""
        metadata = {
            "skill_name": self.skill,
            "executor_model": self.model,
            "evals_run": list(dict.fromkeys(one.case for one in self.done)),
        }
        runs = [
            {
                "eval_name": one.case, "configuration": one.variant, "run_number": one.run,
                "result": {
                    "pass_rate": round(one.pass_rate, 3), "passed": sum(grade.passed for grade in one.grades),
                    "total": len(one.grades), "time_seconds": round(one.result.seconds, 3), "tokens": one.result.tokens,
                    "tool_calls": one.result.tool_calls, "errors": one.result.errors,
                },
                "assertion_results": [grade.data() for grade in one.grades],
            }
            for one in self.done
        ]  # fmt: skip
        return {
            "metadata": metadata, "run_summary": self.summary, "runs": runs, "flags": [flag.data() for flag in self.flags],
            "notes": [f"{flag.case}: {flag.what}: {flag.kind}" for flag in self.flags],
        }  # fmt: skip


async def run_outputs(
    evaluation: OutputEval, results: ResultsFolder, *, on_progress: Callable[[], None] = lambda: None
) -> OutputReport:
    """Runs every case in both variants. `on_progress` is called after each run."""
    skill = evaluation.entry.folder
    if evaluation.old:
        results.snapshot(evaluation.old.folder)
    inputs = {case.name: results.inputs(case, skill) for case in evaluation.cases}

    async def one(case: EvalCase, variant: Variant, run: int) -> GradedRun:
        task_workspace = TaskWorkspace(
            inputs=inputs[case.name], outputs=results.outputs(case, variant.name, run), runner=evaluation.runner,
            limits=evaluation.limits, packages=evaluation.packages,
        )  # fmt: skip
        result = await evaluation.run(case, variant, task_workspace)
        grades = await grade(case, result.answer, task_workspace, evaluation.model, folder=skill)
        done = GradedRun(case=case.name, variant=variant.name, run=run, result=result, grades=grades)
        results.record(done)
        on_progress()
        return done

    runs = range(1, evaluation.runs + 1)
    jobs = (partial(one, case, variant, run) for case in evaluation.cases for variant in evaluation.variants for run in runs)
    done = await run_parallel(jobs, at_once=evaluation.at_once)
    return _report(evaluation, done, results)


def _report(evaluation: OutputEval, done: Sequence[GradedRun], results: ResultsFolder) -> OutputReport:
    first, second = (variant.name for variant in evaluation.variants)
    return OutputReport(
        skill=evaluation.entry.name, model=evaluation.doer, variants=(first, second), done=tuple(done),
        summary=summarize(done, (first, second)), flags=find_flags(done, (first, second)), folder=results.iteration,
    )  # fmt: skip
