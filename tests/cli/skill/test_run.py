"""`metier skill run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from metier.runtime import ContainerRunner, IsolationLevel, Runner

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
def test_a_script_that_times_out_ends_with_124(shell: Shell) -> None:
    script_skill(shell, "import time\ntime.sleep(600)\n")
    ran = shell("skill", "run", "tool", "go", "--timeout", "0.5", PATH=PATH)
    assert (ran.code, ran.err) == (124, "warning: timed out\n")


@confined
def test_standard_input_and_files_go_through_only_when_asked(shell: Shell, tmp_path: Path) -> None:
    script_skill(shell)
    (tmp_path / "in").write_text("given")
    assert '"given"' in shell("skill", "run", "tool", "go", "--stdin", stdin=str(tmp_path / "in"), PATH=PATH).out
    assert '""]' in shell("skill", "run", "tool", "go", stdin=str(tmp_path / "in"), PATH=PATH).out
    assert not (shell.project / "made.txt").exists()
    shell("skill", "run", "tool", "go", "-o", "made.txt", PATH=PATH)
    assert (shell.project / "made.txt").read_text() == "made"
    shell("skill", "run", "tool", "go", "-o", "made.txt", PATH=PATH).failed(6, "'made.txt' already exists")


@confined
def test_a_terminal_never_sees_an_escape_of_a_script(shell: Shell) -> None:
    script_skill(shell, "import sys\nprint('\\x1b]0;owned\\x07\\x1b[31mred\\x1b[0m')\nprint('\\x1b[2Jgone', file=sys.stderr)\n")
    _, text = shell.on_terminal("skill", "run", "tool", "go", "--no-workspace", PATH=PATH)
    assert "\x1b" not in text
    assert "red" in text
    assert "gone" in text


def test_a_script_that_cannot_run_is_one_sentence_and_a_hint(shell: Shell) -> None:
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
    shell("skill", "run", "tool", "go", "--network", "example.com").failed(
        5, "tool may not use Network(example.com)", "policy.deny"
    )


@pytest.mark.skipif(ContainerRunner().best() is None, reason="no container engine works here, see `metier doctor`")
def test_a_script_runs_in_a_container_if_the_settings_say_so(shell: Shell, tmp_path: Path) -> None:
    script_skill(shell)
    assert shell("config", "set", "sandbox.runner", "container").code == 0
    (tmp_path / "in").write_text("given")
    ran = shell("skill", "run", "tool", "go", "--json", "--stdin", "--", "3", "a b", stdin=str(tmp_path / "in"), PATH=PATH)
    assert (ran.data["exit_code"], ran.data["stdout"]) == (3, '[["3", "a b"], "given"]\n')
    assert (ran.data["isolation"]["level"], ran.data["isolation"]["engine"]) == ("namespace", "podman")
    assert ran.data["workspace"] is None
    shell("config", "set", "policy.network", "allow")
    granted = shell("skill", "run", "tool", "go", "--network", "example.com", "--json", PATH=PATH)
    assert granted.data["exit_code"] == 0


def test_a_timeout_above_the_setting_is_not_cut_silently(shell: Shell) -> None:
    folder = shell.skill("slow")
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts/run.sh").write_text("#!/bin/sh\necho done\n")
    shell("config", "set", "skills.script_timeout", "5").ok()
    ran = shell("skill", "run", "slow", "run", "--timeout", "10")
    ran.failed(2, "--timeout 10 is more than skills.script_timeout, 5 seconds", "metier config set skills.script_timeout 10")
