"""The lists of other agents, from their rules alone. test_listings_in_programs.py compares them with the programs."""

from __future__ import annotations

from metier.hosts import LISTING_BUDGETS, HostSkill, render_listing


def skills(count: int, length: int) -> list[HostSkill]:
    return [
        HostSkill(name=f"s-{number:03}", description="d" * length, file=f"/s/s-{number:03}/SKILL.md", root="/s")
        for number in range(count)
    ]


def test_every_budget_names_its_source() -> None:
    for host, budget in LISTING_BUDGETS.items():
        assert budget.host == host
        assert budget.source.startswith(("measured; ", "not measured; "))
        assert bool(budget.version) == budget.source.startswith("measured")


def test_codex_drops_the_last_skills_if_not_even_the_names_fit() -> None:
    listing = render_listing(LISTING_BUDGETS["codex"], skills(50, 40), context=10_000)
    assert listing.used <= listing.limit == 200
    assert listing.left_out[-1].name == "s-049"
    assert listing.whole == listing.shortened == ()


def test_codex_counts_the_bytes_of_a_description() -> None:
    long = [HostSkill(name="a", description="é" * 900, file="/s/a/SKILL.md", root="/s")]
    short = render_listing(LISTING_BUDGETS["codex"], long, context=20_000)
    assert short.shortened == ("a",)
    assert short.used <= short.limit


def test_claude_code_keeps_the_descriptions_of_the_most_used_skills() -> None:
    given = skills(40, 1000)
    given[30] = HostSkill(name="used", description="d" * 1000, file="/s/used/SKILL.md", root="/s", use=3.0)
    listing = render_listing(LISTING_BUDGETS["claude-code"], given)
    assert "used" in listing.whole
    assert len(listing.whole) + len(listing.named) == 40
    assert listing.left_out == ()


def test_a_long_description_is_capped_by_itself() -> None:
    (shown,) = [one for one in render_listing(LISTING_BUDGETS["claude-code"], skills(1, 2000)).listed if not one.skill.own]
    assert len(shown.shown) == 1536
    assert shown.shown.endswith("…")


def test_copilot_names_the_rest_and_claude_ai_refuses() -> None:
    listing = render_listing(LISTING_BUDGETS["github-copilot"], skills(100, 300))
    assert (listing.whole[0], listing.named[-1], listing.left_out) == ("s-000", "s-099", ())
    assert len(listing.whole) + len(listing.named) == 100
    assert 14_000 < listing.used <= 15_000
    refused = render_listing(LISTING_BUDGETS["claude-ai"], [*skills(1, 201), *skills(0, 0)])
    assert [skill.name for skill in refused.left_out] == ["s-000"]


def test_the_projects_skill_hides_the_users_of_the_same_name_except_in_claude_code() -> None:
    both = [
        HostSkill(name="same", description="mine", file="/u/same/SKILL.md", root="/u", is_users=True),
        HostSkill(name="same", description="theirs", file="/p/same/SKILL.md", root="/p"),
    ]
    shown = {
        host: [one.shown for one in render_listing(LISTING_BUDGETS[host], both).listed if not one.skill.own]
        for host in ("claude-code", "codex", "gemini-cli")
    }
    assert shown == {"claude-code": ["mine"], "codex": ["theirs", "mine"], "gemini-cli": ["theirs"]}
