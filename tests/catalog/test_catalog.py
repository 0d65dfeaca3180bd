"""The winner of each name, and the state of each skill."""

from __future__ import annotations

import json

import pytest

from builders import FakeMachine, offer
from metier.catalog import Catalog, CatalogFilters, Entry, Needs, Offer, OfferFlag, Source, SourceOffers, State, merge
from metier.errors import SkillNotFoundError

LOW_TO_HIGH = (Source.BUNDLED, Source.USER, Source.CLAUDE, Source.PROJECT, Source.PLUGIN)


def merged(*places: SourceOffers, filters: CatalogFilters | None = None, machine: FakeMachine | None = None) -> Catalog:
    return merge(places, filters=filters, machine=machine or FakeMachine())


def at(source: Source, *offers: Offer, trusted: bool = True) -> SourceOffers:
    return SourceOffers(source, offers, trusted)


def needing(*commands: str) -> str:
    return Needs(commands=commands).encoded()


def states(catalog: Catalog) -> list[tuple[str, str]]:
    return [(entry.source, entry.state) for entry in catalog.entries]


def in_each_source(name: str) -> list[SourceOffers]:
    return [at(source, offer(name, folder=f"/{source}/{name}")) for source in LOW_TO_HIGH]


@pytest.mark.parametrize("lower", range(4))
def test_each_source_hides_every_source_below_it(lower: int) -> None:
    low, high = LOW_TO_HIGH[lower], LOW_TO_HIGH[lower + 1]
    catalog = merged(at(low, offer("pdf", folder="/low/pdf")), at(high, offer("pdf", folder="/high/pdf")))
    assert states(catalog) == [(high, State.ENABLED), (low, State.SHADOWED)]


def test_of_five_sources_with_one_name_the_plugin_wins_and_all_others_stay_visible() -> None:
    catalog = merged(*in_each_source("pdf"))
    assert catalog["pdf"].source is Source.PLUGIN
    assert [entry.source for entry in catalog.entries if entry.state is State.SHADOWED] == list(reversed(LOW_TO_HIGH[:-1]))


def test_a_shadowed_skill_names_the_source_and_the_folder_that_hide_it() -> None:
    catalog = merged(at(Source.USER, offer("pdf")), at(Source.PROJECT, offer("pdf", folder="/repo/.agents/skills/pdf")))
    assert catalog.entries[1].reason == "hidden by the project skill in /repo/.agents/skills/pdf"


def test_two_places_of_one_source_have_a_fixed_winner_too() -> None:
    first, second = offer("code-review", folder="/a/code-review"), offer("code-review", folder="/b/code-review")
    catalog = merged(at(Source.PROJECT, first), at(Source.PROJECT, second))
    assert (catalog["code-review"].folder, catalog.entries[1].reason) == (
        "/b/code-review",
        "hidden by the project skill in /b/code-review",
    )


def test_skills_of_one_name_in_one_place_differ_by_folder() -> None:
    catalog = merged(at(Source.USER, offer("pdf", folder="/a/pdf"), offer("pdf", folder="/b/pdf")))
    assert [(entry.id, entry.state) for entry in catalog.entries] == [
        ("/a/pdf", State.ENABLED),
        ("/b/pdf", State.SHADOWED),
    ]


def test_a_disabled_winner_does_not_let_a_lower_skill_surface() -> None:
    catalog = merged(*in_each_source("pdf"), filters=CatalogFilters(disabled=frozenset({"pdf"})))
    assert (len(catalog), catalog["pdf"].source, catalog["pdf"].state) == (0, Source.PLUGIN, State.DISABLED)


def test_an_unavailable_winner_does_not_let_a_lower_skill_surface() -> None:
    catalog = merged(at(Source.USER, offer("pdf")), at(Source.PROJECT, offer("pdf", needs=needing("qpdf"))))
    assert states(catalog) == [(Source.PROJECT, State.UNAVAILABLE), (Source.USER, State.SHADOWED)]


def test_a_winner_that_is_off_by_default_does_not_let_a_lower_skill_surface() -> None:
    catalog = merged(at(Source.USER, offer("pdf")), at(Source.PROJECT, offer("pdf", flags=OfferFlag.OFF_BY_DEFAULT)))
    assert states(catalog) == [(Source.PROJECT, State.DISABLED), (Source.USER, State.SHADOWED)]


def test_an_untrusted_skill_takes_no_part_and_hides_nothing() -> None:
    catalog = merged(at(Source.USER, offer("pdf")), at(Source.PROJECT, offer("pdf"), trusted=False))
    assert states(catalog) == [(Source.PROJECT, State.UNTRUSTED), (Source.USER, State.ENABLED)]
    assert catalog["pdf"].source is Source.USER


def test_an_untrusted_skill_says_how_to_trust_it() -> None:
    catalog = merged(at(Source.PROJECT, offer("pdf"), trusted=False))
    assert catalog.entries[0].reason == "the folder is not trusted; run `metier trust` in it to use its skills"
    assert ("pdf" in catalog, catalog.names) == (False, ())


def test_a_skipped_skill_never_hides_a_good_one() -> None:
    catalog = merged(at(Source.USER, offer("pdf")), at(Source.PLUGIN, offer("pdf", flags=OfferFlag.BAD)))
    assert states(catalog) == [(Source.PLUGIN, State.SKIPPED), (Source.USER, State.ENABLED)]


def test_skipped_lists_what_was_left_out_and_why() -> None:
    catalog = merged(at(Source.USER, offer("good"), offer("bad", flags=OfferFlag.BAD)))
    assert [(entry.name, entry.reason) for entry in catalog.skipped] == [("bad", "there is no frontmatter")]


def test_a_bad_skill_in_an_untrusted_folder_is_untrusted() -> None:
    catalog = merged(at(Source.PROJECT, offer("bad", flags=OfferFlag.BAD), trusted=False))
    assert (states(catalog), catalog.skipped) == ([(Source.PROJECT, State.UNTRUSTED)], ())


# --- what the user said -----------------------------------------------------------------------------------------------


def reason(name: str, filters: CatalogFilters, *, source: Source = Source.USER, flags: int = 0) -> str:
    return merged(at(source, offer(name, flags=flags)), filters=filters)[name].reason


@pytest.mark.parametrize(
    ("globs", "name", "enabled"),
    [
        (("pdf-*",), "pdf-forms", True),
        (("pdf-*",), "pdf", False),
        (("pdf-*", "git"), "git", True),
        (("p?f",), "pdf", True),
        (("[gp]df",), "pdf", True),
        (("PDF",), "pdf", False),
        ((), "anything", True),
    ],
)
def test_allow_globs_let_only_matching_names_through(globs: tuple[str, ...], name: str, enabled: bool) -> None:
    assert reason(name, CatalogFilters(allow=globs)) == ("" if enabled else "not allowed by a filter")


def test_deny_beats_allow() -> None:
    assert reason("pdf-forms", CatalogFilters(allow=("pdf-*",), deny=("*-forms",))) == "denied by a filter"


def test_disabled_bundled_switches_off_only_the_bundled_skill() -> None:
    filters = CatalogFilters(disabled_bundled=frozenset({"gh"}))
    assert reason("gh", filters, source=Source.BUNDLED) == "disabled in the configuration"
    assert reason("gh", filters, source=Source.USER) == ""


def test_enabled_bundled_is_the_list_of_bundled_skills_that_are_on() -> None:
    filters = CatalogFilters(enabled_bundled=frozenset({"gh"}))
    assert reason("gh", filters, source=Source.BUNDLED) == ""
    assert reason("hello-world", filters, source=Source.BUNDLED) == "not among enabled_bundled"
    assert reason("hello-world", filters, source=Source.USER) == ""


def test_a_skill_that_is_off_by_default_says_how_to_switch_it_on() -> None:
    text = reason("beta", CatalogFilters(), flags=OfferFlag.OFF_BY_DEFAULT)
    assert text == "off by default; switch it on with `metier skill enable beta`"


@pytest.mark.parametrize(
    "filters", [CatalogFilters(enabled=frozenset({"beta"})), CatalogFilters(enabled_bundled=frozenset({"beta"}))]
)
def test_enabling_a_skill_that_is_off_by_default_switches_it_on(filters: CatalogFilters) -> None:
    assert reason("beta", filters, flags=OfferFlag.OFF_BY_DEFAULT, source=Source.BUNDLED) == ""


def test_disabled_beats_enabled() -> None:
    filters = CatalogFilters(enabled=frozenset({"beta"}), disabled=frozenset({"beta"}))
    assert reason("beta", filters) == "disabled in the configuration"


def test_a_disabled_skill_is_not_also_called_unavailable() -> None:
    catalog = merged(at(Source.USER, offer("pdf", needs=needing("qpdf"))), filters=CatalogFilters(disabled=frozenset({"pdf"})))
    assert (catalog["pdf"].state, catalog["pdf"].reason) == (State.DISABLED, "disabled in the configuration")


# --- what the machine has ---------------------------------------------------------------------------------------------


def test_a_skill_whose_commands_are_missing_is_unavailable_and_names_them() -> None:
    machine = FakeMachine(commands=frozenset({"git"}))
    catalog = merged(at(Source.USER, offer("pr", needs=needing("gh", "git", "jq"))), machine=machine)
    assert (catalog["pr"].state, catalog["pr"].reason) == (State.UNAVAILABLE, "missing commands: gh, jq")


def test_a_hundred_skills_with_the_same_needs_ask_the_machine_once() -> None:
    machine = FakeMachine(commands=frozenset({"git"}))
    merged(at(Source.USER, *(offer(f"s{n}", needs=needing("git", "jq")) for n in range(100))), machine=machine)
    assert machine.asked == ["git", "jq"]


def test_skills_that_need_nothing_ask_the_machine_nothing() -> None:
    machine = FakeMachine()
    merged(at(Source.USER, offer("a"), offer("b")), machine=machine)
    assert machine.asked == []


def test_a_shadowed_skill_is_not_probed() -> None:
    machine = FakeMachine()
    merged(at(Source.USER, offer("a", needs=needing("x"))), at(Source.PROJECT, offer("a")), machine=machine)
    assert machine.asked == []


# --- asking the catalog -----------------------------------------------------------------------------------------------


@pytest.fixture
def mixed() -> Catalog:
    offers = (offer("on"), offer("off"), offer("lacking", needs=needing("nope")), offer("bad", flags=OfferFlag.BAD))
    return merged(at(Source.USER, *offers), filters=CatalogFilters(disabled=frozenset({"off"})))


@pytest.mark.parametrize(
    ("disabled", "unavailable", "names"),
    [
        (False, False, ["on"]),
        (True, False, ["off", "on"]),
        (False, True, ["lacking", "on"]),
        (True, True, ["lacking", "off", "on"]),
    ],
)
def test_list_includes_the_requested_states(mixed: Catalog, disabled: bool, unavailable: bool, names: list[str]) -> None:
    listed = mixed.list(include_disabled=disabled, include_unavailable=unavailable)
    assert [entry.name for entry in listed] == names


def test_iterating_counting_and_names_cover_usable_skills(mixed: Catalog) -> None:
    assert ([entry.name for entry in mixed], len(mixed), mixed.names) == (["on"], 1, ("on",))


def test_names_are_sorted_whatever_order_they_were_found_in() -> None:
    offers = [offer(name) for name in ("zip", "abc", "mid", "a", "a-b")]
    forward, backward = merged(at(Source.USER, *offers)), merged(at(Source.USER, *reversed(offers)))
    assert forward.names == backward.names == ("a", "a-b", "abc", "mid", "zip")


def test_the_winner_of_a_name_is_found_whatever_its_state(mixed: Catalog) -> None:
    assert (mixed["off"].state, mixed["lacking"].state) == (State.DISABLED, State.UNAVAILABLE)
    assert mixed.get("bad") is None


def test_an_unknown_name_suggests_the_nearest() -> None:
    catalog = merged(at(Source.USER, offer("pdf-forms"), offer("git")))
    with pytest.raises(SkillNotFoundError, match="no skill is named 'pdf-form'") as raised:
        catalog["pdf-form"]
    assert raised.value.hint == "did you mean 'pdf-forms'?"


def test_an_unknown_name_like_no_other_points_to_the_list() -> None:
    with pytest.raises(SkillNotFoundError) as raised:
        merged(at(Source.USER, offer("git")))["zzz"]
    assert raised.value.hint == "see `metier skill list`"


def test_warnings_of_the_search_are_included() -> None:
    assert merge([], machine=FakeMachine(), warnings=["cut"]).warnings == ("cut",)


def test_an_empty_catalog_is_empty() -> None:
    catalog = Catalog()
    assert (list(catalog), len(catalog), catalog.skipped, "x" in catalog) == ([], 0, (), False)


def entry(flags: int, state: State = State.ENABLED) -> Entry:
    return Entry("x", "", Source.USER, "/x", state, "", offer("x", flags=flags))


def test_a_skill_hidden_from_models_is_enabled_and_not_for_models() -> None:
    catalog = merged(at(Source.USER, offer("deploy", flags=OfferFlag.HIDDEN_FROM_MODEL)))
    assert (catalog.names, catalog["deploy"].is_for_models) == (("deploy",), False)


def test_only_enabled_skills_are_for_models() -> None:
    assert [entry(0, state).is_for_models for state in State] == [state is State.ENABLED for state in State]


def versioned(version: str, folder: str) -> Offer:
    return offer("pdf", folder=folder)._replace(fields=json.dumps({"metadata": {"version": version}}))


def test_of_several_versions_in_one_source_the_highest_wins_whatever_the_order_of_the_folders() -> None:
    old, new = versioned("2.0.0", "/b/pdf"), versioned("10.0.0", "/a/pdf")
    for places in ([at(Source.USER, old, new)], [at(Source.USER, new), at(Source.USER, old)]):
        catalog = merged(*places)
        assert catalog["pdf"].folder == "/a/pdf"
        assert [(entry.state, entry.version) for entry in catalog.entries] == [
            (State.ENABLED, "10.0.0"),
            (State.SHADOWED, "2.0.0"),
        ]
        assert catalog.entries[1].reason == "hidden by version 10.0.0 in /a/pdf"


def test_each_version_can_be_asked_for_by_name_and_version() -> None:
    catalog = merged(at(Source.USER, versioned("1.2.0", "/a/pdf@1.2.0"), versioned("2.0.0", "/a/pdf")))
    for version, folder in (("1.2.0", "/a/pdf@1.2.0"), ("2.0.0", "/a/pdf")):
        entry = catalog[f"pdf@{version}"]
        assert (entry.name, entry.folder, entry.state) == (f"pdf@{version}", folder, State.ENABLED)
    assert catalog.versions("pdf") == ("2.0.0", "1.2.0")
    assert "pdf@3.0.0" not in catalog
    with pytest.raises(SkillNotFoundError) as caught:
        catalog["pdf@3.0.0"]
    assert caught.value.hint == "versions of pdf here: 2.0.0, 1.2.0"


def test_a_higher_version_in_a_lower_source_does_not_win() -> None:
    catalog = merged(at(Source.USER, versioned("2.0.0", "/u/pdf")), at(Source.PLUGIN, versioned("1.0.0", "/p/pdf")))
    assert catalog["pdf"].folder == "/p/pdf"
    assert catalog["pdf@2.0.0"].folder == "/u/pdf"


def test_a_disabled_skill_is_disabled_in_every_version() -> None:
    versions = at(Source.USER, versioned("1.0.0", "/a/pdf"), versioned("2.0.0", "/b/pdf"))
    catalog = merged(versions, filters=CatalogFilters(disabled=frozenset({"pdf"})))
    assert {catalog[name].state for name in ("pdf", "pdf@1.0.0", "pdf@2.0.0")} == {State.DISABLED}
