"""Better descriptions, chosen on what was held back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from evals.authors import author_skill, entry_of, selector_of
from metier.evals.files import TriggerQuery
from metier.evals.optimize import OptimizeResult, optimize_description
from metier.evals.proposals import CountedWords, ModelProposals, is_valid_proposal
from metier.evals.ranker_judge import RankerTriggerJudge
from metier.evals.triggers import JudgeChoice, Split, TriggerJudge, TriggerResult, assign_splits
from metier.models import ModelChoice, ModelClient
from metier.testing import ModelAnswer, ModelRequest, ModelServer, run_now, says

NOW = "Waters the plants in the office. Use when the user says that plants are dry. Not for gardens."
WANTED = [
    "my ficus drops its leaves", "the leaves of the ficus are brown", "brown leaves on the ficus again", "is the ficus dry",
    "the ficus in the kitchen lost leaves", "who takes care of the ficus", "ficus leaves everywhere", "ficus: brown leaves",
]  # fmt: skip
UNWANTED = [
    "build a power plant simulation", "power plant output in megawatt", "simulation of a nuclear power plant",
    "review my diff", "plot sales.csv", "write a letter", "how old was Mozart", "power plants of Europe",
]  # fmt: skip
QUERIES = [TriggerQuery(text=text, should_trigger=text in WANTED) for text in (*WANTED, *UNWANTED)]


def offline(tmp_path: Path) -> OptimizeResult:
    folder = author_skill(tmp_path, "water-plants", NOW)
    other = author_skill(tmp_path, "charts", "Draws charts of sales. Use when the user wants a plot of numbers.")
    selector, entry = selector_of(folder, other), entry_of(folder)
    judge = lambda text: RankerTriggerJudge(selector, entry, description=text)  # noqa: E731
    return run_now(optimize_description("water-plants", NOW, QUERIES, judge=judge, propose=CountedWords("water-plants")))


def test_offline_the_words_of_failed_requests_make_a_better_one(tmp_path: Path) -> None:
    found = offline(tmp_path)
    assert found.is_better
    assert found.best.validation > found.before.validation
    assert "ficus" in found.best.description
    assert len(found.best.description) <= 1024


def test_the_purpose_comes_before_the_exclusions(tmp_path: Path) -> None:
    best = offline(tmp_path).best.description
    assert best.startswith("Waters the plants in the office. Use when the user says that plants are dry. Also for ")
    assert best.index("ficus") < best.index("Not for gardens.")


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = offline(tmp_path / "a"), offline(tmp_path / "b")
    assert [one.description for one in first.tried] == [one.description for one in second.tried]


class Listed:
    """A judge that passes what a description names in so many words."""

    name, deterministic = "listed", True

    def __init__(self, description: str) -> None:
        self.description = description

    async def __call__(self, query: str) -> JudgeChoice:
        return JudgeChoice(triggered=query in self.description)


def test_the_best_is_chosen_on_held_out_requests() -> None:
    queries = [TriggerQuery(text=f"w{number}", should_trigger=True) for number in range(10)]
    splits = dict(zip((query.text for query in queries), assign_splits(queries), strict=True))
    train = [text for text, split in splits.items() if split is Split.TRAIN]
    held = [text for text, split in splits.items() if split is Split.VALIDATION]
    by_heart, general = " ".join(train), " ".join([*held, train[0]])
    asked: list[Sequence[TriggerResult]] = []

    class Both:
        deterministic = True

        async def __call__(
            self, description: str, rows: Sequence[TriggerResult], tried: Sequence[tuple[str, float]]
        ) -> Sequence[str]:
            asked.append(rows)
            return [by_heart, general]

    judge: type[TriggerJudge] = Listed
    found = run_now(optimize_description("a", "old", queries, judge=judge, propose=Both()))
    assert found.best.description == general
    assert max(found.tried, key=lambda one: one.train).description == by_heart
    assert {row.query for rows in asked for row in rows} == set(train)


def test_the_present_one_stays_where_none_is_better() -> None:
    class Worse:
        deterministic = True

        async def __call__(
            self, description: str, rows: Sequence[TriggerResult], tried: Sequence[tuple[str, float]]
        ) -> Sequence[str]:
            return ["something else"]

    found = run_now(
        optimize_description(
            "a", "w1", [TriggerQuery(text=f"w{n}", should_trigger=True) for n in range(5)], judge=Listed, propose=Worse()
        )
    )
    assert not found.is_better
    assert [one.description for one in found.tried] == ["w1", "something else"]


def test_a_proposer_that_may_do_better_is_asked_again() -> None:
    class Trying:
        def __init__(self, *said: str, deterministic: bool) -> None:
            self.said, self.deterministic = list(said), deterministic

        async def __call__(
            self, description: str, rows: Sequence[TriggerResult], tried: Sequence[tuple[str, float]]
        ) -> Sequence[str]:
            return [self.said.pop(0)] if self.said else []

    queries = [TriggerQuery(text=f"w{n}", should_trigger=True) for n in range(5)]
    found = run_now(
        optimize_description(
            "a", "old", queries, judge=Listed, propose=Trying("", "old", "w0 w1 w2 w3 w4", deterministic=False)
        )
    )
    assert found.best.description == "w0 w1 w2 w3 w4"
    deterministic = Trying("", "w0 w1 w2 w3 w4", deterministic=True)
    assert not run_now(optimize_description("a", "old", queries, judge=Listed, propose=deterministic)).is_better


def row(query: str, *, should: bool = True, passed: bool = False) -> TriggerResult:
    choice = JudgeChoice(triggered=should is passed)
    return TriggerResult(
        query=query, should_trigger=should, triggers=0, runs=1, split=Split.TRAIN, choice=choice, passed=passed
    )


def test_a_copy_of_the_test_is_not_fit() -> None:
    rows = [row("my ficus drops its brown leaves")]
    assert is_valid_proposal("Waters every ficus that drops leaves.", NOW, rows)
    assert not is_valid_proposal("Use when: my ficus drops its brown leaves.", NOW, rows)
    assert is_valid_proposal("Use when the user says that plants are dry.", NOW, [row("the user says that plants are dry")])
    for text in ("", " ", "a" * 1025, "two\nlines", "<b>bold</b>"):
        assert not is_valid_proposal(text, NOW, rows), text


def test_a_model_gets_the_failures_and_only_those() -> None:
    async def go(server: ModelServer) -> Sequence[str]:
        async with ModelClient(ModelChoice(name="tiny", base_url=server.url)) as model:
            rows = [row("missed one"), row("wrong one", should=False), row("fine", passed=True)]
            return await ModelProposals(model, "plants")(NOW, rows, [(NOW, 0.25)])

    answer = "Sure:\n```json\n" + json.dumps({"description": "Better  words.\nHere."}) + "\n```"
    with ModelServer([says(answer)]) as server:
        assert run_now(go(server)) == ["Better words. Here."]
        said = server.requests[0].user
    assert "- missed one" in said
    assert "- wrong one" in said
    assert "- 25%: Waters" in said
    assert "fine" not in said


def test_a_model_that_answers_nonsense_proposes_nothing() -> None:
    async def go(server: ModelServer) -> Sequence[str]:
        async with ModelClient(ModelChoice(name="tiny", base_url=server.url)) as model:
            return await ModelProposals(model, "plants")(NOW, [row("missed")], [])

    for text in ("", "no idea", "{}", '{"description": 7}', "[1]", '{"description": '):
        with ModelServer([says(text), says(text)]) as server:
            assert run_now(go(server)) == [], text


def test_a_model_can_do_the_whole_of_it() -> None:
    def script(request: ModelRequest) -> ModelAnswer:
        if not request.tools:
            return says(json.dumps({"description": "Waters every ficus. Use when leaves are brown."}))
        from metier.testing import calls

        loads = "ficus" in request.user and "ficus" in request.system
        return calls("load_skill", skill_name="plants") if loads else says("no")

    from metier.evals.model_judge import ModelTriggerJudge

    async def go(server: ModelServer) -> OptimizeResult:
        async with ModelClient(ModelChoice(name="tiny", base_url=server.url)) as model:
            judge = lambda text: ModelTriggerJudge(model, ("plants", text), lambda _: [])  # noqa: E731
            return await optimize_description(
                "plants", NOW, QUERIES, judge=judge, propose=ModelProposals(model, "plants"), runs=1
            )

    with ModelServer(script) as server:
        found = run_now(go(server))
    assert (found.best.description, found.best.validation) == ("Waters every ficus. Use when leaves are brown.", 1.0)
