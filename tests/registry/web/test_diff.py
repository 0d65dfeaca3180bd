"""The comparison of two versions: bounded in files, rows and text, made in a process with a budget, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metier.registry.domain.registry import WorkLimits
from metier.registry.server.views import differing_paths
from metier.registry.web.diff import FileDiff, diff_files
from metier.registry.wire import FileRow
from registry.builders import site


def compared(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[FileDiff]:
    return list(diff_files(sorted({*old, *new}), old.get, new.get))


def test_the_difference_of_long_or_binary_files_is_only_named() -> None:
    found = compared({f"{number}.txt": b"a" for number in range(120)}, {})
    assert [each.status for each in found] == ["removed"] * 120
    assert found[0].rows and not found[-1].rows and "limit" in found[-1].note
    assert compared({"a": b"\0"}, {"a": b"\1\0"})[0].note
    assert compared({"a": b"x\n" * 5000}, {"a": b"y\n" * 5000})[0].note


def test_a_difference_leaves_out_lines_far_from_any_change() -> None:
    old = b"\n".join(b"line %d" % number for number in range(40))
    rows = compared({"a": old}, {"a": old.replace(b"line 20", b"line twenty")})[0].rows
    assert [row.kind for row in rows] == ["left-out", *["same"] * 3, "removed", "added", *["same"] * 3, "left-out"]
    assert (rows[4].old, rows[5].new) == (21, 21)
    assert rows[0].text == "17 unchanged lines"


def test_files_are_compared_by_their_digests() -> None:
    def row(path: str, digest: str) -> FileRow:
        return FileRow(path=path, size=1, sha256=digest)

    assert differing_paths([row("a", "1"), row("b", "1"), row("c", "1")], [row("a", "1"), row("b", "2"), row("d", "1")]) == [
        "b", "c", "d",
    ]  # fmt: skip


def test_all_files_together_have_a_limit_of_rows_and_of_text() -> None:
    many = {f"{number:03}.txt": b"line\n" * 3_900 for number in range(100)}
    found = compared({}, many)
    assert len(found) == 100
    assert sum(len(each.rows) for each in found) <= 4_000
    assert all(each.rows or each.note for each in found)
    wide = {f"{number}.txt": (b"a" * 200_000 + b"\n") for number in range(20)}
    assert sum(len(row.text) for each in compared({}, wide) for row in each.rows) <= 512 * 1024
    assert len(compared({}, {str(number): b"a" for number in range(2_000)})) == 501


def test_a_page_that_compares_large_versions_is_small(tmp_path: Path) -> None:
    many = {f"references/{number:03}.md": f"line {number}\n" * 3_900 for number in range(60)}
    with site(tmp_path) as here:
        here.publish("big", "1.0.0")
        assert here.publish("big", "2.0.0", files=many).status_code == 201
        page = here.get("/skill/big/diff?from=1.0.0&to=2.0.0")
        assert page.status_code == 200
        assert len(page.content) < 1_500_000
        assert page.text.count("reached its limit") == 59
        assert "references/059.md" in page.text


def test_a_comparison_over_its_budget_is_not_shown_and_not_tried_again(tmp_path: Path) -> None:
    with site(tmp_path, work=WorkLimits(page_seconds=0.0001)) as here:
        here.publish("big", "1.0.0")
        here.publish("big", "2.0.0", files={"a.md": "".join(f"{number}\n" for number in range(3_900))})
        for _ in range(2):
            page = here.get("/skill/big/diff?from=1.0.0&to=2.0.0")
            assert (page.status_code, "too expensive" in page.text) == (200, True)
        assert "same contents" in here.get("/skill/big/diff?from=1.0.0&to=1.0.0").text
