"""Measures the model of `metier skill scan --judge`: precision and recall beside the rules, disagreement, tokens and cost.

    python -m benchmarks.scan_judge --model ollama:qwen3 [--base-url URL] [--key-variable NAME] [--record FILE]
    python -m benchmarks.scan_judge --replay FILE                   # recorded answers: no model, no key
    python -m benchmarks.scan_judge --set FILE --model NAME

Without `--set` it reads a random part of our own samples (tests/data/scan). A set has one JSON object per line: `files` (path
and text, or `{"base64": ...}`), `label` (`malicious` or `benign`) and optionally `category`. "Both" is what the command
reports: the rules, and the findings of the model that quote the skill. A recording is read by the content of each skill, so it
outlives changes of the rules and the prompt; answers to an earlier prompt are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from benchmarks.measure import Report, random_part
from benchmarks.recording import (
    Answer,
    add_model_options,
    check_model_options,
    cost_columns,
    model_client,
    read_answers,
    usage_of,
    write_answer,
)
from metier.app import JudgeCase, ModelJudge
from metier.archive import digest
from metier.errors import MetierError
from metier.evals import run_parallel
from metier.install import SkillCache
from metier.models import Message, ModelChoice, ModelClient, ModelReply
from metier.runtime import Tool
from metier.scan import ScanVerdict, scan
from metier.spec import MemoryFiles
from metier.values import replace
from scan.corpus import ATTACKS, HONEST, INJECTIONS, SHAPES, content_bytes

AT_ONCE = 4
VERDICTS = (ScanVerdict.PASS, ScanVerdict.REVIEW, ScanVerdict.BLOCK)


@dataclass(frozen=True)
class Sample:
    files: Mapping[str, bytes]
    is_malicious: bool
    category: str


@dataclass(frozen=True, kw_only=True)
class JudgeAnswer(Answer):
    question: str
    """The digest of the prompt."""


@dataclass(frozen=True)
class Judged:
    sample: Sample
    rules: ScanVerdict
    judge: ScanVerdict | None
    """Of the findings that quote the skill; None without a usable answer."""
    both: ScanVerdict
    discarded: int
    answer: JudgeAnswer
    is_earlier: bool
    """The answer was recorded for another prompt."""


class Asker:
    """Asks about one skill: the model, or its recorded answer."""

    def __init__(self, key: str, client: ModelClient | None, recorded: JudgeAnswer | None, name: str) -> None:
        self.name = name
        self.error: MetierError | None = None
        self.answer = recorded or JudgeAnswer(request=key, text="", question="", model=name)
        self.question = ""
        self._client = client

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> ModelReply:
        told = json.dumps([message.data() for message in messages], ensure_ascii=False)
        self.question = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        if self._client is None:
            return ModelReply(text=self.answer.text)
        try:
            reply = await self._client.ask(messages, tools)
        except MetierError as error:
            self.error = error
            raise
        self.answer = JudgeAnswer(
            request=self.answer.request, text=reply.text, question=self.question, model=self.name, **usage_of(reply)
        )
        return reply


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    report = Report("A model judges skills beside the rules", as_json=options.json)
    samples = random_part(read_set(options.set) if options.set else list(own_samples()), options.limit)
    try:
        recorded = read_recording(options.replay, samples) if options.replay else {}
        judged = asyncio.run(judge_all(options, samples, recorded))
    except MetierError as error:
        raise SystemExit(f"{error}; {error.hint}" if error.hint else str(error)) from None
    print_figures(report, judged)
    print_disagreement(report, judged)
    print_cost(report, judged)
    return report.finish()


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_model_options(parser)
    parser.add_argument("--set", type=Path, help="labelled skills, JSON Lines, instead of our own samples")
    parser.add_argument("--limit", type=int, default=100, help="a random sample of that many skills; 0 is all")
    options = parser.parse_args(arguments)
    check_model_options(parser, options)
    return options


def own_samples() -> Iterator[Sample]:
    yield from (Sample(one.files, is_malicious=True, category=f"attack: {one.category}") for one in ATTACKS)
    for row in INJECTIONS:
        yield labelled(row, f"injection: {row['kind']}")
    yield from (labelled({**row, "label": "benign"}, "honest") for row in HONEST)
    yield from (Sample(one.files, is_malicious=False, category="near miss") for one in SHAPES if one.kind == "near")


def read_set(file: Path) -> list[Sample]:
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        found = [labelled(row, str(row.get("category", ""))) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"cannot read the set {file}: {type(error).__name__}: {error}") from None
    if not found:
        raise SystemExit(f"the set {file} has no skills")
    return found


def labelled(row: Mapping[str, Any], category: str) -> Sample:
    if row["label"] not in ("malicious", "benign"):
        raise ValueError(f"the label {row['label']!r} is neither malicious nor benign")
    files = {path: content_bytes(content) for path, content in row["files"].items()}
    return Sample(files, is_malicious=row["label"] == "malicious", category=category)


def read_recording(file: Path, samples: Sequence[Sample]) -> dict[str, JudgeAnswer]:
    """Returns the answers by the digest of each skill. Ends the program if one is missing."""
    recorded = {one.request: one for one in read_answers(file, JudgeAnswer)}
    missing = sum(digest(MemoryFiles(one.files)) not in recorded for one in samples)
    if missing:
        raise SystemExit(
            f"the recording has no answer about {missing} of {len(samples)} skills; "
            "give the --set and --limit that it was made with, or record it with --model NAME --record FILE"
        )
    return recorded


async def judge_all(
    options: argparse.Namespace, samples: Sequence[Sample], recorded: Mapping[str, JudgeAnswer]
) -> list[Judged]:
    client = None if options.replay else model_client(options)
    with ExitStack() as stack:
        record = stack.enter_context(options.record.open("w", encoding="utf-8")) if options.record else None
        cache = SkillCache(stack.enter_context(tempfile.TemporaryDirectory()))

        async def one(number: int) -> Judged:
            judged = await judge(number, samples[number], client, recorded, cache)
            if record:
                write_answer(record, judged.answer)
            return judged

        try:
            # The first skill shows a wrong key or name; later failures count as in use.
            first = await one(0)
            rest = await run_parallel([partial(one, number) for number in range(1, len(samples))], at_once=AT_ONCE)
        finally:
            if client is not None:
                await client.close()
    return [first, *rest]


async def judge(
    number: int, one: Sample, client: ModelClient | None, recorded: Mapping[str, JudgeAnswer], cache: SkillCache
) -> Judged:
    files = MemoryFiles(one.files)
    key = digest(files)
    known = recorded.get(key)
    asker = Asker(key, client, known, client.name if client else known.model if known else "")
    # The name of the folder is neutral: a label in it would be a hint.
    case = JudgeCase("skill", files, scan(files, folder="notes"))
    (report,) = await ModelJudge(model=asker, choice=ModelChoice(name=asker.name), cache=cache)([case])
    if asker.error and number == 0:
        raise asker.error
    opinion = report.opinion
    said = replace(report, findings=opinion.findings).verdict if opinion else None
    is_earlier = known is not None and known.question not in ("", asker.question)
    return Judged(
        one, report.rules_verdict, said, report.verdict, opinion.discarded if opinion else 0, asker.answer, is_earlier
    )


SOURCES: dict[str, Callable[[Judged], ScanVerdict]] = {
    "rules": lambda one: one.rules,
    "judge": lambda one: one.judge or ScanVerdict.PASS,
    "both": lambda one: one.both,
}


def print_figures(report: Report, judged: Sequence[Judged]) -> None:
    levels = {"block": ScanVerdict.BLOCK, "review or block": ScanVerdict.REVIEW}
    head = (
        "source",
        "bad / good",
        *(f"{what}, {level}" for level in levels for what in ("precision", "recall", "false alarms")),
    )
    rows = []
    for name, verdict in SOURCES.items():
        figures = (figure for least in levels.values() for figure in shares(judged, verdict, least))
        rows.append((name, counts(judged), *figures))
    report.add_table("Precision and recall", head, rows)
    groups = {name: [one for one in judged if one.sample.category == name] for name in {one.sample.category for one in judged}}
    head = (
        "category",
        "bad / good",
        *(f"{what}, {name}" for name in SOURCES for what in ("precision", "recall", "false alarms")),
    )
    rows = [
        (name, counts(group), *(each for verdict in SOURCES.values() for each in shares(group, verdict, ScanVerdict.BLOCK)))
        for name, group in sorted(groups.items())
    ]
    report.add_table("By category, at block", head, rows)


def counts(judged: Sequence[Judged]) -> str:
    bad = sum(one.sample.is_malicious for one in judged)
    return f"{bad} / {len(judged) - bad}"


def shares(judged: Sequence[Judged], verdict: Callable[[Judged], ScanVerdict], least: ScanVerdict) -> tuple[str, str, str]:
    """Returns precision, recall, and the share of benign skills with at least that verdict."""
    flagged = [one.sample.is_malicious for one in judged if verdict(one).rank >= least.rank]
    bad = sum(one.sample.is_malicious for one in judged)
    right = sum(flagged)
    return share(right, len(flagged)), share(right, bad), share(len(flagged) - right, len(judged) - bad)


def share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def print_disagreement(report: Report, judged: Sequence[Judged]) -> None:
    """Tables the verdicts of the rules against those of the model, apart for malicious and benign skills."""
    rows = []
    for label, is_malicious in (("malicious", True), ("benign", False)):
        pairs = Counter((one.rules, one.judge) for one in judged if one.sample.is_malicious is is_malicious)
        rows += [(label, rules.value, *(str(pairs[rules, said]) for said in (*VERDICTS, None))) for rules in VERDICTS]
    head = ("skills", "rules say", *(f"judge says {verdict.value}" for verdict in VERDICTS), "no answer")
    report.add_table("Agreement", head, rows)


def print_cost(report: Report, judged: Sequence[Judged]) -> None:
    columns = cost_columns([one.answer for one in judged], per=1, digits=5)
    unusable, discarded = sum(one.judge is None for one in judged), sum(one.discarded for one in judged)
    head = (
        "model",
        "skills",
        "input tokens",
        "output tokens",
        "US$ per skill",
        "no usable answer",
        "quotes discarded",
        "earlier prompt",
    )
    earlier = sum(one.is_earlier for one in judged)
    report.add_table("Cost per skill", head, [(*columns, str(unusable), str(discarded), str(earlier))])


if __name__ == "__main__":
    sys.exit(main())
