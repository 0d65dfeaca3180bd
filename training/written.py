"""Requests that we wrote for published skills: three for each of 3,592 skills by 125 publishers, and a near miss for each.

The sentence model of the extra learns from them, and the benchmark measures the default ranker with them, style by style.

The dev queries are about a thousand by three dozen publishers. These are ten times as many, in eight styles (a task, a command,
a question, a symptom, a long specification, keywords, a fragment, a task among unrelated text), each in other words than the
skill's own. `requests.jsonl` holds our own sentences and the ids of the skills, and nothing of the skills themselves.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from training.labels import Labelled, Plain

__all__ = ["by_others", "read_near_misses", "read_written"]

_FILE = Path(__file__).parent / "requests.jsonl"


def read_written(skills: Iterable[Plain]) -> list[Labelled]:
    """Returns the requests for those of these skills that have any. Their kind is the style."""
    known = {skill.id: skill.publisher for skill in skills}
    return [
        Labelled(query, (row["skill"],), known[row["skill"]], style)
        for row in _rows()
        if row["skill"] in known
        for style, query in row["requests"]
    ]


def read_near_misses(skills: Iterable[Plain]) -> list[Labelled]:
    """Returns requests on a skill's subject that the skill should not be used for."""
    known = {skill.id: skill.publisher for skill in skills}
    return [
        Labelled(row["near_miss"], (row["skill"],), known[row["skill"]], "near-miss")
        for row in _rows()
        if row["skill"] in known
    ]


def by_others(requests: Iterable[Labelled], publishers: Collection[str]) -> list[Labelled]:
    """Returns the requests for skills of other publishers than these."""
    return [one for one in requests if one.source not in publishers]


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
