"""One conversation: activation, its limits, its memory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import metier
from builders import python
from metier.errors import ConflictError, MetierError, NotFoundError, RefusedError, SkillNotFoundError, UnavailableError
from metier.runtime import (
    ActivatedBy,
    ActivationMode,
    Allowance,
    Budgets,
    EventBus,
    OverBudgetError,
    SelectionPrior,
    Session,
    SessionOptions,
    SessionServices,
    SqlSessionStore,
    events,
)
from metier.sources.selection_index import IndexedSkill
from metier.testing import EventRecorder, TickingClock, skill_folder


def session_over(root: Path, *, id: str = "talk", services: SessionServices | None = None, **options: Any) -> Session:  # noqa: A002
    return Session(
        metier.discover(root),
        id=id,
        options=SessionOptions(**options),
        services=services or SessionServices(clock=TickingClock()),
    )


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    for name in ("a", "b", "c", "d"):
        skill_folder(root, name, body=f"# {name.upper()}\n\nDo {name}.\n", files={"references/guide.md": f"guide of {name}\n"})
    return root


def test_activating_a_skill_gives_its_wrapped_instructions(skills: Path) -> None:
    activation = session_over(skills).activate("a")
    assert activation.text.startswith('<skill_content name="a">\n# A\n\nDo a.\n\nSkill directory: ')
    assert "  <file>references/guide.md</file>" in activation.text
    assert (activation.injected, activation.by, activation.path) == (True, ActivatedBy.USER, f"{skills}/a/SKILL.md")


def test_the_frontmatter_is_not_given_to_the_model(skills: Path) -> None:
    assert "description:" not in session_over(skills).activate("a").text


def test_a_session_records_when_and_by_whom_a_skill_was_activated(skills: Path) -> None:
    session = session_over(skills)
    session.activate("a", by=ActivatedBy.MODEL)
    session.activate("b", by=ActivatedBy.TRIGGER)
    first, second = session.active
    assert (first.name, first.by, second.name, second.by) == ("a", ActivatedBy.MODEL, "b", ActivatedBy.TRIGGER)
    assert first.since < second.since


def test_closing_ends_every_part_although_one_fails(skills: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("broken")

    session, ended = session_over(skills), list[str]()
    monkeypatch.setattr(session.commands, "close", fail)
    monkeypatch.setattr(session.toolsets, "unload_all", lambda: ended.append("toolsets"))
    with pytest.raises(OSError, match="broken"):
        session.close()
    assert ended == ["toolsets"]


def test_activating_an_active_skill_injects_nothing_twice(skills: Path) -> None:
    session = session_over(skills)
    first = session.activate("a")
    again = session.activate("a", by=ActivatedBy.MODEL)
    assert (again.injected, again.tokens) == (False, 0)
    assert again.text == "The skill a is already active; follow the instructions that were given before."
    assert again.since == first.since
    assert session.active_names == ("a",)


def test_instructions_that_changed_meanwhile_are_injected_again(skills: Path) -> None:
    session = session_over(skills)
    session.activate("a")
    (skills / "a" / "SKILL.md").write_text("---\nname: a\ndescription: Does a.\n---\n\nDo it otherwise.\n")
    again = session.activate("a")
    assert again.injected
    assert "Do it otherwise." in again.text


def test_other_arguments_make_other_instructions(tmp_path: Path) -> None:
    skill_folder(tmp_path, "greet", body="Greet $ARGUMENTS.")
    session = session_over(tmp_path)
    assert "Greet Ada." in session.activate("greet", arguments="Ada").text
    assert session.activate("greet", arguments="Ada").injected is False
    assert "Greet Bob." in session.activate("greet", arguments="Bob").text


def test_the_fourth_skill_evicts_the_least_recently_used_one_and_the_text_says_so(skills: Path) -> None:
    session = session_over(skills)
    for name in ("a", "b", "c"):
        session.activate(name)
    session.read("a", "references/guide.md")
    activation = session.activate("d")
    assert activation.evicted == ("b",)
    assert activation.text.endswith("Unloaded to make room: b. Call load_skill to use one again.")
    assert session.active_names == ("a", "c", "d")


def test_an_evicted_skill_is_injected_again_when_it_comes_back(skills: Path) -> None:
    session = session_over(skills, max_active=1)
    session.activate("a")
    session.activate("b")
    assert session.activate("a").injected


def test_a_pinned_skill_stays_and_a_model_cannot_unload_it(skills: Path) -> None:
    session = session_over(skills, max_active=2, pinned=frozenset({"a"}))
    for name in ("a", "b", "c"):
        session.activate(name)
    assert session.active_names == ("a", "c")
    with pytest.raises(RefusedError, match="'a' is pinned by the user"):
        session.deactivate("a", by=ActivatedBy.MODEL)
    assert session.deactivate("a") == ("a",)


def test_persistent_skills_do_not_count(skills: Path) -> None:
    session = session_over(skills, max_active=1, modes={"a": ActivationMode.PERSISTENT})
    for name in ("a", "b", "c"):
        session.activate(name)
    assert session.active_names == ("a", "c")


def test_ephemeral_skills_leave_when_the_turn_ends(skills: Path) -> None:
    session = session_over(skills)
    session.activate("a", mode=ActivationMode.EPHEMERAL)
    session.activate("b")
    assert session.end_turn() == ("a",)
    assert session.active_names == ("b",)


def test_dependencies_are_activated_first_and_leave_with_the_skill_that_needed_them(tmp_path: Path) -> None:
    skill_folder(tmp_path, "base", body="Base rules.")
    skill_folder(tmp_path, "top", head="dependencies: [base]", body="Top rules.")
    session = session_over(tmp_path)
    activation = session.activate("top")
    assert activation.dependencies == ("base",)
    assert activation.text.index("Base rules.") < activation.text.index("Top rules.")
    assert {row.name: row.by for row in session.active} == {"base": ActivatedBy.DEPENDENCY, "top": ActivatedBy.USER}
    with pytest.raises(ConflictError, match="'top' depends on 'base'"):
        session.deactivate("base")
    assert session.deactivate("top") == ("top", "base")


def test_a_dependency_that_the_user_asked_for_stays(tmp_path: Path) -> None:
    skill_folder(tmp_path, "base")
    skill_folder(tmp_path, "top", head="dependencies: base")
    session = session_over(tmp_path)
    session.activate("top")
    assert session.activate("base").injected is False
    session.deactivate("top")
    assert session.active_names == ("base",)


def test_a_circle_and_a_missing_dependency_are_clear_errors_and_change_nothing(tmp_path: Path) -> None:
    skill_folder(tmp_path, "one", head="dependencies: [two]")
    skill_folder(tmp_path, "two", head="dependencies: [one]")
    skill_folder(tmp_path, "lost", head="dependencies: [nowhere]")
    session = session_over(tmp_path)
    with pytest.raises(ConflictError, match="one -> two -> one"):
        session.activate("one")
    with pytest.raises(NotFoundError, match="'lost' depends on 'nowhere'"):
        session.activate("lost")
    assert session.active == ()


def test_a_dependency_that_is_disabled_counts_as_missing(tmp_path: Path) -> None:
    skill_folder(tmp_path, "base", head="default_enabled: false")
    skill_folder(tmp_path, "top", head="dependencies: [base]")
    with pytest.raises(NotFoundError, match="'base'"):
        session_over(tmp_path).activate("top")


def test_declared_parameters_are_filled_in_from_call_and_configuration(tmp_path: Path) -> None:
    head = "parameters:\n  style: {type: string, default: plain}\n  pages: {type: integer, default: 1}\n"
    skill_folder(tmp_path, "report", head=head, body="Write ${pages} pages, ${style}.")
    session = session_over(tmp_path, parameters={"report": {"style": "formal"}})
    assert "Write 4 pages, formal." in session.activate("report", parameters={"pages": 4}).text
    with pytest.raises(metier.MetierError, match="'pages' is 'many', not of type integer"):
        session.activate("report", parameters={"pages": "many"})


def test_a_skill_that_may_not_be_used_says_why(tmp_path: Path) -> None:
    skill_folder(tmp_path, "off", head="default_enabled: false")
    skill_folder(tmp_path, "poor", head="metadata:\n  requires: no-such-command-here")
    session = session_over(tmp_path)
    with pytest.raises(RefusedError, match="off is disabled"):
        session.activate("off")
    with pytest.raises(UnavailableError, match="missing commands: no-such-command-here"):
        session.activate("poor")
    with pytest.raises(SkillNotFoundError):
        session.activate("other")


def test_a_skill_closed_to_models_does_not_exist_for_them_and_works_for_people(tmp_path: Path) -> None:
    skill_folder(tmp_path, "mine", head="disable-model-invocation: true")
    session = session_over(tmp_path)
    with pytest.raises(SkillNotFoundError) as unknown:
        session.activate("mine", by=ActivatedBy.MODEL)
    assert "mine" not in unknown.value.hint
    assert session.activate("mine").injected


def test_a_session_is_resumed_after_a_restart(skills: Path, tmp_path: Path) -> None:
    store = tmp_path / "sessions.sqlite"
    before = session_over(skills, services=SessionServices(store=SqlSessionStore(store)))
    text = before.activate("a", arguments="once").text
    before.activate("b", pinned=True)
    after = session_over(skills, services=SessionServices(store=SqlSessionStore(store)))
    assert [(row.name, row.pinned) for row in after.active] == [("a", False), ("b", True)]
    assert after.active == before.active
    assert after.activate("a", arguments="once").injected is False
    assert after.content("a") == text


def test_a_skill_that_is_missing_after_the_restart_is_deactivated(skills: Path, tmp_path: Path) -> None:
    store = SqlSessionStore(tmp_path / "sessions.sqlite")
    session_over(skills, services=SessionServices(store=store)).activate("a")
    shutil.rmtree(skills / "a")
    recorder = EventRecorder()
    bus = EventBus()
    bus.subscribe(recorder)
    after = session_over(skills, services=SessionServices(store=store, bus=bus))
    assert after.active == ()
    assert [(event.name, event.reason) for event in recorder.of(events.SkillDeactivated)] == [("a", "missing")]


def test_a_new_catalog_takes_effect_at_once(skills: Path) -> None:
    session = session_over(skills)
    session.activate("a")
    session.activate("b")
    shutil.rmtree(skills / "a")
    session.set_catalog(metier.discover(skills))
    assert session.active_names == ("b",)


def test_two_processes_of_one_session_never_lose_each_others_skills(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    for number in range(12):
        skill_folder(root, f"s{number}")
    code = """
    import sys, metier
    from metier.runtime import Session, SessionServices, SessionOptions, SqlSessionStore
    root, store, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
    options, services = SessionOptions(max_active=20), SessionServices(store=SqlSessionStore(store))
    session = Session(metier.discover(root), id="shared", options=options, services=services)
    for number in range(first, 12, 2):
        session.activate(f"s{number}")
    """
    store = tmp_path / "sessions.sqlite"
    running = [python(code, root, store, first) for first in (0, 1)]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    session = session_over(root, id="shared", services=SessionServices(store=SqlSessionStore(store)), max_active=20)
    assert len(session.active_names) == 12


def test_clearing_a_session_forgets_it(skills: Path) -> None:
    session = session_over(skills)
    session.activate("a", pinned=True)
    session.clear()
    assert session.active == ()
    assert session.services.store.sessions() == ()


def test_reading_goes_through_the_one_gate(skills: Path) -> None:
    session = session_over(skills)
    assert session.read("a", "references/guide.md") == b"guide of a\n"
    (skills / "a" / "out").symlink_to("/etc")
    for path in ("../b/SKILL.md", "/etc/passwd", "out/passwd", "references/../../b/SKILL.md"):
        with pytest.raises(RefusedError):
            session.read("a", path)
    with pytest.raises(NotFoundError):
        session.read("a", "missing.md")


def test_every_step_of_a_session_is_an_event(skills: Path) -> None:
    recorder, bus = EventRecorder(), EventBus()
    bus.subscribe(recorder)
    session = session_over(skills, services=SessionServices(bus=bus, clock=TickingClock()), max_active=1)
    session.activate("a")
    session.read("a", "references/guide.md")
    session.activate("b")
    assert recorder.kinds == ["SkillActivated", "ResourceRead", "SkillDeactivated", "SkillActivated"]
    activated = recorder.of(events.SkillActivated)[0]
    assert (activated.name, activated.path, activated.session) == ("a", f"{skills}/a/SKILL.md", "talk")
    assert activated.timestamp.tzinfo is not None
    assert recorder.of(events.SkillDeactivated)[0].reason == "limit"


def test_a_shadowed_skill_is_an_event(tmp_path: Path) -> None:
    skill_folder(tmp_path / "low", "same")
    skill_folder(tmp_path / "high", "same")
    recorder, bus = EventRecorder(), EventBus()
    bus.subscribe(recorder)
    Session(metier.discover(tmp_path / "low", tmp_path / "high"), services=SessionServices(bus=bus))
    assert [(event.name, event.path) for event in recorder.of(events.SkillShadowed)] == [
        ("same", f"{tmp_path}/low/same/SKILL.md")
    ]


def test_a_budget_of_tokens_holds_over_restarts(skills: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    budgets = Budgets(session=Allowance(activations=2))
    for name in ("a", "b"):
        session_over(skills, services=SessionServices(store=SqlSessionStore(store)), budgets=budgets).activate(name)
    session = session_over(skills, services=SessionServices(store=SqlSessionStore(store)), budgets=budgets)
    with pytest.raises(OverBudgetError, match="this session may use 2 activations; this would make 3"):
        session.activate("c")
    assert session.activate("a").injected is False
    assert session.active_names == ("a", "b")


def test_a_budget_can_hold_for_each_skill(skills: Path) -> None:
    session = session_over(skills, budgets=Budgets(skill=Allowance(tokens=10)))
    with pytest.raises(OverBudgetError, match="a may use 10 tokens of instructions"):
        session.activate("a")


def test_usage_is_counted_by_skill(skills: Path) -> None:
    session = session_over(skills)
    tokens = session.activate("a").tokens
    session.activate("a")
    session.read("a", "references/guide.md")
    used = session.usage["a"]
    assert (used.activations, used.tokens, used.reads) == (1, tokens, 1)


def test_every_refusal_has_a_code_and_a_hint(skills: Path) -> None:
    session = session_over(skills)
    for call in (lambda: session.activate("nope"), lambda: session.deactivate("a"), lambda: session.content("a"),
                 lambda: session.read("a", "../x"), lambda: session.select("x")):  # fmt: skip
        with pytest.raises(MetierError) as error:
            call()
        assert error.value.code
        assert error.value.hint


def test_asking_again_without_arguments_keeps_the_ones_it_has(tmp_path: Path) -> None:
    skill_folder(tmp_path, "greet", body="Greet $ARGUMENTS.")
    session = session_over(tmp_path)
    session.activate("greet", arguments="Ada")
    assert session.activate("greet", by=ActivatedBy.MODEL).injected is False
    assert session.active[0].arguments == "Ada"


def test_earlier_reads_are_counted_when_a_budget_is_checked(skills: Path, tmp_path: Path) -> None:
    store = SqlSessionStore(tmp_path / "s.sqlite")
    session = session_over(skills, services=SessionServices(store=store), budgets=Budgets(session=Allowance(activations=9)))
    session.activate("a")
    for _ in range(5):
        session.read("a", "references/guide.md")
    session.activate("b")
    assert session.usage["a"].reads == 5


def test_an_ephemeral_skill_takes_its_dependencies_along(tmp_path: Path) -> None:
    skill_folder(tmp_path, "base")
    skill_folder(tmp_path, "top", head="dependencies: [base]")
    session = session_over(tmp_path)
    session.activate("top", mode=ActivationMode.EPHEMERAL)
    assert session.end_turn() == ("top", "base")


def test_a_refused_activation_is_an_event(tmp_path: Path) -> None:
    skill_folder(tmp_path, "off", head="default_enabled: false")
    recorder, bus = EventRecorder(), EventBus()
    bus.subscribe(recorder)
    with pytest.raises(RefusedError):
        session_over(tmp_path, services=SessionServices(bus=bus)).activate("off")
    assert [(event.name, event.what, event.rule) for event in recorder.of(events.ActionRefused)] == [
        ("off", "activate", "skill-disabled")
    ]


def test_an_unused_session_is_not_stored(skills: Path, tmp_path: Path) -> None:
    store = SqlSessionStore(tmp_path / "s.sqlite")
    session_over(skills, services=SessionServices(store=store)).close()
    assert store.sessions() == ()


def test_a_use_counts_once_and_not_again_at_every_later_change(skills: Path) -> None:
    skill_folder(skills, "e")
    session = session_over(skills)
    for name in ("a", "b", "c"):
        session.activate(name)
    session.read("a", "references/guide.md")
    session.activate("b")
    assert [row.name for row in session.active] == ["c", "a", "b"]
    assert session.activate("d").evicted == ("c",)
    assert session.activate("e").evicted == ("a",)


def similar_skills(root: Path) -> Path:
    for name in ("pens", "inks"):
        (root / name).mkdir(exist_ok=True)
        says = "Draws charts of tables in CSV files. Use when the user wants a chart or a plot."
        (root / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {says}\n---\n\nDraw it.\n")
    return root


def selecting_session(root: Path, prior: SelectionPrior) -> Session:
    catalog = metier.discover(root)
    services = SessionServices(selector=metier.Selector(map(IndexedSkill, catalog.entries)), prior=prior)
    return Session(catalog, services=services)


REQUEST = "draw a chart of the numbers in this CSV file"


def test_a_skill_that_the_user_calls_is_preferred_in_later_sessions(tmp_path: Path) -> None:
    prior = SelectionPrior(str(tmp_path / "corrections.json"))
    for name in ("inks", "pens", "pens"):
        selecting_session(similar_skills(tmp_path), prior).activate(name)
    later = selecting_session(tmp_path, SelectionPrior(prior.file))
    assert [activation.name for activation in later.activate_for(REQUEST)] == ["pens"]


def test_a_selected_skill_that_the_user_unloads_stays_away_until_it_is_called(tmp_path: Path) -> None:
    prior = SelectionPrior()
    session = selecting_session(similar_skills(tmp_path), prior)
    [first] = session.activate_for(REQUEST)
    session.deactivate(first.name)
    assert prior.corrections()[first.name].unwanted == 1
    [second] = session.activate_for(REQUEST)
    assert second.name != first.name
    session.deactivate(second.name)
    session.activate(first.name)
    assert session.select(REQUEST).selected[0].name == first.name


def test_a_skill_that_is_no_longer_active_still_wins_a_tie(tmp_path: Path) -> None:
    for name in ("inks", "pens"):
        session = selecting_session(similar_skills(tmp_path), SelectionPrior())
        session.activate(name, by=ActivatedBy.MODEL)
        session.deactivate(name, by=ActivatedBy.MODEL)
        assert session.select(REQUEST).selected[0].name == name
