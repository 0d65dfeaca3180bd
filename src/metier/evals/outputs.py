"""Output evals: every task with the skill and without it (or with its old version), graded and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from metier.catalog import Entry
from metier.runtime import Limits, Permissions, ScriptRunner

from .chat import Chat
from .files import EvalCase
from .grading import grade
from .parallel import run_parallel
from .results_folder import ResultsFolder
from .run_task import Variant, run_task
from .summary import EvalFlag, GradedRun, find_flags, summarize
from .task_workspace import TaskWorkspace

__all__ = ["OutputEval", "OutputReport", "run_outputs"]

_WORKERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEval:
    """What is evaluated, and with what."""

    entry: Entry
    cases: tuple[EvalCase, ...]
    chat: Chat
    runner: ScriptRunner
    permissions: Permissions
    limits: Limits
    runs: int = 1
    old: Entry | None = None
    """Compared with this version instead of with no skill."""

    @property
    def arms(self) -> tuple[Variant, Variant]:
        other = Variant(name="old_skill", entry=self.old) if self.old else Variant(name="without_skill")
        return Variant(name="with_skill", entry=self.entry), other


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReport:
    skill: str
    model: str
    arms: tuple[str, str]
    done: tuple[GradedRun, ...]
    summary: dict[str, Any]
    flags: tuple[EvalFlag, ...]
    folder: str = ""

    @property
    def ok(self) -> bool:
        """Did the skill help, or at least not harm?"""
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
                "eval_name": one.case, "configuration": one.arm, "run_number": one.run,
                "result": {
                    "pass_rate": round(one.pass_rate, 3), "passed": sum(grade.passed for grade in one.grades),
                    "total": len(one.grades), "time_seconds": round(one.work.seconds, 3), "tokens": one.work.tokens,
                    "tool_calls": one.work.tool_calls, "errors": one.work.errors,
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
    evaluation: OutputEval, workspace: ResultsFolder, *, told: Callable[[], None] = lambda: None
) -> OutputReport:
    """Every case in both arms, as often as asked. `told` is called after each run."""
    skill = evaluation.entry.folder
    if evaluation.old:
        workspace.snapshot(evaluation.old.folder)
    inputs = {case.name: workspace.inputs(case, skill) for case in evaluation.cases}

    async def one(case: EvalCase, arm: Variant, run: int) -> GradedRun:
        desk = TaskWorkspace(
            inputs=inputs[case.name], outputs=workspace.outputs(case, arm.name, run), runner=evaluation.runner,
            limits=evaluation.limits,
        )  # fmt: skip
        made = await run_task(case, arm, evaluation.chat, desk, evaluation.permissions)
        grades = await grade(case, made.answer, desk, evaluation.chat, folder=skill)
        done = GradedRun(case=case.name, arm=arm.name, run=run, work=made, grades=grades)
        workspace.record(done)
        told()
        return done

    runs = range(1, evaluation.runs + 1)
    jobs = (partial(one, case, arm, run) for case in evaluation.cases for arm in evaluation.arms for run in runs)
    done = await run_parallel(jobs, at_once=_WORKERS)
    return _report(evaluation, done, workspace)


def _report(evaluation: OutputEval, done: Sequence[GradedRun], workspace: ResultsFolder) -> OutputReport:
    first, second = (arm.name for arm in evaluation.arms)
    return OutputReport(
        skill=evaluation.entry.name, model=evaluation.chat.name, arms=(first, second), done=tuple(done),
        summary=summarize(done, (first, second)), flags=find_flags(done, (first, second)), folder=workspace.iteration,
    )  # fmt: skip
