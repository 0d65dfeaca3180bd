"""Rankers side by side on one library, its confusions, and a clean-up that is measured on other requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from metier.evals import BenchRequest, LibraryBench, bench_library, listing_ranker, rankers_here, render_library_page
from metier.evals.rankers import Ranker, local_ranker
from metier.selection import SelectableSkill

NOUNS = ("invoice", "contract", "recipe", "poem", "map", "photo", "song", "letter", "ticket", "budget", "garden", "engine")


@dataclass(frozen=True)
class Skill:
    id: str
    name: str
    description: str
    body: str = ""


LIBRARY = [Skill(f"id-{noun}", f"{noun}-helper", f"Writes one {noun}. Use when the user asks for a {noun}.") for noun in NOUNS]
GREEDY = Skill("id-all", "do-everything", "Does everything.")
REQUESTS = [
    BenchRequest(text=text.format(noun), skill=f"id-{noun}")
    for noun in NOUNS
    for text in ("write a {}", "I need a {} for my aunt", "the {} again, please", "a better {}")
]


def greedy_ranker(skills: Sequence[SelectableSkill]) -> Ranker:
    """A ranker that a greedy skill deceives for every request about songs, maps and photos."""
    rank, here = local_ranker(skills), {skill.id for skill in skills}

    def deceived(request: str, limit: int) -> Sequence[str]:
        takes = "id-all" in here and any(noun in request for noun in ("song", "map", "photo"))
        return (["id-all"] if takes else []) + list(rank(request, limit))[: limit - takes]

    return deceived


@pytest.mark.parametrize("name", ["metier", "SQLite FTS5", "bm25s"])
def test_every_ranker_finds_skills_by_their_words(name: str) -> None:
    rank = rankers_here()[name](LIBRARY)
    assert rank("write a poem", 3)[0] == "id-poem"
    assert len(rank("write a poem or a song", 2)) <= 2


@pytest.mark.parametrize("request_text", ["", '"', "AND OR NOT", "poem* NEAR(", "é💥"])
def test_no_request_breaks_word_search(request_text: str) -> None:
    for make in rankers_here().values():
        assert len(make(LIBRARY)(request_text, 3)) <= 3


def test_rankers_are_scored_with_intervals() -> None:
    found = bench_library(LIBRARY, REQUESTS, rankers_here())
    [ours, words, _] = found.scores
    assert (found.skills, found.requests, ours.first, ours.ndcg) == (12, 48, 48, 1.0)
    assert words.first > 40
    low, high = ours.interval
    assert 0.9 < low < high <= 1.0
    assert [point.size for point in found.decay] == [10, 12]
    assert found.decay[-1].first["metier"] == 1.0
    assert found.clean_up is None


def test_a_request_of_a_skill_that_is_not_there_is_not_counted() -> None:
    found = bench_library(LIBRARY[:2], REQUESTS, {"metier": local_ranker})
    assert found.requests == 8


def test_a_skill_that_takes_requests_is_found_and_its_removal_measured_on_other_requests() -> None:
    found = bench_library([*LIBRARY, GREEDY], REQUESTS, {"deceived": greedy_ranker})
    assert {(one.skill, one.rival) for one in found.confusions} == {
        (f"{noun}-helper", "do-everything") for noun in ("song", "map", "photo")
    }
    [hole] = found.black_holes
    assert (hole.skill, hole.taken, hole.victims, hole.own) == ("do-everything", 12, 3, 0)
    assert found.clean_up is not None
    assert found.clean_up.off == ("do-everything",)
    assert found.clean_up.after == found.clean_up.tested > found.clean_up.before


def test_an_agent_sees_only_what_its_list_shows() -> None:
    shown = {"id-poem": "Writes one poem.", "id-song": ""}
    rank = listing_ranker(shown)(LIBRARY)
    assert list(rank("write a poem", 5))[:1] == ["id-poem"]
    assert "id-map" not in rank("write a map", 5)
    assert listing_ranker({})(LIBRARY)("write a poem", 5) == []


def test_the_page_escapes_what_skills_and_requests_say() -> None:
    wicked = Skill("id-wicked", "wicked", "Writes <script>alert(1)</script>.")
    asked = [BenchRequest(text="<img src=x onerror=alert(1)> a poem", skill="id-wicked")]
    page = render_library_page(bench_library([*LIBRARY, wicked], asked, {"<b>": local_ranker}), title="<i>")
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;b&gt;" in page


def test_the_report_is_json() -> None:
    found: LibraryBench = bench_library(LIBRARY, REQUESTS, {"metier": local_ranker})
    assert found.data()["rankers"][0]["interval"][1] == 1.0
