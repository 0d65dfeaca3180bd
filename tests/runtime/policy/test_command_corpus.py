"""The decisions of tests/data/policy/commands.tsv, and the table of programs behind them."""

from __future__ import annotations

from collections import Counter

import pytest

from .corpus import Row, by_pattern, decide, rows

GROUPS = by_pattern()


@pytest.mark.parametrize(("kind", "pattern"), GROUPS, ids=[f"{kind} {pattern}" for kind, pattern in GROUPS])
def test_every_command_of_the_corpus_is_decided_as_written(kind: str, pattern: str) -> None:
    wrong = [
        (row.command, row.decision, row.reason)
        for row in GROUPS[kind, pattern]
        if decide(kind, pattern, row.command) != row.decision
    ]
    assert wrong == []


def test_the_corpus_is_large_and_has_both_answers_for_both_lists() -> None:
    counts = Counter((row.list, row.decision) for row in rows())
    assert sum(counts.values()) >= 1_200
    assert {pair: number >= 80 for pair, number in counts.items()} == dict.fromkeys(
        [("allow", "allow"), ("allow", "ask"), ("deny", "deny"), ("deny", "ask")], True
    )


def test_no_row_of_the_corpus_is_written_twice() -> None:
    doubles = [row for row, number in Counter(_key(row) for row in rows()).items() if number > 1]
    assert doubles == []


def _key(row: Row) -> tuple[str, str, str]:
    return row.list, row.pattern, row.command
