"""The requests that the networks learn from beside the dev queries."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from training.labels import Plain
from training.written import by_others, read_near_misses, read_written

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "training" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_each_skill_has_three_requests_and_a_near_miss_of_its_own() -> None:
    requests = [text for row in ROWS for _, text in row["requests"]]
    assert len(requests) == 3 * len(ROWS) == len(set(requests))
    assert all(row["near_miss"] not in requests for row in ROWS)
    assert len({row["skill"] for row in ROWS}) == len(ROWS)


def test_every_style_is_there_often_enough_to_learn_from() -> None:
    styles = Counter(style for row in ROWS for style, _ in row["requests"])
    assert set(styles) == {"task", "trigger", "question", "symptom", "long", "keywords", "fragment", "scenery"}
    assert min(styles.values()) > 400


def test_hardly_any_request_calls_its_skill_by_name() -> None:
    names = {row["skill"]: row["skill"].rpartition("#")[2] for row in ROWS}
    # Names of one word, such as a product's, are said by people who do not know the skill.
    called = [
        text for row in ROWS for _, text in row["requests"] if "-" in (name := names[row["skill"]]) and name in text.split()
    ]
    assert len(called) < 0.002 * 3 * len(ROWS)


def test_only_requests_for_known_skills_and_for_other_publishers_are_read() -> None:
    mine, yours = (
        ROWS[0]["skill"],
        next(row["skill"] for row in ROWS if row["skill"].split("#")[0] != ROWS[0]["skill"].split("#")[0]),
    )
    skills = [Plain(name, "n", "d") for name in (mine, yours, "somebody/else#unknown")]
    written = read_written(skills)
    assert Counter(one.skills[0] for one in written) == {mine: 3, yours: 3}
    assert {one.skills[0] for one in by_others(written, {mine.partition("#")[0]})} == {yours}
    assert [one.kind for one in read_near_misses(skills)] == ["near-miss", "near-miss"]
