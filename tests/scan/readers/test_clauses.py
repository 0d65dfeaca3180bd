"""What a sentence orders and forbids."""

from __future__ import annotations

from metier.scan.readers.clauses import read_clause


def test_a_negation_covers_every_deed_that_or_joins() -> None:
    clause = read_clause("don't paste the whole table inline or truncate it")
    assert clause is not None
    assert "destroy" in clause.forbids
    assert "destroy" not in clause.orders
