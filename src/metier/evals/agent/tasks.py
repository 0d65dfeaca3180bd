"""Tasks of output evals, done by an agent program, with the skill among those it can see and without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metier.catalog import Entry
from metier.evals.files import EvalCase
from metier.evals.run_task import TaskResult, Variant
from metier.evals.task_workspace import TaskWorkspace

from .conversation import AgentTurn, TurnKind
from .runs import AgentRunner

__all__ = ["AgentTasks"]


class AgentTasks:
    """`beside` are the other skills that the program can see in both variants."""

    def __init__(self, runner: AgentRunner, skill: str, beside: Sequence[Entry] = ()) -> None:
        self.name = runner.agent.host
        self._runner = runner
        self._beside = tuple(entry for entry in beside if entry.name != skill)

    async def run(self, case: EvalCase, variant: Variant, workspace: TaskWorkspace) -> TaskResult:
        """Does the task once. Files that the program wrote or changed are in the workspace's outputs."""
        skills = (variant.entry, *self._beside) if variant.entry else self._beside
        done = await self._runner.run(case.prompt, skills=skills, inputs=workspace.inputs, outputs=workspace.outputs)
        return TaskResult(
            answer=done.text.strip(), tokens=done.tokens, seconds=done.seconds,
            tool_calls=sum(turn.kind is TurnKind.CALL for turn in done.turns),
            transcript=tuple(map(_message, done.turns)),
        )  # fmt: skip


def _message(turn: AgentTurn) -> dict[str, Any]:  # Any: JSON, as in TaskResult
    tool = {"tool": turn.tool} if turn.tool else {}
    return {"role": turn.kind.value, **tool, "content": turn.text}
