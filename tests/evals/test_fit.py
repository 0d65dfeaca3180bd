"""Proposals that make a library fit into the list of another agent."""

from __future__ import annotations

from collections.abc import Sequence

from metier.evals import propose_fit, shorter_description
from metier.hosts import LISTING_BUDGETS, HostListing, HostSkill, render_listing

LABELS = (
    "Knows every company in the country, their forms, prices and opening hours. Prints shipping labels. Use when a box is sent."
)


def skill(name: str, description: str) -> HostSkill:
    return HostSkill(name=name, description=description, file=f"/s/{name}/SKILL.md", root="/s")


def library() -> list[HostSkill]:
    names = ("alpha", "beta", "gamma", "delta", "epsilon")
    others = [
        skill(name, f"Keeps the {name} list in order, entry by entry, with a long account of each step.") for name in names
    ]
    return [*others, skill("carriers", LABELS)]


REQUESTS = {"/s/carriers/SKILL.md": ["print a shipping label for this box"]}


def test_skills_that_no_request_needs_go_first_and_recall_rises() -> None:
    plan = propose_fit(library(), REQUESTS, lambda kept: render_listing(LISTING_BUDGETS["codex"], kept, context=14_000))
    assert (plan.found_before, plan.found_after, plan.requests) == (0, 1, 1)
    assert plan.off
    assert "carriers" not in {each.name for each in plan.off}


def test_nothing_is_proposed_where_nothing_is_cut() -> None:
    plan = propose_fit(library(), REQUESTS, lambda kept: render_listing(LISTING_BUDGETS["codex"], kept))
    assert (plan.off, plan.shorter, plan.is_cut) == ((), (), False)


def test_without_requests_nothing_is_switched_off() -> None:
    plan = propose_fit(library(), {}, lambda kept: render_listing(LISTING_BUDGETS["codex"], kept, context=14_000))
    assert plan.is_cut
    assert plan.off == ()


def test_a_shorter_description_is_proposed_only_for_skills_that_may_be_changed() -> None:
    given = [skill("carriers", f"{LABELS} {'It is long. ' * 20}".strip())]

    def render(kept: Sequence[HostSkill]) -> HostListing:
        return render_listing(LISTING_BUDGETS["claude-ai"], kept)

    assert propose_fit(given, {}, render, most_description=200).shorter == ()
    (one,) = propose_fit(given, {}, render, may_shorten=lambda _: True, most_description=200).shorter
    assert len(one.text) <= 200
    assert one.text.startswith(LABELS)


def test_a_shorter_description_keeps_the_first_sentence_and_the_one_that_says_when() -> None:
    assert shorter_description("Does it. It is old. It is new. Use when asked.", 26) == "Does it. Use when asked."
    assert shorter_description("Does it. Use when asked.", 10) is None
    assert shorter_description("Does it.", 100) is None
