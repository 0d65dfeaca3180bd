"""Skills that compete for the same requests."""

from __future__ import annotations

from dataclasses import dataclass

from metier.evals.conflicts import SkillConflict, find_conflicts
from metier.selection import Selector


@dataclass(frozen=True)
class Written:
    name: str
    description: str

    @property
    def id(self) -> str:
        return f"/skills/{self.name}"


CHARTS = Written(
    "charts", "Draws bar charts and line plots of sales numbers. Use when the user wants a chart or a plot of sales."
)
PLOTS = Written("plots", "Plots sales numbers as bar charts and lines. Use when the user wants a plot or a chart of numbers.")
PLANTS = Written("plants", "Waters the plants in the office. Use when the plants are dry.")
TAXES = Written("taxes", "Fills in tax forms for freelancers. Use when the user has to declare their income.")


def found(*skills: Written, **options: dict[str, list[str]]) -> tuple[SkillConflict, ...]:
    known = options.get("known", {})
    return find_conflicts(skills, Selector(skills), requests=lambda skill: known.get(skill.name, ())).conflicts


def test_two_skills_for_the_same_requests_are_a_pair() -> None:
    (pair,) = found(CHARTS, PLANTS, PLOTS, TAXES)
    assert set(pair.names) == {"charts", "plots"}
    assert pair.similarity > 0.4
    assert {"sales", "chart"} & set(pair.shared) or "charts" in pair.shared
    assert pair.winner in pair.names
    assert pair.request


def test_skills_about_different_things_are_none() -> None:
    assert found(CHARTS, PLANTS, TAXES) == ()


def test_the_authors_own_requests_are_what_is_tried() -> None:
    assert found(CHARTS, PLOTS, PLANTS, known={"charts": ["declare my income"], "plots": ["declare my income"]}) == ()
    (pair,) = found(CHARTS, PLOTS, PLANTS, known={"charts": ["plots of sales numbers as bar charts or lines"]})
    assert pair.request == "plots of sales numbers as bar charts or lines"


def test_no_skills_and_one_skill_have_no_conflicts() -> None:
    assert found() == ()
    assert found(CHARTS) == ()


def test_a_pair_is_found_among_a_thousand_that_are_more_alike() -> None:
    many = [Written(f"s{number}", f"Handles topic{number} files. Use for topic{number}.") for number in range(1000)]
    pairs = found(*many, CHARTS, PLOTS)
    assert any(set(pair.names) == {"charts", "plots"} for pair in pairs)


def test_no_pair_is_left_out_because_others_are_more_alike() -> None:
    trees = [f"{kind}{place}" for kind in ("oak", "elm", "fir", "ash", "yew", "fig", "box", "bay") for place in
             ("moor", "hill", "lake", "isle", "dale", "peak", "cove", "glen", "vale", "fen", "ridge", "marsh", "field", "beach",
              "brook", "cliff", "grove", "heath", "knoll", "ford", "bank", "wold", "strand", "weald", "croft")]  # fmt: skip
    skills = [
        Written(f"{tree}-{copy}", f"Prunes {tree} trees in gardens. Use when the {tree} tree of the garden grows wild.")
        for tree in trees
        for copy in ("cut", "saw")
    ]
    reported = {frozenset(pair.names) for pair in found(*skills)}
    assert {frozenset((f"{tree}-cut", f"{tree}-saw")) for tree in trees} <= reported


def test_hundreds_of_copies_of_one_skill_end_soon_and_say_how_many_pairs_were_not_tried() -> None:
    copies = [Written(f"copy-{number}", CHARTS.description) for number in range(400)]
    skills = [*copies, *(Written(f"other-{number}", f"Handles topic{number}.") for number in range(1_300))]
    contest = find_conflicts(skills, Selector(skills))
    assert contest.untested >= 400 * 399 // 2 - 50_000


def test_named_skills_have_their_own_pairs_tried() -> None:
    skills = (CHARTS, PLOTS, PLANTS, Written("garden", "Waters plants in the office. Use when the plants are dry."))
    every = find_conflicts(skills, Selector(skills))
    assert len(every.conflicts) == 2
    only = find_conflicts(skills, Selector(skills), among={PLANTS.id})
    assert [set(pair.names) for pair in only.conflicts] == [{"plants", "garden"}]


def test_the_most_similar_pairs_come_first_and_the_order_is_stable() -> None:
    skills = (
        CHARTS,
        PLOTS,
        Written("graphs", "Draws graphs of sales numbers. Use when the user wants a graph, chart or plot."),
        PLANTS,
    )
    first, second = found(*skills), found(*reversed(skills))
    assert [pair.similarity for pair in first] == sorted((pair.similarity for pair in first), reverse=True)
    assert {frozenset(pair.names) for pair in first} == {frozenset(pair.names) for pair in second}
