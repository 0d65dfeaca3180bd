"""An agent program as a trigger judge: the request is typed into it, and it loads the skill or does not."""

from __future__ import annotations

from collections.abc import Sequence

from metier.catalog import Entry
from metier.evals.triggers import JudgeChoice

from .runs import AgentRunner

__all__ = ["AgentTriggerJudge"]

_MOST_REQUESTS = 12
"""A program that has asked its model so often without loading the skill works without it."""


class AgentTriggerJudge:
    """`beside` are the other skills that the program can see. A run ends when the skill was loaded."""

    deterministic = False

    def __init__(self, runner: AgentRunner, skill: Entry, beside: Sequence[Entry] = ()) -> None:
        self.name = f"agent {runner.agent.host}"
        self._runner = runner
        self._skill = skill
        self._offered = (skill, *(entry for entry in beside if entry.name != skill.name))

    async def __call__(self, query: str) -> JudgeChoice:
        name = self._skill.name
        done = await self._runner.run(query, skills=self._offered, until_loaded=name, most_requests=_MOST_REQUESTS)
        others = [each for each in done.loaded if each != name]
        text = " ".join(done.text.split())[:200]
        limit = f"stopped after {_MOST_REQUESTS} requests to the model" if done.stopped == "requests" else ""
        return JudgeChoice(
            triggered=name in done.loaded,
            winner=done.loaded[0] if done.loaded else "",
            why=(f"loaded {', '.join(done.loaded)}" if done.loaded else limit or text or "answered without a skill"),
            own="loaded" if name in done.loaded else f"not loaded; loaded {others[0]}" if others else "not loaded",
            tokens=done.tokens,
            seconds=done.seconds,
        )
