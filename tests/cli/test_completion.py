"""Shell completion: the scripts, and what Tab offers."""

from __future__ import annotations

import shutil
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


def test_files_of_a_skill_and_values_of_a_setting_are_offered(shell: Shell) -> None:
    folder = shell.skill("charts")
    (folder / "references").mkdir()
    (folder / "references/axes.md").write_text("Label them.\n")
    assert offered(shell, "metier skill read charts ref") == ["references/axes.md"]
    assert offered(shell, "metier skill resources charts r") == ["references"]
    assert offered(shell, "metier config set cache.enabled ") == ["true", "false"]
    assert offered(shell, "metier config set skills.max_active ") == ["3"]


def test_skills_are_offered_wherever_one_is_named(shell: Shell) -> None:
    shell.skill("charts")
    for line in ("skill lint", "skill scan", "skill validate", "skill fix"):
        # The second one stands for the files of the folder, which the shell adds.
        assert offered(shell, f"metier {line} cha") == ["charts", "cha"]
    for line in ("run --skill", "policy allow --skill", "policy deny --skill", "secret remove --skill", "agent skill add x"):
        assert offered(shell, f"metier {line} cha") == ["charts"]


def test_secrets_servers_and_sessions_are_offered(shell: Shell) -> None:
    shell.write_config('[skills.mcp.acme]\nurl = "https://mcp.example.com/mcp"\n')
    shell.skill("charts")
    shell("skill", "activate", "charts", "--session", "s-one")
    (shell.project / "value").write_text("abc")
    shell.environment |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    shell("secret", "set", "API_KEY", "--stdin", stdin=str(shell.project / "value"))
    assert offered(shell, "metier secret remove A") == ["API_KEY"]
    assert offered(shell, "metier skill run charts x --secret A") == ["API_KEY"]
    assert offered(shell, "metier mcp refresh a") == ["acme"]
    assert offered(shell, "metier skill activate charts --session s") == ["s-one"]


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("zsh", 'autoload -Uz compinit && compinit -u -D; eval "$(metier completion zsh)" && whence -w _metier_completion'),
        ("fish", "metier completion fish | source; complete -C 'metier skill show pdf'"),
    ],
)
def test_zsh_and_fish_load_their_scripts(shell: Shell, program: str, line: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    shell.skill("pdf-read")
    environment = {**shell.environment, "PATH": f"{METIER.rpartition('/')[0]}:/usr/bin:/bin"}
    done = subprocess.run(
        [program, "-c", line], env=environment, cwd=shell.project, capture_output=True, text=True, check=False, timeout=60
    )
    expected = "_metier_completion: function\n" if program == "zsh" else "pdf-read\n"
    assert (done.stdout, done.stderr) == (expected, "")
