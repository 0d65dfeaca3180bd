"""Activation, eviction and dependencies, on rows without files."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from metier.errors import ConflictError, NotFoundError, RefusedError
from metier.runtime import ActivatedBy, ActivationMode, ActiveSkill
from metier.runtime.activation import admit, check_versions, deactivate, dependency_order, mark_used
from metier.spec import Extensions


def row(name: str, used: int = 0, **options: object) -> ActiveSkill:
    return ActiveSkill(name=name, folder=f"/{name}", since=datetime(2026, 1, 1, tzinfo=UTC), last_use=used, **options)  # type: ignore[arg-type]


def names(rows: tuple[ActiveSkill, ...]) -> list[str]:
    return [each.name for each in rows]


def test_the_least_recently_used_skill_leaves_first() -> None:
    kept, evicted = admit([row("a", 3), row("b", 1), row("c", 2)], [row("d")], 3)
    assert (names(kept), names(evicted)) == (["a", "c", "d"], ["b"])


def test_below_the_limit_nothing_is_evicted() -> None:
    assert admit([row("a", 1), row("b", 2)], [row("c")], 3)[1] == ()


def test_activating_an_active_skill_evicts_nothing() -> None:
    kept, evicted = admit([row("a", 1), row("b", 2), row("c", 3)], [row("a")], 3)
    assert (sorted(names(kept)), evicted) == (["a", "b", "c"], ())


def test_a_pinned_skill_is_passed_over() -> None:
    _, evicted = admit([row("a", 1, pinned=True), row("b", 2), row("c", 3)], [row("d")], 3)
    assert names(evicted) == ["b"]


def test_when_all_are_pinned_another_skill_is_refused_with_the_reason() -> None:
    rows = [row(name, 1, pinned=True) for name in "abc"]
    with pytest.raises(RefusedError, match=r"cannot activate 'd': .*a, b, c cannot be evicted") as refused:
        admit(rows, [row("d")], 3)
    assert refused.value.rule == "max-active"


def test_persistent_skills_do_not_count_towards_the_limit() -> None:
    rows = [row("a", 1, mode=ActivationMode.PERSISTENT), row("b", 2), row("c", 3), row("d", 4)]
    kept, evicted = admit(rows, [row("e")], 3)
    assert names(evicted) == ["b"]
    assert "a" in names(kept)


def test_a_skill_that_another_one_needs_does_not_leave_before_it() -> None:
    rows = [row("base", 1, by=ActivatedBy.DEPENDENCY), row("top", 2, dependencies=("base",)), row("c", 3)]
    _, evicted = admit(rows, [row("d")], 3)
    assert names(evicted) == ["top", "base"]


def test_more_dependencies_than_places_are_refused() -> None:
    coming = [row("a"), row("b"), row("c"), row("top", dependencies=("a", "b", "c"))]
    with pytest.raises(RefusedError, match="'top' and its dependencies are 4 skills; at most 3"):
        admit([], coming, 3)


def test_deactivating_removes_dependencies_that_no_other_skill_needs() -> None:
    rows = (row("base", by=ActivatedBy.DEPENDENCY), row("own"), row("top", dependencies=("base", "own")))
    kept, gone = deactivate(rows, "top")
    assert (names(kept), names(gone)) == (["own"], ["top", "base"])


def test_a_dependency_that_two_skills_share_stays_with_the_second() -> None:
    rows = (row("base", by=ActivatedBy.DEPENDENCY), row("one", dependencies=("base",)), row("two", dependencies=("base",)))
    assert names(deactivate(rows, "one")[0]) == ["base", "two"]


def test_a_skill_that_is_needed_cannot_be_deactivated_first() -> None:
    with pytest.raises(ConflictError, match="'top' depends on 'base'"):
        deactivate((row("base"), row("top", dependencies=("base",))), "base")


def test_deactivating_an_inactive_skill_names_the_active_ones() -> None:
    with pytest.raises(NotFoundError) as missing:
        deactivate((row("pdf"),), "csv")
    assert missing.value.hint == "active skills: pdf"


def test_using_a_skill_marks_its_dependencies_as_used() -> None:
    rows = mark_used((row("base", 1), row("other", 5), row("top", 2, dependencies=("base",))), "top")
    order = sorted(rows, key=lambda each: each.last_use)
    assert names(tuple(order)) == ["other", "base", "top"]


def test_dependencies_come_before_their_dependents() -> None:
    needs = {"top": ("left", "right"), "left": ("base",), "right": ("base",), "base": ()}
    assert dependency_order("top", needs) == ("base", "left", "right", "top")


def test_a_circle_of_dependencies_is_drawn() -> None:
    with pytest.raises(ConflictError, match="a -> b -> c -> a"):
        dependency_order("a", {"a": ("b",), "b": ("c",), "c": ("a",)})


def test_a_missing_dependency_names_its_dependent() -> None:
    with pytest.raises(NotFoundError, match="'a' depends on 'gone', which is not installed or not enabled"):
        dependency_order("a", {"a": ("gone",)})


@pytest.mark.parametrize("version", ["2.0.0", "2.0", "v2.4.1", "3"])
def test_a_dependency_within_its_range_is_accepted(version: str) -> None:
    needs = Extensions(dependencies=("base",), dependency_versions={"base": ">=2.0"})
    check_versions({"base": Extensions(version=version), "report": needs})


@pytest.mark.parametrize(
    ("version", "said"),
    [("1.3.0", "'report' depends on base >=2.0, but version 1.3.0 is installed"),
     (None, "'report' depends on base >=2.0, and 'base' has no version"),
     ("newest", "'report' depends on base >=2.0, but version newest is installed")],
)  # fmt: skip
def test_a_dependency_of_another_version_is_a_conflict(version: str | None, said: str) -> None:
    needs = Extensions(dependencies=("base",), dependency_versions={"base": ">=2.0"})
    with pytest.raises(ConflictError, match=said):
        check_versions({"base": Extensions(version=version), "report": needs})
