"""A model's opinion of skills that were scanned: asked at once, remembered by what was asked, and done without where it fails.

The rules' answer is always there. A model that is away, slow, or answers something else takes nothing from it; what went
wrong is told in one sentence, and once for all skills when the model itself is the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from metier.errors import MetierError
from metier.evals.chat import Chat, Endpoint
from metier.evals.parallel import run_parallel
from metier.install.fetch.cache import SkillCache
from metier.scan import JudgeQuestion, NoOpinionError, ScanReport, add_opinion, judge_question
from metier.scan.model_opinion import PROMPT_VERSION
from metier.spec import Files

__all__ = ["JudgeCase", "ModelJudge"]

_AT_ONCE = 4
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """A skill, and what the rules say of it."""

    name: str
    files: Files
    report: ScanReport


@dataclass(slots=True, kw_only=True)
class ModelJudge:
    chat: Chat
    where: Endpoint
    cache: SkillCache
    seconds: float = _SECONDS
    """How long one skill may take, with every retry."""
    notes: list[str] = field(default_factory=list)
    """What went wrong, in whole sentences."""
    _away: str = ""

    async def __call__(self, cases: Sequence[JudgeCase], told: Callable[[int], None] = lambda _: None) -> list[ScanReport]:
        """Their reports, in order, each with the model's findings where it had an answer."""

        async def one(case: JudgeCase) -> ScanReport:
            report = await self._judged(case)
            told(1)
            return report

        reports = await run_parallel([partial(one, case) for case in cases], at_once=_AT_ONCE)
        if self._away:
            without = sum(report.opinion is None for report in reports)
            which = cases[0].name if len(cases) == 1 else f"{without} of {len(cases)} skills"
            self.notes.append(f"no model judged {which}: {self._away}; the rules' answer stands")
        return reports

    async def _judged(self, case: JudgeCase) -> ScanReport:
        # In a thread: a skill of a few megabytes must not keep the answers for others waiting.
        question = await asyncio.to_thread(judge_question, case.files, case.report)
        key = self._key(question)
        try:
            opinion = question.read(str((self.cache.recall(key) or {}).get("answer", "")), model=self.chat.name)
            return add_opinion(case.report, opinion)
        except NoOpinionError:
            answer = await self._asked(question)
        if answer is None:
            return case.report
        try:
            opinion = question.read(answer, model=self.chat.name)
        except NoOpinionError as error:
            self.notes.append(f"the model {self.chat.name} did not judge {case.name}: {error}; the rules' answer stands")
            return case.report
        self.cache.remember(key, {"answer": answer})
        if opinion.discarded and not opinion.findings:
            said = f"the model {self.chat.name} says {opinion.verdict} of {case.name}"
            self.notes.append(f"{said} and quotes nothing that stands in its files; the rules' answer stands")
        return add_opinion(case.report, opinion)

    async def _asked(self, question: JudgeQuestion) -> str | None:
        if self._away:
            return None
        messages = [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
        try:
            async with asyncio.timeout(self.seconds):
                return (await self.chat(messages)).text
        except TimeoutError:
            self._away = f"{self.chat.name} did not answer within {self.seconds:g} seconds"
        except MetierError as error:
            self._away = str(error)
        return None

    def _key(self, question: JudgeQuestion) -> str:
        """Of all that an answer depends on. The question holds the contents; what is not in it the model has not seen."""
        asked = sha256(f"{question.system}\0{question.user}".encode("utf-8", "surrogatepass")).hexdigest()
        return f"opinion {PROMPT_VERSION} {self.where.base_url} {self.where.model} {asked}"
