"""Running, activating and reading skills from the command line; sessions, policy, usage."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell, plain
from metier.cli.stats import bar, sparkline
from metier.runtime import IsolationLevel, Runner

BEST = Runner().best()
confined = pytest.mark.skipif(BEST is None or BEST.level is IsolationLevel.LIMITS, reason="this machine has no sandbox")
PATH = "/usr/local/bin:/usr/bin:/bin"
ECHO = """import json, os, sys
print(json.dumps([sys.argv[1:], sys.stdin.read()]))
print("problem", file=sys.stderr)
open(os.path.join(os.environ["HOME"], "made.txt"), "w").write("made")
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0)
"""


def script_skill(shell: Shell, source: str = ECHO, **options: Any) -> Path:
    folder = shell.skill("tool", **options)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "go.py").write_text(source)
    return folder


@confined
def test_a_script_runs_with_the_words_after_the_two_dashes(shell: Shell) -> None:
    script_skill(shell)
    ran = shell("skill", "run", "tool", "go", "--", "--json", "-x", "a b", PATH=PATH)
    assert ran.code == 0
    assert ran.out == '[["--json", "-x", "a b"], ""]\n'
    assert ran.err == "problem\n"


@confined
def test_the_exit_code_is_the_scripts_own(shell: Shell) -> None:
    script_skill(shell)
    assert shell("skill", "run", "tool", "scripts/go.py", "42", PATH=PATH).code == 42
    answer = shell("skill", "run", "tool", "go.py", "42", "--json", PATH=PATH)
    assert answer.code == 42
    assert (answer.data["exit_code"], answer.data["stderr"], answer.data["timed_out"]) == (42, "problem\n", False)
    assert answer.data["isolation"]["level"] in ("namespace", "landlock", "seatbelt")


@confined
def test_a_script_whose_time_is_up_ends_with_124(shell: Shell) -> None:
    script_skill(shell, "import time\ntime.sleep(60)\n")
    ran = shell("skill", "run", "tool", "go", "--timeout", "0.5", PATH=PATH)
    assert (ran.code, ran.err) == (124, "warning: its time was up\n")


@confined
def test_standard_input_and_files_go_through_only_when_asked(shell: Shell, tmp_path: Path) -> None:
    script_skill(shell)
    (tmp_path / "in").write_text("given")
    assert '"given"' in shell("skill", "run", "tool", "go", "--stdin", stdin=str(tmp_path / "in"), PATH=PATH).out
    assert '""]' in shell("skill", "run", "tool", "go", stdin=str(tmp_path / "in"), PATH=PATH).out
    assert not (shell.project / "made.txt").exists()
    shell("skill", "run", "tool", "go", "-o", "made.txt", PATH=PATH)
    assert (shell.project / "made.txt").read_text() == "made"
    shell("skill", "run", "tool", "go", "-o", "made.txt", PATH=PATH).failed(6, "'made.txt' exists here already")


@confined
def test_a_terminal_never_sees_an_escape_of_a_script(shell: Shell) -> None:
    script_skill(shell, "import sys\nprint('\\x1b]0;owned\\x07\\x1b[31mred\\x1b[0m')\nprint('\\x1b[2Jgone', file=sys.stderr)\n")
    _, text = shell.on_terminal("skill", "run", "tool", "go", PATH=PATH)
    assert "\x1b" not in text
    assert "red" in text
    assert "gone" in text


def test_what_cannot_be_run_is_one_sentence_and_a_hint(shell: Shell) -> None:
    folder = script_skill(shell, head="allowed-tools: Read")
    shell("skill", "run", "tool", "nope").failed(2, "the skill has no script 'nope'", "it has scripts/go.py")
    shell("skill", "run", "nope", "go").failed(3, "no skill is named 'nope'")
    shell("skill", "run", "tool", "go").failed(5, "the skill does not request it", "allowed-tools")
    shell("skill", "run", "tool", "../x").failed(5, "leaves the skill")
    (folder / "scripts" / "go.py").unlink()
    shell("skill", "run", "tool", "go").failed(2, "it has no scripts")


def test_a_denied_network_stays_denied_whatever_the_flag_says(shell: Shell) -> None:
    script_skill(shell)
    shell("policy", "deny", "Network").ok()
    shell("skill", "run", "tool", "go", "--network").failed(5, "tool may not use Network", "policy.deny")


def test_activate_prints_exactly_what_a_model_gets(shell: Shell) -> None:
    shell.skill("greet", body="Greet $ARGUMENTS, ${style}.", head="parameters:\n  style: {type: string, default: plainly}\n")
    ran = shell("skill", "activate", "greet", "Ada", "Byron", "-p", "style=warmly")
    assert ran.out == (
        '<skill_content name="greet">\nGreet Ada Byron, warmly.\n\n'
        f"Skill directory: {shell.skills}/greet\n"
        "Relative paths in this skill are relative to the skill directory.\n</skill_content>\n"
    )
    assert ran.err.endswith("tokens\n")
    assert (
        shell("skill", "activate", "greet", "x", "--json").data["text"] + "\n" == shell("skill", "activate", "greet", "x").out
    )
    assert not (shell.metier / "sessions.sqlite").exists()


def test_parameters_come_from_the_configuration_too(shell: Shell) -> None:
    shell.skill("greet", body="Do it ${style}.", head="parameters:\n  style: {type: string, default: plainly}\n")
    shell.write_config('[skills.parameters.greet]\nstyle = "formally"\n')
    assert "Do it formally." in shell("skill", "activate", "greet").out
    shell("skill", "activate", "greet", "-p", "size=3").failed(2, "unknown parameter 'size'")
    shell("skill", "activate", "greet", "-p", "size").failed(2, "is not of the form NAME=VALUE")


def test_a_session_is_kept_shown_and_cleared(shell: Shell) -> None:
    for name in ("a", "b"):
        shell.skill(name)
    assert shell("session", "list").ok().out == "no session is kept yet\n"
    shell("skill", "activate", "a", "--session", "work", "--pin")
    shell("skill", "activate", "b", "--session", "work", "--mode", "persistent")
    again = shell("skill", "activate", "a", "--session", "work")
    assert again.out == "The skill a is already active; follow the instructions that were given before.\n"
    [kept] = shell("session", "list", "--json").data["sessions"]
    assert (kept["id"], [row["name"] for row in kept["active"]]) == ("work", ["a", "b"])
    shown = shell("session", "show", "work").ok().out
    assert "by user, bounded, pinned" in shown
    assert "by user, persistent" in shown
    shell("session", "show", "other").failed(3, "no session is named 'other'")
    shell("session", "clear").failed(2, "name one session, or say --all")
    assert shell("session", "clear", "work").ok().out == "cleared work\n"
    assert shell("session", "clear", "--all").ok().out == "there was nothing to clear\n"


def test_a_damaged_store_is_told_once_and_set_aside(shell: Shell) -> None:
    shell.metier.mkdir(parents=True)
    (shell.metier / "sessions.sqlite").write_bytes(b"no database")
    ran = shell("session", "list")
    assert ran.code == 0
    assert "was damaged and has been set aside" in ran.err
    shell("session", "list").ok()
    assert list(shell.metier.glob("sessions.sqlite.damaged-*"))


def test_resources_are_listed_and_read_byte_for_byte(shell: Shell) -> None:
    folder = shell.skill("doc")
    (folder / "references").mkdir()
    (folder / "references" / "a.md").write_bytes("é\n\tx".encode())
    (folder / "logo.png").write_bytes(b"\x89PNG\xff")
    assert shell("skill", "resources", "doc").ok().out == "logo.png         5 bytes\nreferences/a.md  5 bytes\n"
    assert [row["path"] for row in shell("skill", "resources", "doc", "references", "--json").data["files"]] == [
        "references/a.md"
    ]
    assert shell("skill", "read", "doc", "references/a.md").ok().raw == "é\n\tx".encode()
    shell("skill", "read", "doc", "logo.png").failed(5, "is not text (5 bytes)")
    assert base64.b64decode(shell("skill", "read", "doc", "logo.png", "--json").data["base64"]) == b"\x89PNG\xff"
    shell("skill", "read", "doc", "../../../etc/passwd").failed(5, "leaves the skill")
    shell("skill", "read", "doc", "nope.md").failed(3, "no file 'nope.md'")


def test_the_policy_is_shown_and_changed(shell: Shell) -> None:
    shell.skill("net")
    assert (
        shell("policy", "show").ok().out
        == "scripts   allow\nnetwork   ask\ntoolsets  ask\ntools     ask\nsandbox   at least landlock\n"
    )
    shell("policy", "allow", "Bash(git:*)", "Read").ok()
    shell("policy", "deny", "Read").ok()
    shell("policy", "allow", "Network", "--skill", "net").ok()
    data = shell("policy", "show", "--json").data
    assert (data["allow"], data["deny"]) == (["Bash(git:*)"], ["Read"])
    assert data["approvals"] == [{"skill": "net", "pattern": "Network", "holds": True}]
    assert 'allow = ["Bash(git:*)"]' in shell.config.read_text()


def test_an_approval_ends_when_the_skill_changes(shell: Shell) -> None:
    folder = shell.skill("net")
    shell("policy", "allow", "Network", "--skill", "net").ok()
    (folder / "new.md").write_text("changed")
    assert "approved  net: Network  ended: the skill has changed" in plain(shell("policy", "show").out)
    assert shell("policy", "deny", "--skill", "net").ok().out == "1 approvals of net were taken back\n"


@pytest.mark.parametrize(("words", "said"), [
    (("policy", "allow", "two words"), "is not a tool pattern"), (("policy", "deny"), "name a pattern"),
    (("policy", "allow"), "Missing argument"),
])  # fmt: skip
def test_a_policy_that_makes_no_sense_is_a_usage_error(shell: Shell, words: tuple[str, ...], said: str) -> None:
    shell(*words).failed(2, said)


def test_a_policy_word_that_means_nothing_names_its_line(shell: Shell) -> None:
    shell.write_config('[policy]\nnetwork = "perhaps"\n')
    shell("policy", "show").failed(2, "policy.network is 'perhaps', not one of allow, ask, deny", "config.toml:2")


def test_a_project_cannot_write_the_users_policy(shell: Shell) -> None:
    project = shell.project / ".metier"
    project.mkdir()
    (project / "config.toml").write_text('[policy]\nallow = ["*"]\nnetwork = "allow"\n[sandbox]\nrequire = "off"\n')
    shell("trust").ok()
    data = shell("policy", "show", "--json").data
    assert (data["allow"], data["network"], data["sandbox"]) == ([], "ask", "landlock")


def test_stats_draw_what_was_used(shell: Shell) -> None:
    assert shell("stats").ok().out == "nothing was used in the last 14 days\n"
    shell.skill("big", body="word " * 2_000)
    shell.skill("small")
    for name in ("big", "small"):
        shell("skill", "activate", name, "--session", "work")
    out = shell("stats", "--days", "3").ok().out
    assert "··█  2 activations" in out
    assert out.index("big ") < out.index("small ")
    data = shell("stats", "--json").data
    assert data["skills"]["small"]["activations"] == 1
    assert data["total"]["activations"] == 2
    assert shell("stats", "--session", "other", "--json").data["total"]["activations"] == 0


def test_charts_are_honest() -> None:
    assert sparkline([0, 1, 4, 8]) == "·▁▄█"
    assert (bar(8, 8, 4), bar(4, 8, 4), bar(1, 800, 4), bar(0, 8, 4)) == ("████", "██", "▏", "")


def test_a_toolset_is_offered_to_the_person_at_the_terminal(shell: Shell) -> None:
    folder = shell.skill("hello", head="toolsets: ['toolsets/index:hi']")
    (folder / "toolsets").mkdir()
    (folder / "toolsets" / "index.py").write_text("def hi() -> str:\n    return 'hi'\n")
    child = shell.terminal("skill", "activate", "hello", "--session", "s")
    child.expect("hello wants to use Toolset")
    child.sendline("a")
    child.expect("</skill_content>")
    child.wait()
    child.close()
    assert shell("policy", "show", "--json").data["approvals"][0]["pattern"] == "Toolset(toolsets/index:hi)"
    assert (
        "metier policy allow"
        in shell("skill", "activate", "hello", METIER_HOME=str(shell.home / "other"), SKILLS_DIR=str(shell.skills)).err
    )
