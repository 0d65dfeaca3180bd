"""A workspace in a real sandbox: what a script sees of the folder, and what becomes of its writes."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.errors import ConflictError, RefusedError
from metier.runtime import (
    FileChangeKind,
    Guard,
    IsolationLevel,
    Limits,
    Outcome,
    Runner,
    ScriptRun,
    Workspace,
    remove_abandoned_layers,
)
from metier.runtime.workspace.copy import copy_workspace
from metier.values import replace

AVAILABLE = [found.level for found in Runner().available()]
LEVELS = [level for level in AVAILABLE if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK)]
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data/sales.csv").write_text("month,amount\njan,1\n")
    (folder / "notes.txt").write_text("one\ntwo\n")
    (folder / ".env").write_text("TOKEN=canary\n")
    return folder


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    workspace = Workspace(folder)
    yield workspace
    workspace.close()


def run(workspace: Workspace, line: str, level: IsolationLevel = LEVELS[0]) -> Outcome:
    code = ScriptRun(script="command.sh", code=line.encode(), workspace=workspace.mount(), limits=Limits(require=level))
    return asyncio.run(Runner(level=level).run(code))


def kinds(workspace: Workspace) -> dict[str, str]:
    return {change.path: change.kind.value for change in workspace.changes()}


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@at_every_level
def test_a_script_reads_the_folder_and_writes_to_a_layer(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    before = files(folder)
    outcome = run(workspace, "cat data/sales.csv; echo three >> notes.txt; echo new > out.txt; rm data/sales.csv", level)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, "month,amount\njan,1\n", "")
    assert files(folder) == before
    assert kinds(workspace) == {"data/sales.csv": "deleted", "notes.txt": "changed", "out.txt": "created"}


@at_every_level
def test_a_later_run_sees_what_an_earlier_one_wrote(workspace: Workspace, level: IsolationLevel) -> None:
    run(workspace, "echo 1 > out.txt", level)
    assert run(workspace, "cat out.txt", level).stdout == "1\n"


@at_every_level
def test_all_changes_are_applied(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    run(workspace, "echo three >> notes.txt; mkdir -p new/deep; echo x > new/deep/out.txt; rm -r data", level)
    result = workspace.apply()
    assert result.refused == ()
    assert files(folder) == {".env": "TOKEN=canary\n", "notes.txt": "one\ntwo\nthree\n", "new/deep/out.txt": "x\n"}
    assert workspace.changes() == ()
    assert not os.path.lexists(folder / "data")


@at_every_level
def test_hidden_files_are_not_there(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/server.pem").write_text("canary")
    outcome = run(workspace, "ls -A . sub; cat .env sub/server.pem", level)
    assert ".env" not in outcome.stdout
    assert "canary" not in outcome.stdout
    assert "server.pem" not in outcome.stdout


def test_a_program_needs_neither_a_skill_nor_a_workspace() -> None:
    code = ScriptRun(script="code.py", code=b"import os; print(os.getcwd(), 'SKILL_DIR' in os.environ)")
    outcome = asyncio.run(Runner().run(code))
    assert (outcome.exit_code, outcome.stdout) == (0, "/tmp False\n"), outcome


def test_changes_have_kinds(workspace: Workspace) -> None:
    run(workspace, "echo x > out.txt")
    assert workspace.changes()[0].kind is FileChangeKind.CREATED


def test_a_file_that_the_user_changed_meanwhile_is_not_applied(workspace: Workspace, folder: Path) -> None:
    run(workspace, "echo script >> notes.txt; echo new > out.txt")
    (folder / "notes.txt").write_text("mine\n")
    result = workspace.apply()
    assert [(change.path, reason) for change, reason in result.refused] == [
        ("notes.txt", "it was changed in the folder since the script started")
    ]
    assert (folder / "notes.txt").read_text() == "mine\n"
    assert (folder / "out.txt").read_text() == "new\n"
    assert kinds(workspace) == {"notes.txt": "changed"}


def test_a_file_that_the_user_created_meanwhile_is_not_overwritten(workspace: Workspace, folder: Path) -> None:
    run(workspace, "echo script > out.txt")
    changes = workspace.changes()
    (folder / "out.txt").write_text("mine\n")
    assert workspace.apply(changes).applied == ()
    assert (folder / "out.txt").read_text() == "mine\n"


def test_a_file_that_the_user_edits_between_two_runs_can_be_changed_by_the_second(workspace: Workspace, folder: Path) -> None:
    run(workspace, "echo 1 > out.txt")
    (folder / "notes.txt").write_text("edited\n")
    run(workspace, "echo 2 >> notes.txt")
    assert workspace.apply().refused == ()
    assert (folder / "notes.txt").read_text() == "edited\n2\n"


def test_a_file_can_be_changed_again_after_it_was_applied(workspace: Workspace, folder: Path) -> None:
    for number in range(3):
        run(workspace, f"echo {number} >> notes.txt; touch other{number}")
        assert workspace.apply([change for change in workspace.changes() if change.path == "notes.txt"]).refused == ()
    assert (folder / "notes.txt").read_text() == "one\ntwo\n0\n1\n2\n"


@at_every_level
def test_a_folder_that_is_replaced_by_another_one(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    (folder / "data/.env").write_text("canary")
    run(workspace, "rm -r data && mkdir data && echo x > data/new.csv", level)
    assert kinds(workspace) == {"data/new.csv": "created", "data/sales.csv": "deleted"}
    workspace.apply()
    assert sorted(os.listdir(folder / "data")) == [".env", "new.csv"]


@at_every_level
def test_a_file_becomes_a_folder_and_a_folder_a_file(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    run(workspace, "rm -r data notes.txt && echo x > data && mkdir notes.txt && echo y > notes.txt/y", level)
    assert workspace.apply().refused == ()
    assert files(folder) == {".env": "TOKEN=canary\n", "data": "x\n", "notes.txt/y": "y\n"}


def test_execute_bits_and_modes(workspace: Workspace, folder: Path) -> None:
    (folder / "tool.sh").write_text("echo\n")
    (folder / "tool.sh").chmod(0o644)
    run(workspace, "chmod +x tool.sh; echo echo > new.sh; chmod 700 new.sh; echo x > plain; chmod 4755 notes.txt")
    found = {change.path: change for change in workspace.changes()}
    assert found["tool.sh"].changes_mode
    assert "setuid" in found["notes.txt"].problem
    workspace.apply()
    modes = {name: (folder / name).stat().st_mode & 0o7777 for name in ("tool.sh", "new.sh", "plain", "notes.txt")}
    usual = 0o777 & ~umask()
    assert modes == {"tool.sh": 0o755, "new.sh": usual, "plain": usual & 0o666, "notes.txt": 0o644 & ~umask()}


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@at_every_level
def test_links_are_applied_if_they_stay_inside(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    run(workspace, "ln -s notes.txt inside; ln -s ../outside out1; ln -s /etc/passwd out2; ln -s .env secret", level)
    problems = {change.path: bool(change.problem) for change in workspace.changes()}
    assert problems == {"inside": False, "out1": True, "out2": True, "secret": True}
    workspace.apply()
    assert os.readlink(folder / "inside") == "notes.txt"
    assert not os.path.lexists(folder / "out1")


def test_a_file_that_is_only_touched_is_no_change(workspace: Workspace) -> None:
    run(workspace, "touch notes.txt; cp notes.txt x && cat x > notes.txt && rm x")
    assert workspace.changes() == ()


def test_a_workspace_that_is_read_only(folder: Path) -> None:
    workspace = Workspace(folder, write=False)
    outcome = run(workspace, "cat notes.txt && echo x > out.txt")
    workspace.close()
    assert outcome.stdout == "one\ntwo\n"
    assert "Read-only file system" in outcome.stderr or "Permission denied" in outcome.stderr


def test_differences_and_picture_sizes(workspace: Workspace) -> None:
    run(workspace, "echo three >> notes.txt; printf '<svg width=\"30\" height=\"20\"/>' > a.svg; printf 'a\\0b' > binary")
    found = {change.path: change for change in workspace.changes()}
    assert workspace.diff(found["notes.txt"]) == "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n"
    assert workspace.picture_size(found["a.svg"]) == (30, 20)
    assert workspace.picture_size(found["notes.txt"]) is None
    assert workspace.diff(found["binary"]) == ""


def test_a_layer_is_kept_for_another_process(folder: Path, tmp_path: Path) -> None:
    first = Workspace(folder, layer=tmp_path / "layers/one")
    run(first, "echo new > out.txt")
    assert first.keep(["chart"])
    first.close()
    second = Workspace(folder, layer=tmp_path / "layers/one")
    assert second.apply().refused == ()
    second.close()
    assert (folder / "out.txt").read_text() == "new\n"
    assert os.listdir(tmp_path / "layers") == []


def test_two_processes_cannot_use_one_layer(folder: Path, tmp_path: Path) -> None:
    first = Workspace(folder, layer=tmp_path / "one")
    first.mount()
    with pytest.raises(ConflictError):
        Workspace(folder, layer=tmp_path / "one").mount()
    first.close()


def test_layers_of_killed_processes_are_removed_unless_they_are_kept(folder: Path, tmp_path: Path) -> None:
    for name in ("kept", "killed", "alive"):
        workspace = Workspace(folder, layer=tmp_path / "layers" / name)
        run(workspace, "echo new > out.txt")
        if name == "kept":
            workspace.keep()
        if name != "alive":
            os.close(workspace._lock)  # as the kernel does when the process ends
            workspace._lock = -1
    remove_abandoned_layers(str(tmp_path / "layers"))
    assert sorted(os.listdir(tmp_path / "layers")) == ["alive", "kept"]
    workspace.close()


def test_git_reads_the_repository_and_sees_no_secrets(workspace: Workspace, folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "notes.txt")
    git(folder, "commit", "-qm", "first")
    git(folder, "remote", "add", "origin", "https://user:canary-password@example.com/a.git?token=canary")
    git(folder, "config", "http.extraheader", "AUTHORIZATION: canary")
    git(folder, "config", "core.fsmonitor", "/bin/false")
    (folder / ".git/hooks/pre-commit").write_text("canary")
    (folder / ".git/credentials").write_text("canary")
    (folder / "notes.txt").write_text("one\ntwo\nthree\n")
    lines = "git log --oneline | cut -d' ' -f2; git diff --stat | head -1; git status --short; git show HEAD:notes.txt; "
    lines += "git blame -s notes.txt | wc -l; git remote get-url origin; grep -r canary .git; ls .git/hooks"
    outcome = run(workspace, lines)
    expected = "first\n notes.txt | 1 +\n M notes.txt\n?? data/\none\ntwo\n3\nhttps://example.com/a.git\n"
    assert outcome.stdout == expected, outcome


def test_commits_of_the_sandbox_are_not_kept(workspace: Workspace, folder: Path) -> None:
    git(folder, "init", "-q")
    before = sorted(path for path in (folder / ".git").rglob("*"))
    line = "git add notes.txt && git -c user.name=a -c user.email=a@b commit -qm x; "
    line += "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; "
    run(
        workspace,
        line + "mkdir -p sub/.git bare/objects bare/refs; echo x > sub/.git/config; touch bare/HEAD bare/config; echo x > out",
    )
    problems = {change.path for change in workspace.changes() if change.problem}
    assert {".git/refs/heads/master", ".git/refs/heads/main"} & problems
    assert {".git/hooks/pre-commit", "sub/.git/config", "bare/config"} <= problems
    workspace.apply()
    assert sorted(path for path in (folder / ".git").rglob("*")) == before
    assert not os.path.exists(folder / "bare/config")
    assert (folder / "out").read_text() == "x\n"


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True)


def test_a_hidden_file_that_appears_between_runs_is_hidden(workspace: Workspace, folder: Path) -> None:
    run(workspace, "true")
    (folder / "data/id_rsa").write_text("canary")
    assert "id_rsa" not in run(workspace, "ls -A data").stdout
    (folder / "data/id_rsa").rename(folder / "data/plain")
    assert "plain" in run(workspace, "ls -A data").stdout


def test_patterns_of_the_user_hide_files(folder: Path) -> None:
    (folder / "data/private.csv").write_text("canary")
    workspace = Workspace(folder, hide=["*.csv", "!sales.csv"])
    assert run(workspace, "ls data").stdout == "sales.csv\n"
    workspace.close()


def test_the_index_of_hidden_files_is_kept_on_disk(folder: Path, tmp_path: Path) -> None:
    for _ in range(2):
        workspace = Workspace(folder, cache=tmp_path / "cache")
        assert ".env" not in run(workspace, "ls -A").stdout
        workspace.close()
    (folder / "data/.env.local").write_text("canary")
    workspace = Workspace(folder, cache=tmp_path / "cache")
    assert run(workspace, "ls -A data").stdout == "sales.csv\n"
    workspace.close()


@pytest.mark.skipif(IsolationLevel.NAMESPACE not in LEVELS, reason="no namespaces")
def test_a_copy_is_used_where_no_overlay_can_be_mounted(workspace: Workspace, folder: Path) -> None:
    mount = workspace.mount()
    bad = replace(mount, mask=f"{mount.mask}/missing")
    code = ScriptRun(script="command.sh", code=b"pwd; cat notes.txt; ls -A; echo x > out.txt", workspace=bad)
    outcome = asyncio.run(Runner(level=IsolationLevel.NAMESPACE).run(code))
    assert outcome.stdout == f"{folder}\none\ntwo\ndata\nnotes.txt\n"
    assert Guard.WORKSPACE in outcome.isolation.missing
    assert kinds(workspace) == {"out.txt": "created"}


def test_a_file_that_is_too_large_is_not_applied_in_part(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.runtime.workspace.apply._LARGEST", 10)
    run(workspace, "printf 12345678901 > large; printf 1234567890 > small")
    result = workspace.apply()
    assert [(change.path, reason) for change, reason in result.refused] == [("large", "it is larger than 10 bytes")]
    assert (folder / "small").read_text() == "1234567890"
    assert not (folder / "large").exists()


def test_a_workspace_that_is_too_large_to_copy_is_refused(workspace: Workspace, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 5000)
    limits = Limits(scratch_bytes=4000)
    with pytest.raises(RefusedError, match="too large to be copied"):
        copy_workspace(workspace.mount(), most_bytes=limits.scratch_bytes, most_files=100)


@pytest.mark.parametrize("folder", ["/", "/usr/share", "/etc", "/proc"])
def test_folders_of_the_system_cannot_be_a_workspace(folder: str) -> None:
    with pytest.raises(RefusedError):
        Workspace(folder)


def test_a_change_names_the_secrets_that_it_holds(folder: Path, tmp_path: Path) -> None:
    value = "sk-value-of-a-key"
    workspace = Workspace(folder, layer=tmp_path / "layers/one")
    mount = workspace.mount(secrets={"API_KEY": value, "OTHER_KEY": "another-value"})
    line = 'echo "key: $API_KEY" > report.txt; printf "$API_KEY" | base64 > coded.txt; echo nothing > clean.txt; rm notes.txt'
    code = ScriptRun(script="command.sh", code=line.encode(), workspace=mount, secrets={"API_KEY": value})
    assert asyncio.run(Runner().run(code)).ok
    names = {change.path: change.secrets for change in workspace.changes()}
    assert names == {"clean.txt": (), "coded.txt": ("API_KEY",), "notes.txt": (), "report.txt": ("API_KEY",)}
    report = next(change for change in workspace.changes() if change.path == "report.txt")
    assert "+key: [API_KEY]" in workspace.diff(report)
    workspace.keep()
    workspace.close()
    # A later process has the names, and the value is in no file of ours but the layer.
    later = Workspace(folder, layer=tmp_path / "layers/one")
    later.mount()
    assert {change.path: change.secrets for change in later.changes()} == names
    assert value not in (tmp_path / "layers/one/state.json").read_text()
    later.close()
