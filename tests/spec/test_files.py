"""The path check, and files in memory."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import NotFoundError, RefusedError
from metier.spec import FileEntry, Files, MemoryFiles, resource_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", "a"),
        ("references/guide.md", "references/guide.md"),
        ("./a", "a"),
        ("a//b", "a/b"),
        ("a/./b/", "a/b"),
        (".hidden", ".hidden"),
        ("...", "..."),
        ("a/..b/c..", "a/..b/c.."),
        ("a b", "a b"),
        ("é/技能.md", "é/技能.md"),
        ("a" * 1024, "a" * 1024),
    ],
)
def test_a_plain_relative_path_comes_out_clean(text: str, path: str) -> None:
    assert resource_path(text) == path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a plain relative path"),
        ("a" * 1025, "is not a plain relative path"),
        ("a\0b", "is not a plain relative path"),
        ("a\nb", "is not a plain relative path"),
        ("a\x7f", "is not a plain relative path"),
        ("a\\b", "is not a plain relative path"),
        ("..\\..\\etc\\passwd", "is not a plain relative path"),
        ("\\\\server\\share", "is not a plain relative path"),
        ("/etc/passwd", "is absolute"),
        ("//etc/passwd", "is absolute"),
        ("~/.ssh/id_rsa", "is absolute"),
        ("~root", "is absolute"),
        ("C:/Windows", "is absolute"),
        ("c:a", "is absolute"),
        ("..", "leaves the skill"),
        ("../a", "leaves the skill"),
        ("a/../b", "leaves the skill"),
        ("a/../../b", "leaves the skill"),
        ("a/..", "leaves the skill"),
        ("./..", "leaves the skill"),
        (".", "names no file"),
        ("./", "names no file"),
        (".//./", "names no file"),
    ],
)
def test_a_hostile_path_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why) as caught:
        resource_path(text)
    assert caught.value.rule == "path-check"
    assert caught.value.hint


def test_a_refusal_does_not_repeat_a_whole_long_path() -> None:
    with pytest.raises(RefusedError) as caught:
        resource_path("/" + "a" * 5000)
    assert len(str(caught.value)) < 200


@given(st.text(alphabet=st.sampled_from("ab./\\~:\0 C"), max_size=12) | st.text())
def test_no_path_that_passes_can_leave_its_root(text: str) -> None:
    try:
        path = resource_path(text)
    except RefusedError:
        return
    assert posixpath.normpath(posixpath.join("/skill", path)) == "/skill/" + path
    assert resource_path(path) == path
    assert not set(path) & {"\0", "\\", "\n"}


def test_memory_is_one_of_the_implementations_of_files() -> None:
    assert isinstance(MemoryFiles({}), Files)


def test_memory_files_return_their_contents() -> None:
    files = MemoryFiles({"SKILL.md": b"x", "./scripts//run.py": b"print()"})
    assert files.read("scripts/run.py", limit=100) == b"print()"
    assert files.read("./SKILL.md", limit=1) == b"x"


def test_memory_lists_its_files_by_path() -> None:
    assert list(MemoryFiles({"b": b"12", "a/c": b""}).list()) == [
        FileEntry(path="a/c", size=0),
        FileEntry(path="b", size=2),
    ]


def test_memory_does_not_see_later_changes_of_its_mapping() -> None:
    contents = {"a": b"1"}
    files = MemoryFiles(contents)
    contents["b"] = b"2"
    assert [entry.path for entry in files.list()] == ["a"]


def test_a_file_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="no file 'b'"):
        MemoryFiles({"a": b""}).read("b", limit=1)


def test_a_file_over_the_limit_is_refused_by_name_and_rule() -> None:
    with pytest.raises(RefusedError, match="'a' is larger than 1,000 bytes") as caught:
        MemoryFiles({"a": b"x" * 1001}).read("a", limit=1000)
    assert caught.value.rule == "resource-size"


@pytest.mark.parametrize("path", ["../a", "/a", "a\\b", ""])
def test_memory_holds_no_path_that_the_gate_refuses(path: str) -> None:
    with pytest.raises(RefusedError):
        MemoryFiles({path: b""})
    with pytest.raises(RefusedError):
        MemoryFiles({}).read(path, limit=1)
