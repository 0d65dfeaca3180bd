"""The program as a process: streams, signals, locales, and homes that are not there."""

from __future__ import annotations

import json
import os
import pwd
import resource
import signal
import subprocess
import sys
import time

import pexpect
import pytest

from cli.shell import Shell
from metier import __version__
from metier.cli.core.commands import DEFAULTS, GROUPS


def test_the_version_is_printed(shell: Shell) -> None:
    assert shell.run("--version").ok().out == f"metier {__version__}\n"


def test_the_module_is_the_same_program(shell: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "metier", "--version"], env=shell.environment, cwd=shell.project, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"metier {__version__}\n"


@pytest.mark.parametrize(("given", "ours"), [("None", True), ("['--version']", False)])
def test_only_a_process_of_our_own_is_tuned(given: str, ours: bool) -> None:
    code = (
        "import gc, sys; from metier.cli.main import main; before = gc.get_threshold(), gc.get_freeze_count()\n"
        f"sys.argv = ['metier', '--version']; main({given})\n"
        "print(gc.get_threshold() != before[0], gc.get_freeze_count() > before[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{ours} {ours}"


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_the_first_page_names_every_command(shell: Shell, words: tuple[str, ...]) -> None:
    page = shell(*words).ok().out
    for name, (_, text) in GROUPS[""].items():
        assert name in page
        assert text in page


@pytest.mark.parametrize("group", sorted(GROUPS.keys() - DEFAULTS.keys()))
def test_a_group_alone_is_a_question_and_its_page_the_answer(shell: Shell, group: str) -> None:
    page = shell(*group.split()).ok().out
    assert page == shell(*group.split(), "--help").ok().out
    assert all(name in page for name in GROUPS[group])


@pytest.mark.parametrize(
    "words", [(*group.split(), name) for group, rows in GROUPS.items() for name in rows], ids=" ".join
)  # fmt: skip
def test_every_command_has_a_page(shell: Shell, words: tuple[str, ...]) -> None:
    page = shell(*words, "--help").ok().out
    assert page.startswith(f"Usage: metier {' '.join(words)} ")
    assert "--help" in page


def test_every_command_takes_json(shell: Shell) -> None:
    for group, rows in GROUPS.items():
        for name, (module, _) in rows.items():
            if module:
                assert "--json" in shell(*group.split(), name, "--help").out


def test_every_command_starts_as_a_real_process(shell: Shell) -> None:
    """Catches an import at the wrong time, which a fork of a warm Python would hide."""
    shell.skill("pdf")
    for words in (
        ("skill", "create", "mine", "-d", "Does it. Use when asked."), ("skill", "list"), ("skill", "show"),
        ("skill", "show", "pdf"),
        ("skill", "validate", "pdf"), ("skill", "lint", "pdf"), ("skill", "fix", "pdf"), ("skill", "explain", "SK101"),
        ("skill", "disable", "pdf"), ("skill", "enable", "pdf"), ("skill", "manage", "list"),
        ("skill", "delete", "mine", "--yes"),
        ("trust",), ("config", "show"), ("config", "set", "skills.deny", "x"), ("config", "unset", "skills.deny"),
        ("config", "get", "skills.deny"), ("config", "path"), ("doctor",), ("completion", "zsh"),
    ):  # fmt: skip
        ran = shell.run(*words)
        assert (ran.code, ran.err) == (0, ""), ran
        assert ran.out


# Streams


def test_a_reader_that_leaves_early_ends_us_quietly(shell: Shell) -> None:
    for number in range(400):
        shell.skill(f"skill-{number}", description="word " * 150)
    for words in ("skill list --json", "skill list", "skill show"):
        for _ in range(2):
            ran = shell.sh(f'"$METIER" {words} | /usr/bin/head -c 1 > /dev/null; echo "${{PIPESTATUS[0]}}"')
            assert (ran.out, ran.err) == ("141\n", "")


def test_head_gets_its_line(shell: Shell) -> None:
    ran = shell.sh('"$METIER" skill list | /usr/bin/head -1')
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("✓ code-review")


def test_a_large_answer_reaches_a_slow_reader_whole(shell: Shell) -> None:
    for number in range(3000):
        shell.skill(f"skill-{number:04}", description=f"Does {number}. Use when asked." + " more words" * 20)
    for _ in range(2):
        with shell.start("skill", "list", "--json") as process:
            assert process.stdout is not None
            parts = [process.stdout.read(4096)]
            time.sleep(0.3)
            while part := process.stdout.read(300_000):
                parts.append(part)
                time.sleep(0.01)
            err = process.stderr.read() if process.stderr else b""
        data = b"".join(parts)
        assert len(data) > 1_000_000
        assert (process.returncode, err) == (0, b"")
        rows = json.loads(data)["data"]["skills"]
        assert sum(row["source"] == "user" for row in rows) == 3000


@pytest.mark.parametrize(
    "words", ["--version", "--help", "skill list", "skill list --json", "skill show", "config path", "nonsense"]
)
def test_closed_streams_are_not_an_error(shell: Shell, words: str) -> None:
    for redirect in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        ran = shell.sh(f'"$METIER" {words} {redirect}')
        assert ran.code == (2 if words == "nonsense" else 0), redirect
        assert "Traceback" not in ran.err
        assert "mistake" not in ran.err + ran.out


def test_a_question_without_standard_input_is_answered_with_usage(shell: Shell) -> None:
    shell.skill("pdf")
    for words in ("skill create new", "skill delete pdf"):
        ran = shell.sh(f'"$METIER" {words} <&-')
        assert ran.code == 2
        assert ran.err.startswith("error: ")
    assert (shell.skills / "pdf/SKILL.md").exists()


@pytest.mark.parametrize(
    "words", ["--version", "--help", "skill list", "skill list", "skill show --json", "skill list --help", "nope --json"]
)
def test_a_full_disk_behind_the_output_is_reported(shell: Shell, words: str) -> None:
    ran = shell.sh(f'"$METIER" {words} > /dev/full')
    assert ran.code == 1
    assert "no space left on device" in ran.err
    assert "Traceback" not in ran.err
    assert "Exception ignored" not in ran.err


# Interruption


def test_ctrl_c_while_watching_ends_with_130(shell: Shell) -> None:
    child = shell.terminal("skill", "list", "--watch")
    child.expect("Watching for changes; press Ctrl-C to stop")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in str(child.before)


def test_ctrl_c_at_a_question_ends_with_130_and_changes_nothing(shell: Shell) -> None:
    shell.skill("pdf")
    for words, question in ((("skill", "create", "new"), "What does it do"), (("skill", "delete", "pdf"), r"\[y/N\]")):
        child = shell.terminal(*words)
        child.expect(question)
        for _ in range(3):
            # A key pressed while GNU readline still starts is only seen with the next one: a race inside Python's input().
            # The next one waits long: a terminal that gets Ctrl-C also drops what it has not yet shown.
            child.sendintr()
            if child.expect(["interrupted", pexpect.TIMEOUT], timeout=15) == 0:
                break
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 130
    assert shell.listed() == {"pdf": "enabled"}


def test_an_interrupt_while_watching_into_a_pipe_ends_with_130(shell: Shell) -> None:
    with shell.start("skill", "list", "--watch", "--json") as process:
        assert process.stdout is not None
        assert b'"skills"' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err == b"\ninterrupted\n"


# Locales


@pytest.mark.parametrize("variables", [
    {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "en_US.ISO-8859-1"}, {"LC_ALL": "xx_nonsense"},
    {"LC_ALL": None, "LANG": None}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii:strict"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
], ids=str)  # fmt: skip
def test_the_bytes_are_utf_8_whatever_the_locale(shell: Shell, variables: dict[str, str | None]) -> None:
    shell.skill("pdf", description="Überprüft 技能. Use when asked. ✓")
    for words in (("skill", "list", "pdf"), ("skill", "show", "pdf"), ("skill", "list", "--help")):
        assert "✓" in shell.run(*words, variables=variables).ok().out
    assert "Überprüft 技能" in shell.run("skill", "list", "--json", variables=variables).ok().out
    shell.run("skill", "show", "技能", variables=variables).failed(3)


# Homes and folders


def test_commands_that_only_read_work_with_an_unwritable_home(shell: Shell) -> None:
    shell.skill("pdf")
    for folder in (shell.home, shell.metier, shell.skills):
        folder.chmod(0o500)
    try:
        for words in ("skill list --json", "skill list", "skill show", "doctor"):
            ran = shell.sh(f'"$METIER" {words}', humble=True)
            assert (ran.code, ran.err) == (int(words == "doctor"), ""), ran
        for words in (
            "config set skills.deny x",
            "skill disable pdf",
            "trust",
            "skill create new -d x",
            "skill delete pdf --yes",
        ):
            shell.sh(f'"$METIER" {words}', humble=True).failed(1, "permission denied")
    finally:
        for folder in (shell.home, shell.metier, shell.skills):
            folder.chmod(0o700)
    assert set(shell.tree()) == {".metier/skills/pdf/SKILL.md"}


def test_a_home_that_does_not_exist_is_made_when_it_is_needed(shell: Shell) -> None:
    home = shell.home / "new/deep"
    assert shell("skill", "list", METIER_HOME=str(home)).ok().code == 0
    assert shell("config", "set", "skills.deny", "x", METIER_HOME=str(home)).ok().out
    assert (home / "config.toml").exists()


def test_a_home_that_is_a_file_is_one_sentence(shell: Shell) -> None:
    (shell.home / "file").write_text("")
    home = str(shell.home / "file")
    for words in (("skill", "list"), ("config", "set", "skills.deny", "x"), ("new", "x", "-d", "Does x. Use when x.")):
        shell(*words, METIER_HOME=home).failed(1, f"{home} cannot be metier's home", "set METIER_HOME to a folder")
    assert shell("doctor", METIER_HOME=home).code == 1


def test_without_home_the_users_own_is_looked_up(shell: Shell) -> None:
    ran = shell.run("config", "path", variables={"HOME": None, "METIER_HOME": None})
    assert ran.ok().out == os.path.expanduser(f"~{pwd.getpwuid(os.getuid()).pw_name}/.metier/config.toml\n")
    assert shell.run("skill", "list", variables={"HOME": None}).code == 0


def test_a_relative_home_starts_at_the_current_folder(shell: Shell) -> None:
    assert shell("config", "path", METIER_HOME="here").ok().out == f"{shell.project}/here/config.toml\n"


@pytest.mark.parametrize(
    "words", ["skill list", "skill list --json", "skill show", "doctor", "config show", "skill validate ."]
)
def test_a_current_folder_that_is_gone_is_one_sentence(shell: Shell, words: str) -> None:
    shell("skill", "list").ok()
    ran = shell.sh(f'/bin/mkdir gone && cd gone && /bin/rmdir ../gone && "$METIER" {words}')
    assert ran.code == 3
    assert "the current folder no longer exists" in ran.err + ran.out
    assert "Traceback" not in ran.err


def test_the_version_needs_no_folder(shell: Shell) -> None:
    assert shell.sh('/bin/mkdir gone && cd gone && /bin/rmdir ../gone && "$METIER" --version').code == 0


# A full disk


def _little_space() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))


def test_nothing_half_written_stays_when_the_disk_is_full(shell: Shell) -> None:
    shell.write_config('[skills]\ndeny = ["a"]\n')
    before = shell.tree()
    for words in (
        ("skill", "create", "new", "-d", "Does it. Use when asked."), ("config", "set", "skills.deny", *"abcdefghijklmnopq"),
        ("trust",), ("skill", "disable", "hello-world"),
    ):  # fmt: skip
        ran = shell.run(*words, preexec_fn=_little_space)
        ran.failed(1, "file too large")
    after = {name: data for name, data in shell.tree().items() if not name.endswith(".lock") and "/cache/" not in name}
    assert after == before
    assert list(shell.skills.glob(".*")) == []


def test_a_listing_needs_no_space(shell: Shell) -> None:
    shell.skill("pdf")
    for _ in range(2):
        assert shell.run("skill", "list", preexec_fn=_little_space).ok().out


def test_a_command_that_used_an_object_store_runs_its_exit_functions_and_keeps_its_status() -> None:
    """It ends without Python's finalisation, in which threads of the object store's library aborted some processes."""
    code = """
import atexit, sys, types
sys.modules["obstore"] = types.ModuleType("obstore")
atexit.register(print, "exit function")
sys.argv = ["metier", "skill", "nosuch-command"]
from metier.cli.main import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "exit function\n")
