"""Escape suite, E01-E08, E28-E31, E36, E37, E42: files, the skill's own folder, what is run, what is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from pathlib import Path
from typing import Any

import pytest

from metier.errors import NotFoundError, RefusedError
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.runtime.script_run import Limits, Outcome, ScriptRun
from metier.runtime.scripts.interpreters import Interpreters, ScriptCommand
from metier.runtime.scripts.packages import PackageMount
from runtime.sandbox.escape.runner_choice import runner_at
from runtime.sandbox.escape.stage import Stage, at_every_level, note, scratch_folders, survivors

DENIED = {"EPERM", "EACCES", "EROFS", "ENOENT", "ENOTDIR"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def run(stage: Stage, level: IsolationLevel, script: str, *arguments: str, **more: Any) -> Outcome:
    asked = ScriptRun(
        folder=str(stage.skill), script=script, arguments=arguments, limits=Limits(seconds=10, require=level), **more
    )
    return asyncio.run(runner_at(level).run(asked))


@at_every_level
def test_e01_secrets_of_the_user_are_not_there(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E01", level, Guard.HOME):
        results = stage.results("e01", level)
        assert set(results.values()) <= DENIED, results


@at_every_level
def test_e02_proc_is_no_way_around(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E02", level, Guard.HOME):
        results = stage.results("e02", level)
        assert results.pop("fds") == []
        for way, found in results.items():
            # In a namespace process 1 is one of the run's own, and its root is the run's own too.
            assert found in DENIED or (level is IsolationLevel.NAMESPACE and way.endswith("cwd")), (way, found)


@at_every_level
def test_e03_the_caller_cannot_be_looked_at(stage: Stage, level: IsolationLevel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESCAPE_SECRET", stage.canary)
    if stage.claims("E03", level, Guard.PROCESSES):
        results = stage.results("e03", level)
        for way, found in results.items():
            assert found in DENIED or level is IsolationLevel.NAMESPACE, (way, found)
        assert stage.canary not in str(results)


@at_every_level
def test_e04_the_environment_is_exactly_what_we_say(
    stage: Stage, level: IsolationLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ESCAPE_SECRET", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_X", "PYTHONSTARTUP", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, stage.canary)
    monkeypatch.delenv("TZ", raising=False)
    assert stage.claims("E04", level, Guard.ENVIRONMENT)
    results = stage.results("e04", level, environment={"COLOUR": "blue"}, secrets={"API_KEY": "given"})
    # bubblewrap sets PWD, Python may set LC_CTYPE.
    names = set(results) - {"PWD", "LC_CTYPE"}
    assert names == {"PATH", "LANG", "HOME", "TMPDIR", "SKILL_DIR", "PYTHONPYCACHEPREFIX", "COLOUR", "API_KEY"}
    assert results["PYTHONPYCACHEPREFIX"] == results["HOME"] + "/.pycache"
    assert results["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert results["HOME"] == results["TMPDIR"]
    assert results["SKILL_DIR"] == str(stage.skill)


@at_every_level
def test_e05_the_skill_folder_stays_as_it_is(stage: Stage, level: IsolationLevel) -> None:
    before = stage.state()
    if stage.claims("E05", level, Guard.READ_ONLY):
        results = stage.results("e05", level)
        assert set(results.values()) <= {*DENIED, "EXDEV", "EEXIST"}, results
        assert stage.state() == before
        return
    # Where it cannot be prevented it is noticed.
    best = runner_at(level).best()
    assert best and best.has(Guard.SKILL)
    with pytest.raises(RefusedError) as refused:
        stage.attempt("e05", level)
    assert refused.value.rule == "skill-changed"


@at_every_level
def test_e06_modes_owners_times_and_attributes_stay_as_they_are(stage: Stage, level: IsolationLevel) -> None:
    before = stage.state()
    if stage.claims("E06", level, Guard.MODES):
        stage.results("e06", level)
        assert stage.state() == before
        return
    stage.canaries = [stage.skill / "SKILL.md"]
    with pytest.raises(RefusedError) as refused:
        stage.attempt("e06", level)
    assert refused.value.rule == "skill-changed"


@at_every_level
def test_e07_links_in_the_scratch_folder_are_not_followed(stage: Stage, level: IsolationLevel) -> None:
    outputs = ("out.txt", "folder/id_rsa", "hard.txt", "fifo", "good.txt", "never.txt")
    note("E07", level, "held")
    try:
        outcome = stage.attempt("e07", level, outputs=outputs)
    except RefusedError as refused:
        # A hard link out of the skill's folder changes the file that it leads to.
        assert refused.rule == "skill-changed"
        assert level in (IsolationLevel.LIMITS, IsolationLevel.OFF)
        return
    assert [(file.path, file.data) for file in outcome.files] == [("good.txt", b"good")]
    assert {path for path, _ in outcome.refused_files} == set(outputs) - {"good.txt"}


@at_every_level
def test_e08_nothing_is_planted_for_later(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E08", level, Guard.READ_ONLY):
        results = stage.results("e08", level)
        planted = [Path(way) for way in results if way.startswith("/") and Path(way).exists()]
        assert not planted
        assert results["sysctl"] in DENIED


@at_every_level
@pytest.mark.parametrize(
    "path", ["../x.py", "/etc/passwd", "scripts/../../x.py", "scripts/out.py", "scripts/folder", "scripts/fifo", "scripts/null",
             "SKILL.md", "scripts/", "scripts/none.py", "scripts/a\0.py", "~/x.py", "scripts\\x.py", "", "scripts/deep/out.py"],
)  # fmt: skip
def test_e28_only_a_file_below_scripts_can_be_run(stage: Stage, level: IsolationLevel, path: str) -> None:
    note("E28", level, "held")
    outside = stage.root / "x.py"
    outside.write_text("print('escaped')")
    scripts = stage.skill / "scripts"
    (scripts / "out.py").symlink_to(outside)
    (scripts / "deep").symlink_to(stage.root)
    (scripts / "folder").mkdir()
    os.mkfifo(scripts / "fifo")
    (scripts / "null").symlink_to("/dev/null")
    with pytest.raises((RefusedError, NotFoundError)):
        run(stage, level, path)


class Swapping(Interpreters):
    """Swaps the script at the worst moment: after it was checked, before it runs."""

    def __init__(self, script: Path) -> None:
        super().__init__()
        self.script = script

    def command(self, path: str, data: bytes, *, packages: PackageMount | None = None) -> ScriptCommand:
        other = self.script.with_name("other")
        other.write_text("print('swapped')")
        os.replace(other, self.script)
        return super().command(path, data, packages=packages)


@at_every_level
@pytest.mark.parametrize("suffix", [".py", ".sh"])
def test_e29_the_script_that_was_checked_is_the_one_that_runs(stage: Stage, level: IsolationLevel, suffix: str) -> None:
    note("E29", level, "held")
    script = stage.skill / f"scripts/good{suffix}"
    script.write_text("print('checked')" if suffix == ".py" else "echo checked")
    asked = ScriptRun(folder=str(stage.skill), script=f"scripts/good{suffix}", limits=Limits(seconds=10, require=level))
    outcome = asyncio.run(runner_at(level, interpreters=Swapping(script)).run(asked))
    assert (outcome.stdout, outcome.stderr) == ("checked\n", "")


@at_every_level
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("#!/bin/sh -c 'echo escaped'", "shell"), ("#!/usr/bin/env -S sh -x", "shell"), ("#!/usr/bin/env sh\r", "shell"),
        ("#!/usr/bin/env python3", None), ("#!/usr/bin/perl", "refused"), ("#!/bin/cat", "refused"),
        ("#!/usr/bin/env -S awk -f", "refused"), ("#!", "refused"), ("#!/usr/bin/env", "refused"), ("#! /bin/bash -p", "shell"),
    ],
)  # fmt: skip
def test_e30_a_first_line_chooses_only_among_known_interpreters(
    stage: Stage, level: IsolationLevel, line: str, says: str | None
) -> None:
    note("E30", level, "held")
    script = stage.skill / "scripts/first"
    script.write_bytes(f"{line}\n".encode() + (b"print('python')\n" if says is None else b"echo shell\n"))
    script.chmod(0o4755)
    if says == "refused":
        with pytest.raises(RefusedError) as refused:
            run(stage, level, "scripts/first")
        assert refused.value.rule == "interpreter"
        return
    outcome = run(stage, level, "scripts/first")
    assert outcome.stdout.strip() == (says or "python"), outcome


@at_every_level
def test_e30_a_setuid_copy_gains_nothing(stage: Stage, level: IsolationLevel) -> None:
    if not stage.claims("E30", level, Guard.PRIVILEGES):
        return
    script = stage.skill / "scripts/status.py"
    script.write_text("print([l for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'CapEff'))])"
                      if level is not IsolationLevel.LANDLOCK else
                      "import ctypes; print(['NoNewPrivs:\\t%d' % ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)])")  # fmt: skip
    outcome = run(stage, level, "scripts/status.py")
    assert "NoNewPrivs:\\t1" in outcome.stdout
    if level is IsolationLevel.NAMESPACE:
        assert "CapEff:\\t0000000000000000" in outcome.stdout


@at_every_level
def test_e31_nothing_is_loaded_before_or_in_place_of_what_the_script_asks_for(stage: Stage, level: IsolationLevel) -> None:
    note("E31", level, "held")
    for name in (
        "LD_PRELOAD",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "BASH_ENV",
        "ENV",
        "GIT_SSH_COMMAND",
        "PATH",
        "HOME",
    ):
        with pytest.raises(RefusedError) as refused:
            run(stage, level, "scripts/attempts.py", environment={name: "/x"})
        assert refused.value.rule == "environment"
    with pytest.raises(RefusedError):
        run(stage, level, "scripts/attempts.py", environment={"GITHUB_TOKEN": "x"})
    for folder in (stage.skill, stage.skill / "scripts"):
        for module in ("json", "sitecustomize", "usercustomize", "random"):
            (folder / f"{module}.py").write_text("print('shadowed')")
        (folder / "x.pth").write_text("import sys; print('shadowed')")
    (stage.skill / "scripts/sibling.py").write_text("said = 'sibling'")
    (stage.skill / "scripts/main.py").write_text("import json, random, sibling\nprint(sibling.said, json.__name__)")
    outcome = run(stage, level, "scripts/main.py")
    assert outcome.stdout == "sibling json\n", outcome


@at_every_level
def test_e36_code_made_at_run_time_is_as_confined_as_the_rest(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E36", level, Guard.HOME):
        results = stage.results("e36", level)
        assert "name: hostile" in results["scratch own"]
        assert results["scratch canary"] == ""
        assert results["memfd canary"] in ("", "ENOENT", "EACCES")
        assert results["socket"] in DENIED


@at_every_level
def test_e37_a_run_does_not_see_what_another_one_has(stage: Stage, level: IsolationLevel) -> None:
    async def look() -> Outcome:
        runner = runner_at(level)
        first = asyncio.create_task(runner.run(stage.run("e37_leave", level)))
        while not (ready := survivors(f"{stage.nonce}-ready")):
            assert not first.done(), first
            await asyncio.sleep(0.02)
        other = [*scratch_folders(ready[0]), "/tmp"][0]
        second = await runner.run(stage.run("e37_look", level, facts={"other": other}))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return second

    if stage.claims("E37", level, Guard.HOME):
        second = asyncio.run(look())
        assert stage.nonce not in second.stdout
        assert json.loads(second.stdout)["own"] == "ok []" or level is IsolationLevel.NAMESPACE


@at_every_level
def test_e42_nothing_is_left_behind(stage: Stage, level: IsolationLevel) -> None:
    if not stage.claims("E42", level, Guard.RESIDUE):
        return
    key = secrets.randbelow(1 << 30) + 1
    outcome = stage.attempt("e42", level, facts={"key": key})
    assert outcome.exit_code == 128 + 6, outcome
    for place in ("/dev/shm", "/tmp", "/var/tmp"):
        assert not (Path(place) / stage.nonce).exists()
    assert not [path for path in Path("/tmp").glob("metier-*/scratch/*") if stage.nonce in path.name]
    for table in ("shm", "msg"):
        lines = Path(f"/proc/sysvipc/{table}").read_text().splitlines()[1:]
        assert str(key) not in {line.split()[0] for line in lines}
    assert not list(stage.skill.rglob("core*"))
