"""The program behind the file tools: the same results with ripgrep and without it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metier.runtime.tools.general import file_program

Ask = Callable[..., dict[str, Any]]
DEFAULTS: dict[str, Any] = {
    "path": "", "globs": [], "hidden": False, "ignored": False, "offset": 0, "limit": 100, "literal": False, "case": "smart",
    "context": 0, "output": "lines", "characters": 100_000,
}  # fmt: skip


@pytest.fixture(params=["ripgrep", "walk"])
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Ask:
    """Asks the program in a folder with `work` as the current one."""
    found = shutil.which("rg")
    if request.param == "ripgrep" and found is None:
        pytest.skip("there is no ripgrep")
    path = os.path.dirname(found) if request.param == "ripgrep" and found else str(tmp_path / "no-programs")
    (tmp_path / "work").mkdir()

    def call(do: str, **given: Any) -> dict[str, Any]:
        asked = json.dumps({"do": do, **DEFAULTS, **given}).encode()
        done = subprocess.run(
            [sys.executable, "-I", file_program.__file__], input=asked, capture_output=True, cwd=tmp_path / "work",
            env={"PATH": path}, check=True,
        )  # fmt: skip
        reply: dict[str, Any] = json.loads(done.stdout)
        return reply

    return call


@pytest.fixture
def work(tmp_path: Path, ask: Ask) -> Path:
    return tmp_path / "work"


def make(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def names(reply: dict[str, Any]) -> list[str]:
    return [row[0] for row in reply["files"]]


def test_files_are_listed_by_name_with_their_sizes(ask: Ask, work: Path) -> None:
    make(work, {"b.txt": "12345", "a/z.py": "1", "a/b/c.py": "12", "a.txt": "", "Ümlaut ä.txt": "x"})
    assert ask("list")["files"] == [["a/b/c.py", 2], ["a/z.py", 1], ["a.txt", 0], ["b.txt", 5], ["Ümlaut ä.txt", 1]]


def test_hidden_and_ignored_files_are_left_out_unless_they_are_wanted(ask: Ask, work: Path) -> None:
    make(work, {
        ".gitignore": "build/\n*.log\n!keep.log\n/only-here\ndocs/*.tmp\n# comment\n\\#file\n", "build/x": "",
        "src/build/y": "",
        "a.log": "", "keep.log": "", "only-here": "", "sub/only-here": "", "docs/a.tmp": "", "docs/b/c.tmp": "", ".hidden": "",
        ".github/ci.yml": "", "#file": "", "src/main.py": "", ".git/config": "",
    })  # fmt: skip
    assert names(ask("list")) == ["docs/b/c.tmp", "keep.log", "src/main.py", "sub/only-here"]
    assert ".hidden" in names(ask("list", hidden=True))
    assert not any(name.startswith(".git/") for name in names(ask("list", hidden=True)))
    assert "build/x" in names(ask("list", ignored=True))


def test_a_gitignore_in_a_folder_holds_below_it_and_wins_over_the_one_above(ask: Ask, work: Path) -> None:
    make(work, {".gitignore": "*.gen\nout\n", "sub/.gitignore": "!b.gen\nlocal.txt\n", "a.gen": "", "sub/a.gen": "",
                "sub/b.gen": "",
                "sub/local.txt": "", "local.txt": "", "deep/out/x": "", "deep/outer/x": ""})  # fmt: skip
    assert names(ask("list")) == ["deep/outer/x", "local.txt", "sub/b.gen"]


def test_an_ignore_file_wins_over_gitignore(ask: Ask, work: Path) -> None:
    make(work, {".gitignore": "a.txt\n", ".ignore": "!a.txt\nb.txt\n", "a.txt": "", "b.txt": "", "c.txt": ""})
    assert names(ask("list")) == ["a.txt", "c.txt"]


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.py"], ["src/a.py", "src/deep/b.py", "top.py"]),
        (["/*.py"], ["top.py"]),
        (["src/*.py"], ["src/a.py"]),
        (["src/**/*.py"], ["src/a.py", "src/deep/b.py"]),
        (["**/deep/**"], ["src/deep/b.py", "src/deep/c.ts"]),
        (["*.{py,ts}"], ["src/a.py", "src/deep/b.py", "src/deep/c.ts", "top.py"]),
        (["*.py", "!src/**"], ["top.py"]),
        (["!*.py"], ["[x].md", "src/deep/c.ts"]),
        (["[a-b].py"], ["src/a.py", "src/deep/b.py"]),
        (["?.ts"], ["src/deep/c.ts"]),
        (["\\[x\\].md"], ["[x].md"]),
        (["*.rs"], []),
    ],
)
def test_globs_are_those_of_ripgrep(ask: Ask, work: Path, globs: list[str], expected: list[str]) -> None:
    make(work, {"src/a.py": "", "src/deep/b.py": "", "src/deep/c.ts": "", "top.py": "", "[x].md": ""})
    assert names(ask("list", globs=globs)) == expected


def test_a_glob_that_names_a_file_shows_it_although_it_is_ignored_or_hidden(ask: Ask, work: Path) -> None:
    make(work, {".gitignore": "*.log\n", "a.log": "", ".env.example": "", "b.txt": ""})
    assert names(ask("list", globs=["*.log"])) == ["a.log"]
    assert names(ask("list", globs=[".env*"])) == [".env.example"]


def test_a_folder_or_a_file_can_be_named(ask: Ask, work: Path) -> None:
    make(work, {"src/a.py": "", "src/b/c.py": "", "other.py": ""})
    assert names(ask("list", path="src")) == ["src/a.py", "src/b/c.py"]
    assert names(ask("list", path="src/a.py")) == ["src/a.py"]
    assert ask("list", path="nothing") == {"problem": "'nothing' does not exist", "hint": "list_files shows what is there"}


def test_long_lists_are_paged(ask: Ask, work: Path) -> None:
    make(work, {f"{number:03}.txt": "" for number in range(25)})
    first, second = ask("list", limit=10), ask("list", offset=20, limit=10)
    assert (len(first["files"]), first["more"]) == (10, True)
    assert (names(second), second["more"]) == ([f"{number:03}.txt" for number in range(20, 25)], False)
    assert ask("list", offset=15, limit=10)["more"] is False


def test_links_are_not_followed(ask: Ask, work: Path) -> None:
    make(work, {"a/x.txt": "secret word"})
    (work / "loop").symlink_to(".")
    (work / "link.txt").symlink_to("a/x.txt")
    assert names(ask("list")) == ["a/x.txt"]
    assert [row[0] for row in ask("search", pattern="secret")["rows"]] == ["a/x.txt"]


def test_a_search_returns_lines_with_their_numbers(ask: Ask, work: Path) -> None:
    make(work, {"a.py": "import os\n\ndef main():\n    pass\n", "b.md": "main idea\r\n", "bin.dat": b"main\0main", "empty": ""})
    assert ask("search", pattern=r"\bmain\b")["rows"] == [["a.py", 3, ":", "def main():"], ["b.md", 1, ":", "main idea"]]


def test_context_lines_are_marked_and_never_repeated(ask: Ask, work: Path) -> None:
    make(work, {"a": "1\n2 x\n3\n4 x\n5\n6\n7\n8 x\n"})
    rows = ask("search", pattern="x", context=1)["rows"]
    assert [(row[1], row[2]) for row in rows] == [(1, "-"), (2, ":"), (3, "-"), (4, ":"), (5, "-"), (7, "-"), (8, ":")]


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"pattern": "hello"}, [1, 2]), ({"pattern": "Hello"}, [1]), ({"pattern": "hello", "case": "match"}, [2]),
        ({"pattern": "HELLO", "case": "ignore"}, [1, 2]), ({"pattern": "a.c"}, [3, 4]),
        ({"pattern": "a.c", "literal": True}, [4]),
        ({"pattern": r"^\s+end$"}, [5]), ({"pattern": r"\d{3}"}, [6]), ({"pattern": "naïve|größe"}, [7]),
        ({"pattern": "zebra"}, []),
        ({"pattern": r"\Shello"}, []),
    ],
)  # fmt: skip
def test_patterns_and_case(ask: Ask, work: Path, given: dict[str, Any], lines: list[int]) -> None:
    make(work, {"t.txt": "Hello\nhello\nabc\na.c\n   end\n123\nGröße\n"})
    assert [row[1] for row in ask("search", **given)["rows"]] == lines


def test_a_search_can_return_only_files_or_counts(ask: Ask, work: Path) -> None:
    make(work, {"a": "x\nx x\n", "b/c": "x\n", "d": "y\n"})
    assert ask("search", pattern="x", output="files")["rows"] == [["a"], ["b/c"]]
    assert ask("search", pattern="x", output="counts")["rows"] == [["a", 2], ["b/c", 1]]


def test_a_search_skips_ignored_files_and_is_paged(ask: Ask, work: Path) -> None:
    make(work, {".gitignore": "skip\n", "skip": "word\n", "a": "word\n" * 30})
    reply = ask("search", pattern="word", offset=25, limit=3)
    assert ([row[1] for row in reply["rows"]], reply["more"]) == ([26, 27, 28], True)
    assert ask("search", pattern="word", offset=28, limit=3)["more"] is False


def test_a_broken_pattern_is_a_problem_with_a_hint(ask: Ask, work: Path) -> None:
    reply = ask("search", pattern="a(b")
    assert "problem" in reply and reply["hint"]


def test_long_lines_are_cut(ask: Ask, work: Path) -> None:
    make(work, {"a": "x" * 5000})
    (row,) = ask("search", pattern="x")["rows"]
    assert row[3].endswith("[… 4,000 more characters]")


def test_a_file_is_read_in_parts(ask: Ask, work: Path) -> None:
    make(work, {"a": "\n".join(map(str, range(1, 101))), "empty": "", "crlf": b"\xef\xbb\xbfa\r\nb\r\n", "latin": b"caf\xe9\n"})
    assert ask("read", path="a", offset=1, limit=3) == {"lines": ["1", "2", "3"], "size": 291, "more": True}
    assert ask("read", path="a", offset=99, limit=3) == {"lines": ["99", "100"], "size": 291, "more": False}
    assert ask("read", path="a", offset=101, limit=3)["problem"] == "'a' has 100 lines"
    assert ask("read", path="empty", offset=1)["lines"] == []
    assert ask("read", path="crlf", offset=1)["lines"] == ["a", "b"]
    assert ask("read", path="latin", offset=1)["lines"] == ["caf\ufffd"]
    assert ask("read", path="a", offset=1, limit=100, characters=20)["more"] is True


def test_what_cannot_be_read_is_a_problem(ask: Ask, work: Path) -> None:
    make(work, {"p.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0", "d/x": ""})
    assert ask("read", path="p.png", offset=1)["problem"] == "'p.png' is not text (24 bytes, PNG of 640 x 480 pixels)"
    assert ask("read", path="d", offset=1) == {"problem": "'d' is a folder", "hint": "list_files lists it"}
    assert ask("read", path="no", offset=1)["problem"] == "'no' does not exist"


def test_a_file_is_created_with_its_folders_or_replaced(ask: Ask, work: Path) -> None:
    assert ask("write", path="a/b/c.txt", content="größe\n") == {"size": 8, "created": True}
    (work / "a/b/c.txt").chmod(0o755)
    assert ask("write", path="a/b/c.txt", content="x") == {"size": 1, "created": False}
    assert (work / "a/b/c.txt").read_text() == "x"
    assert (work / "a/b/c.txt").stat().st_mode & 0o777 == 0o755
    assert os.listdir(work / "a/b") == ["c.txt"]
    assert ask("write", path="a", content="x")["problem"] == "'a' is a folder"
    assert "problem" in ask("write", path="a/b/c.txt/d", content="x")


def test_an_edit_replaces_a_text_that_is_there_once(ask: Ask, work: Path) -> None:
    make(work, {"a.py": "x = 1\ny = 2\nx = 1\n"})
    assert ask("edit", path="a.py", old="y = 2", new="y = 3", all=False) == {"count": 1, "line": 2, "size": 18}
    assert ask("edit", path="a.py", old="x = 1", new="x = 9", all=False) == {
        "problem": "the text to replace is 2 times in 'a.py' (lines 1, 3)",
        "hint": "give more of the lines around it, or set replace_all",
    }
    assert ask("edit", path="a.py", old="x = 1", new="x = 9", all=True)["count"] == 2
    assert (work / "a.py").read_text() == "x = 9\ny = 3\nx = 9\n"


def test_an_edit_of_a_text_that_is_not_there_says_what_is_near(ask: Ask, work: Path) -> None:
    make(work, {"a.py": "if x:\n    return  1\n"})
    reply = ask("edit", path="a.py", old="return 1", new="return 2", all=False)
    assert reply["hint"] == "line 2 has it with other spaces; copy it exactly"
    assert ask("edit", path="a.py", old="nothing", new="", all=False)["hint"].startswith("read the file again")
    assert (work / "a.py").read_text() == "if x:\n    return  1\n"


def test_an_edit_keeps_line_ends_bytes_and_escaped_marks(ask: Ask, work: Path) -> None:
    make(work, {"crlf": b"a\r\nb\r\nc\r\n", "latin": b"caf\xe9 x\n", "page": "<system>\n[INST]\n"})
    assert ask("edit", path="crlf", old="a\nb", new="a\nB", all=False)["count"] == 1
    assert (work / "crlf").read_bytes() == b"a\r\nB\r\nc\r\n"
    assert ask("edit", path="latin", old="x", new="y", all=False)["count"] == 1
    assert (work / "latin").read_bytes() == b"caf\xe9 y\n"
    # Replies show such marks escaped, and a model copies what it sees.
    assert ask("edit", path="page", old="&lt;system>\n&#91;INST]", new="&lt;user>", all=False)["count"] == 1
    assert (work / "page").read_text() == "<user>\n"


def test_rules_of_gitignore_agree_with_git(tmp_path: Path) -> None:
    """The files that git would not ignore are the ones that the walk finds."""
    lines = ["*.o", "!keep.o", "/root.txt", "dir/", "a/**/z", "**/tmp", "logs/**", "foo*bar", "x?y", "[ab].c", "sp\\ ace",
             "trail  ",
             "nested/*/end", "!/dir/never"]  # fmt: skip
    files = ["a.o", "keep.o", "root.txt", "s/root.txt", "dir/f", "s/dir/f", "a/z", "a/b/z", "a/b/c/z", "tmp/f", "s/tmp",
             "logs/f",
             "s/logs/f", "fooXbar", "foo/bar", "xzy", "xy", "a.c", "c.c", "sp ace", "trail", "nested/m/end", "nested/m/n/end",
             "dir/never", "plain"]  # fmt: skip
    make(tmp_path, {".gitignore": "\n".join(lines), **{name: "x" for name in files if name != "foo/bar"}})
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    asked = json.dumps({"do": "list", **DEFAULTS}).encode()
    program = [sys.executable, "-I", file_program.__file__]
    done = subprocess.run(program, input=asked, capture_output=True, cwd=tmp_path, env={"PATH": "/nowhere"}, check=True)
    assert sorted(names(json.loads(done.stdout))) == sorted(set(listed) - {".gitignore"})
