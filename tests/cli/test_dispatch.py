"""Words to a command: the envelope, the exit codes, and errors as one sentence and a hint, whatever is typed."""

from __future__ import annotations

import json
import os
import shlex
from importlib import import_module

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.shell import Ran, Shell
from metier.cli.core import dispatch
from metier.cli.core.commands import ALIASES, GROUPS, SECTIONS, expand_words, find_command

# Exit codes, each with a command that ends with it: 0 ok, 1 problems found, 2 usage, 3 not found, 5 refused, 6 conflict.
# 130 and 141 are in test_main; 4 (unavailable) is for networks, and no command here waits for one.
EXITS = [
    (0, "", ("skill", "list")),
    (1, "", ("skill", "validate", "broken")),
    (1, "invalid-skill", ("skill", "create", "new", "-f", "{skills}/broken/SKILL.md")),
    (1, "invalid-skill", ("skill", "show", "broken", "--body")),
    (2, "usage", ("nonsense",)),
    (2, "usage", ("skill", "nonsense")),
    (2, "usage", ("skill", "list", "--nonsense")),
    (2, "usage", ("skill", "list", "--limit", "0")),
    (2, "usage", ("skill", "list", "--limit", "many")),
    (2, "usage", ("skill", "list", "--state", "asleep")),
    (2, "usage", ("skill", "create")),
    (2, "usage", ("skill", "create", "new")),
    (2, "usage", ("skill", "create", "new", "-d", " ")),
    (2, "usage", ("skill", "create", "new", "-d", "x" * 1025)),
    (2, "usage", ("skill", "create", "new", "-d", "x", "--project", "--dir", ".")),
    (2, "bad-name", ("skill", "create", "Bad Name", "-d", "x")),
    (2, "usage", ("skill", "delete", "pdf")),
    (2, "usage", ("skill", "show", "--body")),
    (2, "usage", ("completion", "tcsh")),
    (2, "usage", ("config", "set", "skills.max_depth", "1", "2")),
    (2, "bad-config", ("config", "set", "skills.max_depth", "deep")),
    (2, "bad-config", ("config", "set", "skills.max_depth", "0")),
    (2, "usage", ("config", "set", "skills.sources", "x")),
    (3, "skill-not-found", ("skill", "show", "pfd")),
    (3, "skill-not-found", ("skill", "validate", "nope")),
    (3, "not-found", ("skill", "validate", "./nope")),
    (3, "not-found", ("skill", "validate")),
    (3, "not-found", ("skill", "explain", "SK999")),
    (3, "not-found", ("skill", "create", "new", "-f", "nope")),
    (3, "not-found", ("trust", "nope")),
    (3, "not-found", ("config", "get", "skills.nope")),
    (3, "not-found", ("config", "set", "skills.nope", "1")),
    (3, "ambiguous", ("skill", "delete", "twice", "--yes")),
    (5, "refused", ("skill", "delete", "hello-world", "--yes")),
    (5, "refused", ("skill", "fix", "hello-world")),
    (5, "refused", ("skill", "show", "local")),
    (5, "refused", ("config", "set", "--project", "skills.deny", "x")),
    (6, "conflict", ("skill", "create", "pdf", "-d", "x")),
]  # fmt: skip


@pytest.fixture
def furnished(shell: Shell) -> Shell:
    shell.skill("pdf")
    shell.skill("twice")
    shell.skill("twice", root=shell.metier / "plugins")
    shell.skill("broken", data=b"no frontmatter")
    shell.skill("local", root=shell.project / ".metier/skills")
    return shell


@pytest.mark.parametrize(
    ("code", "name", "words"), EXITS, ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else ""
)
def test_every_exit_code_means_one_thing(furnished: Shell, code: int, name: str, words: tuple[str, ...]) -> None:
    folder = furnished.bin if words == ("skill", "validate") else None
    words = tuple(word.replace("{skills}", str(furnished.skills)) for word in words)
    text = furnished(*words, folder=folder)
    program = furnished(*words, "--json", folder=folder)
    assert (text.code, program.code) == (code, code), (text, program)
    assert program.err == ""
    if not name:
        assert program.envelope["ok"]
        return
    text.failed(code)
    assert program.error["code"] == name
    assert f"error: {program.error['message']}\n" in text.err
    assert text.err.endswith(f"hint: {program.error['hint']}\n")


def test_a_near_miss_is_answered_with_the_word_that_was_meant(furnished: Shell) -> None:
    furnished("skil").failed(2, "did you mean `metier skill`?")
    furnished("skill", "lst").failed(2, "did you mean `metier skill list`?")
    furnished("skill", "show", "pfd").failed(3, "did you mean 'pdf'?")
    furnished("config", "get", "skills.denny").failed(3, "did you mean 'skills.deny'?")
    furnished("skill", "create", "My PDF_Tool!", "-d", "x").failed(2, "try 'my-pdf-tool'")


def test_the_envelope_names_the_command_that_was_typed(shell: Shell) -> None:
    for words in (
        ("skill", "list"),
        ("skill", "manage", "list"),
        ("skill", "manage", "enable", "hello-world"),
        ("config", "path"),
    ):
        name = " ".join(words).removesuffix(" hello-world")
        assert shell(*words, "--json").envelope["command"] == name
    assert shell("skill", "manage", "enable", "nope", "--json").envelope["command"] == "skill manage enable"
    assert shell("skill", "manage", "enable", "--json").envelope["command"] == "skill manage enable"


def test_warnings_are_in_the_envelope_or_on_stderr(shell: Shell) -> None:
    for number in range(3):
        shell.skill("deep", root=shell.skills / f"a{number}")
    ran = shell("skill", "list", METIER_SKILLS_MAX_DIRECTORIES="1")
    assert ran.code == 0
    assert ran.err.startswith("warning: ")
    ran = shell("skill", "list", "--json", METIER_SKILLS_MAX_DIRECTORIES="1")
    assert ran.err == ""
    assert "raise skills.max_directories" in ran.envelope["warnings"][0]


def test_an_error_is_json_too_when_a_format_asked_for_it(shell: Shell) -> None:
    for words in (("--format", "json"), ("--format=json",), ("--json",)):
        ran = shell("skill", "validate", "nope", *words)
        assert (ran.code, ran.error["code"]) == (3, "skill-not-found")


def test_an_invalid_skill_is_reported_with_its_problems(furnished: Shell) -> None:
    words = ("skill", "create", "new", "-f", str(furnished.skills / "broken/SKILL.md"))
    problems = furnished(*words, "--json").error["problems"]
    assert [problem["code"] for problem in problems] == ["SK005"]
    assert {"code", "severity", "message", "hint", "file", "line", "column"} <= problems[0].keys()
    furnished(*words).failed(1, "SK005")


def test_values_that_json_has_no_word_for_are_written_as_text(shell: Shell) -> None:
    shell.write_config('[[skills.plugins]]\nurl = "https://example.org"\ninstalled_at = 2024-01-05T10:30:00Z\n')
    plugins = shell("config", "get", "skills.plugins", "--json").data["value"]
    assert plugins == [{"url": "https://example.org", "installed_at": "2024-01-05 10:30:00+00:00"}]
    assert shell("config", "show", "--json").data["settings"]["skills.plugins"]["value"] == plugins


def test_numbers_that_json_has_no_word_for_do_not_reach_a_program(shell: Shell) -> None:
    shell.skill("odd", head="parameters:\n  x:\n    default: .nan\n  y:\n    default: .inf")
    assert shell("skill", "show", "odd", "--json").envelope


def test_an_empty_skills_dir_is_an_unset_variable_and_not_this_folder(shell: Shell) -> None:
    shell.skill("local", root=shell.project / ".metier/skills")
    assert shell.listed("--skills-dir", "") == {"local": "untrusted"}
    assert shell.listed(SKILLS_DIR="") == {"local": "untrusted"}


def test_a_skills_dir_replaces_the_projects_own_and_is_trusted(shell: Shell) -> None:
    shell.skill("local", root=shell.project / ".metier/skills")
    shell.skill("other", root=shell.project / "mine")
    assert shell.listed("--skills-dir", "mine") == {"other": "enabled"}
    assert shell.listed(SKILLS_DIR="mine") == {"other": "enabled"}


def test_an_internal_error_is_one_sentence_and_a_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(dispatch, "root_command", broken)
    assert dispatch.run(["skill"]) == 70
    monkeypatch.setenv("METIER_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        dispatch.run(["skill"])


@pytest.mark.parametrize("location", sorted({row[0] for rows in GROUPS.values() for row in rows.values() if row[0]}))
def test_every_row_of_the_table_is_a_click_command_with_the_common_options(location: str) -> None:
    module, _, attribute = location.partition(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, click.Command)
    assert {"skills_dir", "as_json"} <= {each.name for each in found.params}
    assert found.help


# Random words

_COMMANDS = [
    (*group.split(), name)
    for group, rows in GROUPS.items()
    for name in rows
    # Runs until it is stopped.
    if (group, name) != ("registry", "serve")
]
_WORDS = st.one_of(
    st.sampled_from([
        "--json", "--help", "--limit", "--state", "--source", "--tag", "--files", "--body", "--yes", "--edit",
        "--project", "--dir", "-f", "-d", "-t", "--template", "--format", "--verdict", "--dry-run", "--remove",
        "--list", "--skills-dir", "--", "-", "", ".", "..", "enabled", "user", "json", "sarif", "github", "strict",
        "basic", "script", "1", "-1", "999999999999999999999", "pdf", "hello-world", "SK101", "skills.deny",
        "skills.dir", "cache.enabled", "true", "bash", "zsh", "*", "[", "~", "SKILL.md", "/dev/null", "a/b",
        "\x1b[31mred", "\udcff\udcfe", "x" * 5000, "技能", "--limit=3", "--format=json", "--nope", "-x", "\n",
    ]),
    # Without slashes: `skill fix /` would really run.
    st.text(st.characters(exclude_characters="\0/~", exclude_categories=["Cs"]), max_size=12),
)  # fmt: skip


@given(command=st.sampled_from(_COMMANDS), words=st.lists(_WORDS, max_size=4))
@settings(
    max_examples=250,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_is_typed_no_traceback_and_no_mistake(furnished: Shell, command: tuple[str, ...], words: list[str]) -> None:
    ran = furnished(*command, *words, EDITOR="false", METIER_HOME=str(furnished.home / "fuzz"))
    _assert_clean(ran)


def _assert_clean(ran: Ran) -> None:
    assert ran.code in (0, 1, 2, 3, 4, 5, 6), ran
    both = ran.raw + ran.raw_err
    assert b"Traceback" not in both, ran
    assert b"Internal error" not in both, ran
    assert b"\x1b" not in both, ran
    if ran.code and not ran.raw:
        ran.failed(ran.code)
    if "--json" in ran.words and "--help" not in ran.words and ran.raw.startswith(b'{"version"'):
        assert ran.envelope["ok"] in (True, False)


# Whatever lies there


def _hostile(shell: Shell) -> None:
    skills = shell.skills
    shell.skill("binary", data=bytes(range(256)) * 40)
    shell.skill("nul", data=b"---\nname: nul\x00\ndescription: x\n---\n")
    shell.skill("huge", data=b"---\nname: huge\ndescription: x\n---\n" + b"x" * 2_000_000)
    shell.skill("huge-head", data=b"---\nname: huge-head\ndescription: " + b"x" * 200_000 + b"\n---\n")
    shell.skill("deep", data=b"---\nname: deep\ndescription: x\nmetadata: " + b"[" * 3000 + b"\n---\n")
    shell.skill("bomb", data=b"---\na: &a [1,1]\nb: &b [*a,*a]\nname: bomb\ndescription: *b\n---\n")
    (skills / "folder/SKILL.md").mkdir(parents=True)
    (skills / "pipe").mkdir()
    os.mkfifo(skills / "pipe/SKILL.md")
    (skills / "away").mkdir()
    (skills / "away/SKILL.md").symlink_to("/etc/passwd")
    (skills / "loop").symlink_to(skills / "loop")
    (skills / "lower").mkdir()
    (skills / "lower/skill.md").write_text("---\nname: lower\ndescription: x\n---\n")
    shell.skill(
        "escape",
        data=b'---\nname: "escape\\e[31m\\e]0;title\\a"\ndescription: "red \\e[2J\\x9b31m \\u202e\\r\\nnext"\n---\n\x1b[2Jbody',
    )
    shell.skill("evil\x1b[2J\r\nname", data=b"nothing")
    odd = os.fsencode(skills) + b"/odd-\xff\xfe"
    os.mkdir(odd)
    with open(odd + b"/SKILL.md", "wb") as stream:
        stream.write(b"---\nname: odd\ndescription: Bytes. Use when odd.\n---\n")
    shell.skill("wide", description="技能" * 200)
    shell.skill("good")


HOSTILE = [
    ("skill", "list"), ("skill", "list", "--tag", "x"), ("skill", "show"), ("skill", "validate", "{skills}"),
    ("skill", "lint", "{skills}"), ("skill", "fix", "--dry-run", "{skills}"),
    ("skill", "validate", "{skills}", "--format", "sarif"),
    ("skill", "validate", "{skills}", "--format", "github"), ("skill", "validate", "{skills}", "--verdict", "lenient"),
    ("skill", "validate", "{skills}", "--verdict", "compat"), ("doctor",), ("skill", "fix", "{skills}"),
]  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE, ids=" ".join)
def test_one_bad_skill_hides_no_other_and_moves_no_cursor(shell: Shell, words: tuple[str, ...]) -> None:
    _hostile(shell)
    words = tuple(word.replace("{skills}", str(shell.skills)) for word in words)
    for more in ((), ("--json",)):
        if more and "--format" in words:
            continue
        ran = shell(*words, *more)
        assert ran.code in (0, 1), ran
        assert b"Traceback" not in ran.raw_err
        for control in (b"\x1b", b"\x07", b"\r", b"\xc2\x9b", "\u202e".encode()):
            assert more or control not in ran.raw + ran.raw_err, control
        assert b"\x1b" not in ran.raw
        assert b"good" in ran.raw or "--tag" in words or "--format" in words or "doctor" in words
        if more:
            assert ran.envelope["ok"]


def test_every_hostile_folder_has_its_line_and_its_reason(shell: Shell) -> None:
    _hostile(shell)
    rows = {row["folder"].rpartition("/")[2]: row for row in shell("skill", "list", "--json").data["skills"]}
    assert rows["good"]["state"] == "enabled"
    for name in ("binary", "nul", "huge", "huge-head", "deep", "folder", "pipe", "away", "lower"):
        assert (rows[name]["state"], bool(rows[name]["reason"])) == ("skipped", True), name
    assert "\udcff" in json.dumps(rows, ensure_ascii=False)


@pytest.mark.parametrize("name", ["binary", "folder", "pipe", "away", "lower", "huge", "deep"])
def test_every_hostile_folder_can_be_asked_about(shell: Shell, name: str) -> None:
    _hostile(shell)
    for command in ("show", "validate", "lint", "fix", "disable", "enable"):
        for more in ((), ("--json",)):
            ran = shell("skill", command, name, *more)
            assert ran.code in (0, 1), ran
            assert b"Traceback" not in ran.raw_err
    assert shell("skill", "delete", name, "--yes").code == 0
    assert not (shell.skills / name).exists()


def test_a_name_full_of_escapes_is_reported_without_them(shell: Shell) -> None:
    _hostile(shell)
    names = [row["name"] for row in shell("skill", "list", "--json").data["skills"] if "\x1b" in row["name"]]
    assert len(names) == 2
    for name in names:
        for words in (("show",), ("disable",), ("enable",), ("validate",), ("delete",), ("delete", "--yes")):
            ran = shell("skill", words[0], name, *words[1:])
            assert ran.code in (0, 1, 2), ran
            assert b"\x1b" not in ran.raw + ran.raw_err
            assert b"\r" not in ran.raw + ran.raw_err


def test_a_body_full_of_escapes_is_whole_in_a_pipe_and_tame_on_a_terminal(shell: Shell) -> None:
    shell.skill("wild", body="one\x1b[2Jtwo\n\tthree\n")
    assert shell("skill", "show", "wild", "--body").ok().out == "one\x1b[2Jtwo\n\tthree\n"
    code, text = shell.on_terminal("skill", "show", "wild", "--body")
    assert code == 0
    assert "\x1b[2J" not in text
    assert "[2Jtwo" in text


def _all_commands() -> list[str]:
    return sorted(f"{group} {name}".strip() for group, names in GROUPS.items() for name in names)


def test_other_names_run_the_command_that_people_mean(furnished: Shell) -> None:
    listing = furnished("skill", "list", "--json").data
    for typed in (("ls",), ("list",), ("skill", "ls"), ("skills", "list"), ("--json", "list")):
        ran = furnished(*typed, *(() if "--json" in typed else ("--json",)))
        assert (ran.data, ran.envelope["command"]) == (listing, "skill list")
    for typed in (("rm",), ("uninstall",), ("remove",), ("skill", "rm"), ("skill", "uninstall")):
        assert furnished(*typed, "nope", "--json").envelope["command"] == "skill remove"
    for typed in (("new",), ("init",), ("skill", "new"), ("skill", "init")):
        assert furnished(*typed, "pdf", "-d", "x", "--json").envelope["command"] == "skill create"
    for typed in (("add",), ("install",), ("skill", "add")):
        assert furnished(*typed, "./nope", "--json").envelope["command"] == "skill install"


def test_every_other_name_leads_to_a_command_and_hides_none() -> None:
    for group, names in ALIASES.items():
        for alias, full in names.items():
            path, _, name = full.rpartition(" ")
            assert name in GROUPS[path], full
            assert alias not in GROUPS[group], alias


def test_help_and_version_are_answered_however_they_are_asked_for(shell: Shell) -> None:
    version = shell("--version").ok().out
    assert [shell(*words).ok().out for words in (("-V",), ("version",))] == [version] * 2
    page = shell("skill", "install", "--help").ok().out
    for words in (("skill", "install", "-h"), ("install", "-h"), ("help", "install"), ("help", "skill", "install")):
        assert shell(*words).ok().out == page
    page = shell("skill", "--help").ok().out
    for asked in (("skill",), ("skill", "-h"), ("skill", "help"), ("help", "skill")):
        assert shell(*asked).ok().out == page
    assert shell("help").ok().out == shell().ok().out == shell("-h").ok().out


def test_a_wrong_word_is_answered_with_the_right_command_or_with_none(shell: Shell) -> None:
    for word, meant in (
        ("lint", "`metier skill lint`"),
        ("show", "`metier skill show`"),
        ("uninstal", "`metier skill remove`"),
        ("serve", "`metier mcp serve` or `metier registry serve`"),
        ("chatt", "`metier chat`"),
    ):
        shell(word).failed(2, f"did you mean {meant}?")
    for word in ("frobnicate", "deploy", "x"):
        shell(word).failed(2, "hint: see `metier --help`")


def test_a_long_help_page_lists_every_command_once_by_task() -> None:
    for group, sections in SECTIONS.items():
        names = [name for _, section in sections for name in section]
        shown = [find_command(group, name) for name in names]
        assert len(set(shown)) == len(shown)
        assert {(group, name) for name in GROUPS[group]} <= set(shown)


@pytest.mark.parametrize("name", ["", *_all_commands()])
def test_every_help_page_has_two_examples_that_can_be_typed(shell: Shell, name: str) -> None:
    page = shell(*name.split(), "--help").ok().out
    examples = [line.strip() for line in page.partition("\nExamples:\n")[2].split("\n\n")[0].splitlines()]
    assert len(set(examples)) == 2
    assert "--skills-dir PATH" not in page or not name
    for example in examples:
        words = shlex.split(example.rpartition(" | ")[2].partition(" >> ")[0].partition(" < ")[0])
        if words[0] == "metier":
            _parse(expand_words(words[1:]))


def _parse(words: list[str]) -> None:
    """Parses a command line without running it; click raises what it does not understand."""
    command: click.Command = dispatch.root_command()
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    if not isinstance(command, click.Group):
        command.make_context(command.name, words)
