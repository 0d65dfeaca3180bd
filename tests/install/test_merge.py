"""Three versions of a skill become one, with git's own `merge-file`."""

from __future__ import annotations

import os

import pytest

from metier.archive import Contents, Link, Member
from metier.install.git.merge_file import text_merger
from metier.install.merge import MergeConflict, MergeReason, MergeSide, SkillMerge, has_marks, merge_contents, take_side

TEN = "".join(f"line {number}\n" for number in range(10))


def skill(**files: str | bytes | None) -> Contents:
    """A skill whose files have these names; `__` is a slash."""
    named = {name.replace("__", "/"): data for name, data in files.items()}
    return Contents(
        Member(path, data.encode() if isinstance(data, str) else data) for path, data in named.items() if data is not None
    )


def merged(base: Contents | None, yours: Contents, theirs: Contents, side: MergeSide | None = None) -> SkillMerge:
    return merge_contents(base, yours, theirs, text_merger({"PATH": os.environ["PATH"]}, side), side=side)


def files_of(merge: SkillMerge) -> dict[str, bytes]:
    return {member.path: member.data for member in merge.files.members}


def test_changes_in_different_lines_are_joined() -> None:
    found = merged(skill(a=TEN), skill(a=TEN.replace("line 1", "mine")), skill(a=TEN.replace("line 8", "new")))
    assert files_of(found)["a"].decode() == TEN.replace("line 1", "mine").replace("line 8", "new")
    assert (found.merged, found.conflicts) == (("a",), ())


def test_a_change_of_the_same_line_is_marked() -> None:
    found = merged(skill(a=TEN), skill(a=TEN.replace("line 5", "mine")), skill(a=TEN.replace("line 5", "new")))
    assert b"<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> theirs\n" in files_of(found)["a"]
    assert found.conflicts == (MergeConflict(path="a", reason=MergeReason.LINES),)


@pytest.mark.parametrize(("side", "word"), [(MergeSide.YOURS, "mine"), (MergeSide.THEIRS, "new")])
def test_a_side_decides_only_the_lines_in_conflict(side: MergeSide, word: str) -> None:
    yours = TEN.replace("line 5", "mine").replace("line 1", "also mine")
    theirs = TEN.replace("line 5", "new").replace("line 9", "also new")
    wanted = TEN.replace("line 5", word).replace("line 1", "also mine").replace("line 9", "also new").encode()
    found = merged(skill(a=TEN), skill(a=yours), skill(a=theirs), side)
    assert (files_of(found)["a"], found.conflicts) == (wanted, ())
    marked = files_of(merged(skill(a=TEN), skill(a=yours), skill(a=theirs)))["a"]
    assert has_marks(marked)
    assert take_side(marked, side) == wanted


def test_what_only_one_side_added_changed_or_deleted_is_taken() -> None:
    base = skill(same="1", mine="1", new="1", gone_here="1", gone_there="1")
    yours = skill(same="1", mine="2", new="1", gone_there="1", added_here="3")
    theirs = skill(same="1", mine="1", new="4", gone_here="1", added_there="5")
    found = merged(base, yours, theirs)
    assert files_of(found) == {"same": b"1", "mine": b"2", "new": b"4", "added_here": b"3", "added_there": b"5"}
    assert (found.merged, found.conflicts) == ((), ())


@pytest.mark.parametrize(
    ("yours", "theirs", "reason", "kept"),
    [
        (b"\0mine", b"\0new", MergeReason.BINARY, b"\0mine"),
        (None, b"new", MergeReason.DELETED_HERE, b"new"),
        (b"mine", None, MergeReason.DELETED_THERE, b"mine"),
    ],
)
def test_a_conflict_without_marks_is_named_and_a_side_decides_it(
    yours: bytes | None, theirs: bytes | None, reason: MergeReason, kept: bytes
) -> None:
    versions = skill(a="base", b="x"), skill(a=yours, b="x"), skill(a=theirs, b="x")
    found = merged(*versions)
    assert found.conflicts == (MergeConflict(path="a", reason=reason),)
    assert files_of(found)["a"] == kept
    for side, wanted in ((MergeSide.YOURS, yours), (MergeSide.THEIRS, theirs)):
        decided = merged(*versions, side)
        assert (files_of(decided).get("a"), decided.conflicts) == (wanted, ())


def test_edits_follow_a_file_that_the_new_version_renamed() -> None:
    mine = TEN.replace("line 1", "mine")
    found = merged(skill(old=TEN), skill(old=mine), skill(scripts__new=TEN.replace("line 8", "new")))
    assert files_of(found) == {"scripts/new": mine.replace("line 8", "new").encode()}
    assert found.conflicts == ()


def test_changes_follow_a_file_that_the_user_renamed() -> None:
    found = merged(skill(old=TEN), skill(mine=TEN), skill(old=TEN.replace("line 8", "new")))
    assert files_of(found) == {"mine": TEN.replace("line 8", "new").encode()}
    assert found.conflicts == ()


def test_the_mode_of_one_side_and_the_text_of_the_other_are_joined() -> None:
    base, yours = Contents([Member("run.sh", b"1\n")]), Contents([Member("run.sh", b"1\n", True)])
    found = merged(base, yours, Contents([Member("run.sh", b"2\n")]))
    assert found.files.members == (Member("run.sh", b"2\n", True),)


def test_a_link_that_both_changed_is_a_conflict_and_stays() -> None:
    def linked(target: str) -> Contents:
        return Contents([Member("a", b""), Member("b", b""), Member("c", b"")], [Link("l", target)])

    found = merged(linked("a"), linked("b"), linked("c"))
    assert found.files.links == (Link("l", "b"),)
    assert [one.path for one in found.conflicts] == ["l"]


def test_without_a_base_only_the_lines_that_differ_are_conflicts() -> None:
    found = merged(None, skill(a=TEN.replace("line 5", "mine"), mine="1"), skill(a=TEN, new="2"))
    assert b"line 4\n<<<<<<< yours\nmine\n=======\nline 5\n>>>>>>> theirs\nline 6\n" in files_of(found)["a"]
    assert {"mine", "new"} < files_of(found).keys()
    assert len(found.conflicts) == 1


def test_windows_line_ends_survive_and_their_marks_are_found() -> None:
    text = TEN.replace("\n", "\r\n")
    found = merged(skill(a=text), skill(a=text.replace("line 5", "mine")), skill(a=text.replace("line 5", "new")))
    assert take_side(files_of(found)["a"], MergeSide.YOURS).decode() == text.replace("line 5", "mine")
