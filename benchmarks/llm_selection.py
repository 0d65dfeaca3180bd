"""Measures a language model that chooses from our shortlist: the order before and after, tokens and cost per request.

    python benchmarks/llm_selection.py --model ollama:qwen3 [--base-url URL] [--key-variable NAME] [--record FILE]
    python benchmarks/llm_selection.py --replay FILE                # recorded answers: no model, no key
    python benchmarks/llm_selection.py --skills FOLDER --requests FILE --model NAME

Without `--skills` it asks for the requests of the selection benchmark (--data FOLDER, or METIER_DATA), which are ranked by
networks that never saw their publisher. A requests file has one JSON object per line: `query`, `gold` (ids or names of the
right skills; empty if none should be chosen) and optionally `kind`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
from metier.errors import MetierError
from metier.models import ChatMessage, ModelClient
from metier.selection import LlmSelector, Selector
from metier.selection.llm import SHORTLIST, LocalSelector
from metier.sources import discover
from metier.sources.selection_index import IndexedSkill
from training.labels import measure

KEYS = ("NDCG@10", "R@1", "R@5")
MOST = 3


@dataclass(frozen=True)
class Asked:
    query: str
    gold: tuple[str, ...]
    kind: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Choice(Answer):
    """A recorded answer. Replayed by its names where the shortlist has changed since, which changes the numbers."""

    shortlist: list[str]
    names: list[str]

    def reply(self, shortlist: Sequence[str]) -> str:
        return self.text if list(shortlist) == self.shortlist else json.dumps(self.names) if self.names else "none"


class Reader:
    """Asks the model, or the recording, and keeps what it said."""

    def __init__(self, client: ModelClient | None, recorded: dict[str, Choice], loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._recorded = recorded
        self._loop = loop
        self.last: Choice | None = None
        self.error: MetierError | None = None

    def forget(self) -> None:
        self.last = self.error = None

    def ask(self, asked: Asked, shortlist: Sequence[str], prompt: str) -> str:
        if self._client is None:
            if asked.query not in self._recorded:
                raise SystemExit(
                    f"the recording has no answer to {asked.query[:80]!r}; record it with --model NAME --record FILE"
                )
            self.last = self._recorded[asked.query]
            return self.last.reply(shortlist)
        try:
            reply = self._loop.run_until_complete(self._client.ask([ChatMessage.user(prompt)]))
        except MetierError as error:
            self.error = error
            raise
        self.last = Choice(
            request=asked.query,
            text=reply.text,
            shortlist=list(shortlist),
            names=[],
            model=self._client.name,
            **usage_of(reply),
        )
        return reply.text


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        recorded = {one.request: one for one in read_answers(options.replay, Choice)} if options.replay else {}
        client = None if options.replay else model_client(options)
        try:
            return compare(options, Reader(client, recorded, loop))
        except MetierError as error:
            raise SystemExit(f"{error}; {error.hint}" if error.hint else str(error)) from None
        finally:
            if client is not None:
                loop.run_until_complete(client.close())


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_model_options(parser)
    parser.add_argument("--data", type=Path, help="folder with the selection benchmark; see training/README.md")
    parser.add_argument("--skills", type=Path, help="a folder of skills to choose from instead")
    parser.add_argument("--requests", type=Path, help="requests for these skills, JSON Lines")
    parser.add_argument("--limit", type=int, default=100, help="a random sample of that many requests; 0 is all")
    options = parser.parse_args(arguments)
    check_model_options(parser, options)
    if bool(options.skills) != bool(options.requests):
        parser.error("--skills and --requests go together")
    return options


def compare(options: argparse.Namespace, reader: Reader) -> int:
    report = Report("A language model chooses from our shortlist", as_json=options.json)
    figures: dict[str, list[tuple[dict[str, float], dict[str, float]]]] = defaultdict(list)
    answers: list[Choice] = []
    quiet: list[bool] = []
    failures = 0
    record = options.record.open("w", encoding="utf-8") if options.record else None
    try:
        for asked, local in contestants(options):
            shortlist = local.select(asked.query, SHORTLIST).selected
            keys = [match.id for match in shortlist]
            reader.forget()
            listed = [os.path.relpath(key, options.skills) for key in keys] if options.skills else keys
            chosen = LlmSelector(local, partial(reader.ask, asked, listed)).select(asked.query, MOST)
            failures += bool(chosen.note)
            if reader.error and not answers:  # The first request shows a wrong key or name; later ones count as in use.
                raise reader.error
            picked = [] if chosen.note else list(chosen.selected)
            if answer := reader.last:
                answers.append(answer)
            if record and answer:
                named = [match.name for match in picked]
                write_answer(record, replace(answer, names=named))
            if not asked.gold:
                quiet.append(not picked)
                continue
            first = [match.id for match in picked]
            after = [*first, *(key for key in keys if key not in first)]
            there = {match.name: match.id for match in reversed(shortlist)}
            right = tuple(name if name in keys else there.get(name, name) for name in asked.gold)
            figures[asked.kind].append((measure(keys, right), measure(after, right)))
    finally:
        if record:
            record.close()
    print_figures(report, figures, quiet)
    print_cost(report, answers, failures)
    return report.finish()


def contestants(options: argparse.Namespace) -> Iterator[tuple[Asked, LocalSelector]]:
    """Returns requests, each with the selector that ranks for it."""
    if options.skills:
        found = discover(options.skills)
        selector = Selector([IndexedSkill(entry) for entry in found.entries])
        rows = [json.loads(line) for line in options.requests.read_text(encoding="utf-8").splitlines() if line.strip()]
        asked = [Asked(row["query"], tuple(row.get("gold") or ()), row.get("kind", "")) for row in rows]
        yield from ((one, selector) for one in random_part(asked, options.limit))
        return
    from benchmarks.selection import Folds
    from training.labels import data_folder, read_corpus, read_negatives, read_queries

    folder = data_folder(options.data)
    skills, queries = read_corpus(folder), read_queries(folder)
    folds = Folds([*queries, *read_negatives(folder)])
    saved = Selector(skills).index_bytes()
    selectors = [Selector.from_buffer(saved, skills, trained=trained) for trained in folds.trained]
    for one in random_part([Asked(query.query, query.skills, query.kind, query.source) for query in queries], options.limit):
        yield one, selectors[folds.of[one.source]]


def print_figures(
    report: Report, figures: dict[str, list[tuple[dict[str, float], dict[str, float]]]], quiet: Sequence[bool]
) -> None:
    everything = [pair for pairs in figures.values() for pair in pairs]
    groups = {"all": everything} | (dict(sorted(figures.items())) if len(figures) > 1 else {})
    head = ("requests", "count", *(f"{key} {when}" for key in KEYS for when in ("before", "after")))
    rows = []
    for name, pairs in groups.items():
        if pairs:
            means = (f"{100 * statistics.mean(pair[when][key] for pair in pairs):.1f}" for key in KEYS for when in (0, 1))
            rows.append((name, str(len(pairs)), *means))
    report.add_table(f"Order of the best {SHORTLIST}: ours, and with the model's choice first", head, rows)
    if quiet:
        share = f"{100 * statistics.mean(quiet):.1f}"
        report.add_table("Requests that fit no skill", ("count", "the model chose none, %"), [(str(len(quiet)), share)])


def print_cost(report: Report, answers: Sequence[Answer], failures: int) -> None:
    if not answers:
        return
    head = ("model", "answers", "input tokens", "output tokens", "US$ per 1,000 requests", "local order kept")
    report.add_table("Cost per request", head, [(*cost_columns(answers, per=1000), str(failures))])


if __name__ == "__main__":
    sys.exit(main())
