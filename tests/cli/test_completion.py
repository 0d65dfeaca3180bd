"""Shell completion: the scripts, and what Tab offers."""

from __future__ import annotations

import subprocess

import pytest

from cli.shell import METIER, Shell


def offered(shell: Shell, line: str) -> list[str]:
    """Returns bash's completions at the end of this line."""
    words = line.split(" ")
    variables: dict[str, str | None] = {
        "_METIER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    ran = shell.run(variables=variables)
    assert ran.err == ""
    return [row.partition(",")[2] for row in ran.out.splitlines() if row]


@pytest.mark.parametrize(("name", "part"), [("bash", "complete "), ("zsh", "#compdef metier"), ("fish", "complete ")])
def test_each_shell_has_its_script(shell: Shell, name: str, part: str) -> None:
    script = shell("completion", name, PATH="/usr/bin:/bin").ok().out
    assert part in script
    assert "_METIER_COMPLETE" in script
    assert shell("completion", name, "--json", PATH="/usr/bin:/bin").data["script"].strip() == script.strip()


def test_the_bash_script_is_bash_and_completes(shell: Shell) -> None:
    shell.skill("pdf-read")
    script = shell("completion", "bash", PATH="/usr/bin:/bin").ok().out
    line = (
        f'{script}\nCOMP_WORDS=(metier skill show pdf); COMP_CWORD=3; COMP_LINE="metier skill show pdf"; '
        '_metier_completion "$METIER"; echo "${COMPREPLY[@]}"'
    )
    environment = {**shell.environment, "METIER": METIER, "PATH": f"{METIER.rpartition('/')[0]}:/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/bash", "-c", line], env=environment, cwd=shell.project, capture_output=True, text=True, timeout=30
    )
    assert (done.stdout, done.stderr) == ("pdf-read\n", "")


def test_commands_options_and_skills_are_offered(shell: Shell) -> None:
    shell.skill("pdf-read")
    shell.skill("pdf-write")
    assert {"skill", "config", "doctor"} <= set(offered(shell, "metier "))
    assert {"list", "show", "manage"} <= set(offered(shell, "metier skill "))
    assert offered(shell, "metier skill show pdf") == ["pdf-read", "pdf-write"]
    assert "hello-world" in offered(shell, "metier skill manage disable ")
    assert offered(shell, "metier skill list --state dis") == ["disabled"]
    assert "--json" in offered(shell, "metier skill list --")


def test_tab_stays_quiet_when_the_configuration_is_broken(shell: Shell) -> None:
    shell.write_config("[")
    assert offered(shell, "metier skill show ") == []


def test_values_of_arguments_are_offered(shell: Shell) -> None:
    folder = shell.skill("charts")
    (folder / "scripts").mkdir()
    (folder / "scripts/draw.py").write_text("print(1)\n")
    assert offered(shell, "metier skill install x --target claude-c") == ["claude-code"]
    assert offered(shell, "metier skill install x --target codex,claude-c") == ["codex,claude-code"]
    assert {"all-detected", "none"} <= set(offered(shell, "metier skill install x --target "))
    assert offered(shell, "metier skill remove charts --target curs") == ["cursor"]
    assert offered(shell, "metier config get skills.reg") == ["skills.registry"]
    assert "install.targets" in offered(shell, "metier config set install.")
    assert offered(shell, "metier skill explain SK10") == [f"SK10{digit}" for digit in range(1, 7)]
    assert offered(shell, "metier skill run charts d") == ["draw.py"]
    (shell.project / "help.md").write_text("Help.")
    shell("agent", "create", "helper", "--instructions", "help.md").ok()
    assert offered(shell, "metier agent show h") == ["helper"]


def test_sessions_and_conversations_are_offered(shell: Shell) -> None:
    shell.skill("charts")
    shell("skill", "activate", "charts", "--session", "s-one")
    assert offered(shell, "metier session show s-") == ["s-one"]
