"""A model's opinion of scanned skills: several requests at once, each answer cached by its question.

The findings of the rules always stand. If the model is unavailable, slow, or its answer cannot be read, a note says so:
one for the skill, or one for all skills if the model itself failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256

from metier.errors import MetierError
from metier.evals import run_parallel
from metier.install import SkillCache
from metier.models import ChatMessage, ChatModel, ModelChoice
from metier.scan import PROMPT_VERSION, JudgeQuestion, NoOpinionError, ScanReport, add_opinion, judge_question
from metier.spec import Files
from metier.values import dataclass, field

__all__ = ["JudgeCase", "ModelJudge"]

_AT_ONCE = 4
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """A skill with the report of the rules."""

    name: str
    files: Files
    report: ScanReport


@dataclass(slots=True, kw_only=True)
class ModelJudge:
    model: ChatModel
    choice: ModelChoice
    """Part of the cache key."""
    cache: SkillCache
    seconds: float = _SECONDS
    """The time limit for one skill, with all retries."""
    notes: list[str] = field(default_factory=list)
    """Failures, in whole sentences."""
    _failure: str = ""
    _hint: str = ""

    async def __call__(
        self, cases: Sequence[JudgeCase], on_progress: Callable[[int], None] = lambda _: None
    ) -> list[ScanReport]:
        """Returns the reports in order, each with the model's findings if it answered."""

        async def one(case: JudgeCase) -> ScanReport:
            report = await self._judge(case)
            on_progress(1)
            return report

        reports = await run_parallel([partial(one, case) for case in cases], at_once=_AT_ONCE)
        if self._failure:
            without = sum(report.opinion is None for report in reports)
            which = cases[0].name if len(cases) == 1 else f"{without} of {len(cases)} skills"
            hint = f". Hint: {self._hint}" if self._hint else ""
            self.notes.append(f"no model judged {which}: {self._failure}; the result is from the rules alone{hint}")
        return reports

    async def _judge(self, case: JudgeCase) -> ScanReport:
        # In a thread, because reading a skill of several megabytes would hold up the other requests.
        question = await asyncio.to_thread(judge_question, case.files, case.report)
        key = self._key(question)
        try:
            opinion = question.read(str((self.cache.recall(key) or {}).get("answer", "")), model=self.model.name)
            return add_opinion(case.report, opinion)
        except NoOpinionError:
            answer = await self._ask(question)
        if answer is None:
            return case.report
        try:
            opinion = question.read(answer, model=self.model.name)
        except NoOpinionError as error:
            self.notes.append(
                f"the model {self.model.name} did not judge {case.name}: {error}; the result is from the rules alone"
            )
            return case.report
        self.cache.remember(key, {"answer": answer})
        if opinion.discarded and not opinion.findings:
            said = f"the model {self.model.name} rated {case.name} {opinion.verdict}"
            self.notes.append(f"{said} without a quote from its files; the result is from the rules alone")
        return add_opinion(case.report, opinion)

    async def _ask(self, question: JudgeQuestion) -> str | None:
        if self._failure:
            return None
        messages = [ChatMessage.system(question.system), ChatMessage.user(question.user)]
        try:
            async with asyncio.timeout(self.seconds):
                return (await self.model.ask(messages)).text
        except TimeoutError:
            self._failure = f"{self.model.name} did not answer within {self.seconds:g} seconds"
        except MetierError as error:
            self._failure, self._hint = str(error), error.hint
        return None

    def _key(self, question: JudgeQuestion) -> str:
        """Covers everything that an answer depends on: the question holds all of the skill that the model sees."""
        asked = sha256(f"{question.system}\0{question.user}".encode("utf-8", "surrogatepass")).hexdigest()
        return f"opinion {PROMPT_VERSION} {self.choice.base_url} {self.choice.name} {asked}"
