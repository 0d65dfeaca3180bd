"""The table of programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from metier.runtime.policy.code_checks import CHECKS, check_code
from metier.runtime.policy.programs import PROGRAMS, Operands, Program, find_program

COMMON = """git sed awk gawk mawk find fd xargs tar zip unzip ssh scp sftp rsync curl wget sort uniq tee dd cp mv ln install env
nice nohup timeout time sudo doas su setsid stdbuf chroot unshare watch parallel script sh bash zsh dash ksh fish python python3
node deno bun ruby perl php lua go cargo npm npx pnpm yarn pip pipx uv uvx poetry make cmake ninja gradle mvn docker podman
kubectl helm terraform aws gcloud gh systemctl crontab at vim vi nano emacs less more man grep rg
jq openssl gpg sqlite3 psql mysql ffmpeg convert tput ls cat head tail wc echo printf test pwd date hostname id"""


def all_rows(programs: tuple[Program, ...] = PROGRAMS) -> Iterator[Program]:
    for program in programs:
        yield program
        yield from all_rows(program.commands)


@pytest.mark.parametrize("name", COMMON.split())
def test_the_common_programs_are_in_the_table(name: str) -> None:
    assert find_program(name) is not None
    assert find_program(f"/usr/bin/{name}") is find_program(name)


def test_a_program_has_one_row() -> None:
    doubles = [name for name, number in Counter(name for row in PROGRAMS for name in row.names.split()).items() if number > 1]
    assert doubles == []


def test_a_version_in_the_name_is_ignored_and_other_names_are_unknown() -> None:
    assert find_program("python3.12") is find_program("python")
    assert find_program("git.exe") is find_program("git")
    assert find_program("mytool") is None
    assert find_program("") is None


def test_every_option_is_written_in_the_notation_of_the_table() -> None:
    wrong = [
        (row.names, token)
        for row in all_rows()
        for token in f"{row.safe} {row.starts} {row.writes} {row.code}".split()
        if not re.fullmatch(r"[-+][^=]*[=:?*]?", token)
    ]
    assert wrong == []


def test_options_of_a_cluster_never_take_a_value_together() -> None:
    """`-abc:` would give all three a value and hide the letters that follow."""
    wrong = [
        (row.names, token)
        for row in all_rows()
        if not row.long_dash
        for token in row.safe.split()
        if re.fullmatch(r"-[^-]{2,}[:?*]", token)
    ]
    assert wrong == []


def test_a_wrapper_whose_options_differ_between_versions_has_no_options_with_a_value() -> None:
    wrong = [
        row.names
        for row in PROGRAMS
        if row.operands is Operands.COMMAND and len(row.names.split()) > 3 and re.search(r"-\w:", row.safe)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("check", "text", "expected"),
    [
        ("sed_script", "s/a/b/g", True),
        ("sed_script", "1,$p", True),
        ("sed_script", "s/a/b/e", False),
        ("sed_script", "s/a/b/;e", False),
        ("sed_script", "s,a,b,w x", False),
        ("sed_script", "/a/{e id\n}", False),
        ("sed_script", "a text", False),
        ("sed_script", "p\ne id", False),
        ("awk_program", "{print $1}", True),
        ("awk_program", "{print > $1}", False),
        ("awk_program", "{ s = s $1 } END { print s }", True),
        ("awk_program", 'BEGIN { cmd = "id"; cmd | getline }', False),
        ("awk_program", '@include "x"', False),
        ("git_operand", "ext::id", False),
        ("git_operand", "https://example.com/x", True),
        ("date_operand", "+%s", True),
        ("date_operand", "0101", False),
    ],
)
def test_code_is_harmless_only_if_that_is_certain(check: str, text: str, expected: bool) -> None:
    assert check_code(check, text) is expected


def test_every_check_that_a_row_names_exists() -> None:
    assert {row.check for row in all_rows()} - {"", "tar_words"} <= set(CHECKS)
