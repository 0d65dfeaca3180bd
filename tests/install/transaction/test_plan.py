from __future__ import annotations

from dataclasses import replace

import pytest

from install.builders import prepared
from metier.errors import ConflictError
from metier.install.lock.lock_file import LockEntry
from metier.install.transaction.plan import edited_files, plan
from metier.install.transaction.state import PathKind, PathState
from metier.install.transaction.steps import Edits, InstallStep, PlacedSkill, StepReason, Verb, WantedSkill, refuse_conflicts

HERE, LINK, TARGET = "/home/.agents/skills/pdf", "/home/.claude/skills/pdf", "../../.agents/skills/pdf"


def entry(body: str = "Do it.\n", **options: str) -> LockEntry:
    return prepared("pdf", body=body, **options).entry


def placed(locked: LockEntry, *, linked: bool = False, copied: bool = False) -> PlacedSkill:
    return PlacedSkill(entry=locked, folder=HERE, links=((LINK, TARGET),) if linked else (), copies=(LINK,) if copied else ())


def folder(locked: LockEntry, **changed: str) -> PathState:
    """Returns the installed folder, unchanged or with these files edited."""
    return PathState(kind=PathKind.FOLDER, files={**locked.files, **{path: ("100644", text) for path, text in changed.items()}})


def verbs(steps: tuple[InstallStep, ...]) -> list[Verb]:
    return [step.verb for step in steps]


OLD, NEW = entry(), entry("Newer.\n")
OTHER = entry(url="https://elsewhere.example/skills.git")


def test_a_new_skill_is_installed_and_linked() -> None:
    steps = plan([WantedSkill(placed=placed(OLD, linked=True))], {}, {})
    assert [str(step).split() for step in steps] == [
        ["install", "pdf", HERE],
        ["link", "pdf", LINK, "->", TARGET],
    ]


def test_a_skill_that_is_as_it_should_be_stays() -> None:
    disk = {HERE: folder(OLD), LINK: PathState(kind=PathKind.LINK, target=TARGET)}
    assert (
        verbs(plan([WantedSkill(placed=placed(OLD, linked=True))], {"pdf": placed(OLD, linked=True)}, disk)) == [Verb.KEEP] * 2
    )


def test_a_newer_version_replaces_an_unedited_one() -> None:
    assert verbs(plan([WantedSkill(placed=placed(NEW))], {"pdf": placed(OLD)}, {HERE: folder(OLD)})) == [Verb.UPDATE]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [(Edits.REFUSE, [Verb.CONFLICT]), (Edits.OVERWRITE, [Verb.UPDATE]), (Edits.KEEP, [Verb.SAVE, Verb.UPDATE])],
)
def test_edits_are_refused_overwritten_or_kept(edits: Edits, expected: list[Verb]) -> None:
    disk = {HERE: folder(OLD, **{"SKILL.md": "mine", "notes.md": "mine"})}
    steps = plan([WantedSkill(placed=placed(NEW), edits=edits)], {"pdf": placed(OLD)}, disk)
    assert verbs(steps) == expected
    assert "M SKILL.md, A notes.md" in steps[0].note.replace("A notes.md, M SKILL.md", "M SKILL.md, A notes.md")


def test_edits_stay_where_there_is_nothing_newer() -> None:
    steps = plan([WantedSkill(placed=placed(OLD))], {"pdf": placed(OLD)}, {HERE: folder(OLD, **{"SKILL.md": "mine"})})
    assert [(step.verb, step.reason) for step in steps] == [(Verb.KEEP, StepReason.EDITED)]


def test_a_skill_of_the_same_name_from_elsewhere_is_a_question() -> None:
    steps = plan([WantedSkill(placed=placed(OTHER))], {"pdf": placed(OLD)}, {HERE: folder(entry("Another.\n"))})
    assert [(step.verb, step.reason) for step in steps] == [(Verb.CONFLICT, StepReason.TAKEN)]
    with pytest.raises(ConflictError, match="installed from https://example") as caught:
        refuse_conflicts(steps)
    assert "--name" in caught.value.hint
    assert "--force" in caught.value.hint


def test_force_takes_the_name_from_another_skill() -> None:
    other = replace(OTHER, files=NEW.files)
    assert verbs(plan([WantedSkill(placed=placed(other), force=True)], {"pdf": placed(OLD)}, {HERE: folder(OLD)})) == [
        Verb.UPDATE
    ]


def test_a_folder_that_metier_did_not_install_is_in_the_way_and_is_kept_when_forced() -> None:
    disk = {HERE: folder(entry("By hand.\n"))}
    steps = plan([WantedSkill(placed=placed(NEW))], {}, disk)
    assert [(step.verb, step.reason) for step in steps] == [(Verb.CONFLICT, StepReason.FOREIGN)]
    assert verbs(plan([WantedSkill(placed=placed(NEW), force=True)], {}, disk)) == [Verb.SAVE, Verb.UPDATE]


def test_a_folder_that_holds_exactly_the_skill_is_adopted() -> None:
    assert verbs(plan([WantedSkill(placed=placed(NEW))], {}, {HERE: folder(NEW)})) == [Verb.KEEP]


@pytest.mark.parametrize("kind", [PathKind.LINK, PathKind.OTHER])
def test_a_link_or_a_file_in_the_way_is_not_replaced_unasked(kind: PathKind) -> None:
    disk = {HERE: PathState(kind=kind, target="/elsewhere")}
    assert verbs(plan([WantedSkill(placed=placed(NEW))], {}, disk)) == [Verb.CONFLICT]
    assert verbs(plan([WantedSkill(placed=placed(NEW), force=True)], {}, disk)) == [Verb.UPDATE]


def test_a_link_that_leads_elsewhere_is_repaired_if_it_was_ours_and_refused_if_not() -> None:
    disk = {HERE: folder(OLD), LINK: PathState(kind=PathKind.LINK, target="/gone")}
    ours = plan([WantedSkill(placed=placed(OLD, linked=True))], {"pdf": placed(OLD, linked=True)}, disk)
    theirs = plan([WantedSkill(placed=placed(OLD, linked=True))], {"pdf": placed(OLD)}, disk)
    assert (verbs(ours), verbs(theirs)) == ([Verb.KEEP, Verb.LINK], [Verb.KEEP, Verb.CONFLICT])


def test_a_copy_becomes_a_link_and_a_link_a_copy() -> None:
    as_copy, as_link = placed(OLD, copied=True), placed(OLD, linked=True)
    to_link = plan([WantedSkill(placed=as_link)], {"pdf": as_copy}, {HERE: folder(OLD), LINK: folder(OLD)})
    to_copy = plan(
        [WantedSkill(placed=as_copy)], {"pdf": as_link}, {HERE: folder(OLD), LINK: PathState(kind=PathKind.LINK, target=TARGET)}
    )
    assert (verbs(to_link), verbs(to_copy)) == ([Verb.KEEP, Verb.LINK], [Verb.KEEP, Verb.COPY])


def test_an_edited_copy_is_not_replaced_by_a_link() -> None:
    disk = {HERE: folder(OLD), LINK: folder(OLD, **{"SKILL.md": "mine"})}
    steps = plan([WantedSkill(placed=placed(OLD, linked=True))], {"pdf": placed(OLD, copied=True)}, disk)
    assert [(step.verb, step.reason) for step in steps][1] == (Verb.CONFLICT, StepReason.EDITED)


def test_a_target_that_is_no_longer_wanted_is_removed() -> None:
    disk = {HERE: folder(OLD), LINK: PathState(kind=PathKind.LINK, target=TARGET)}
    assert verbs(plan([WantedSkill(placed=placed(OLD))], {"pdf": placed(OLD, linked=True)}, disk)) == [Verb.KEEP, Verb.UNLINK]


def test_two_skills_of_one_name_in_one_request_are_refused() -> None:
    steps = plan([WantedSkill(placed=placed(OLD)), WantedSkill(placed=placed(OTHER))], {}, {})
    assert [(step.verb, step.reason) for step in steps] == [(Verb.INSTALL, None), (Verb.CONFLICT, StepReason.TWICE)]
    with pytest.raises(ConflictError) as caught:
        refuse_conflicts(steps)
    assert "--skill" in caught.value.hint


def test_removing_takes_folder_and_links_and_says_what_was_edited() -> None:
    disk = {HERE: folder(OLD, **{"SKILL.md": "mine"}), LINK: PathState(kind=PathKind.LINK, target=TARGET)}
    steps = plan((), {"pdf": placed(OLD, linked=True)}, disk, remove=["pdf"])
    assert verbs(steps) == [Verb.REMOVE, Verb.UNLINK]
    assert "edited here: M SKILL.md" in steps[0].note


def test_removing_leaves_a_link_made_by_another_program() -> None:
    disk = {HERE: folder(OLD), LINK: PathState(kind=PathKind.LINK, target="/dev/checkout/pdf")}
    assert verbs(plan((), {"pdf": placed(OLD, linked=True)}, disk, remove=["pdf"])) == [Verb.REMOVE, Verb.KEEP]


def test_a_path_that_is_already_gone_needs_no_step() -> None:
    assert plan((), {"pdf": placed(OLD, linked=True)}, {}, remove=["pdf"]) == ()


def test_edited_files_are_listed_with_a_status_letter() -> None:
    base = {"a": ("100644", "1"), "b": ("100644", "2"), "c": ("100644", "3")}
    now = {"a": ("100755", "1"), "b": ("100644", "2"), "d": ("100644", "4")}
    assert edited_files(base, now) == ("M a", "D c", "A d")
