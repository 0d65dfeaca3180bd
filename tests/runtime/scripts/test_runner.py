"""Runs as a user of the library sees them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from metier.errors import NotFoundError, RefusedError
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.runtime.script_run import Limits, Outcome, ScriptRun
from metier.runtime.scripts.runner import Runner

LEVELS = [found.level for found in Runner().available()]
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)


def skill(tmp_path: Path, **scripts: str) -> str:
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: skill\ndescription: Does. Use when.\n---\n")
    for name, text in scripts.items():
        (folder / "scripts" / name.replace("_", ".")).write_text(text)
    return str(folder)


def run(folder: str, script: str, level: IsolationLevel, **more: object) -> Outcome:
    asked = ScriptRun(folder=folder, script=script, limits=Limits(seconds=20, require=level), **more)  # type: ignore[arg-type]
    return asyncio.run(Runner(level=level).run(asked))


@at_every_level
def test_a_run_returns_its_output_and_its_files(tmp_path: Path, level: IsolationLevel) -> None:
    text = "import os, sys\nopen(os.environ['HOME'] + '/sum.txt', 'w').write(sys.stdin.read())\nprint('hi')\nsys.exit(3)"
    outcome = run(skill(tmp_path, a_py=text), "scripts/a.py", level, stdin=b"12", outputs=("sum.txt", "./other/../x"[:7] + "x"))
    assert (outcome.exit_code, outcome.ok, outcome.stdout, outcome.stderr) == (3, False, "hi\n", "")
    assert [(file.path, file.data) for file in outcome.files] == [("sum.txt", b"12")]
    assert [why for _, why in outcome.refused_files] == ["was not produced"]
    assert outcome.peak_memory and outcome.peak_memory > 1_000_000
    assert outcome.duration > 0


@at_every_level
def test_a_run_starts_in_the_skills_folder_and_finds_what_lies_beside_the_script(tmp_path: Path, level: IsolationLevel) -> None:
    folder = skill(
        tmp_path, a_sh='cat SKILL.md | head -1; cat "$(dirname "$0")/../assets/a.txt"; pwd; cat "$SKILL_DIR/assets/a.txt"'
    )
    os.mkdir(f"{folder}/assets")
    Path(f"{folder}/assets/a.txt").write_text("asset\n")
    outcome = run(folder, "scripts/a.sh", level)
    assert outcome.stdout == f"---\nasset\n{folder}\nasset\n", outcome


@at_every_level
def test_a_script_may_be_a_link_inside_the_skill(tmp_path: Path, level: IsolationLevel) -> None:
    folder = skill(tmp_path)
    os.mkdir(f"{folder}/lib")
    Path(f"{folder}/lib/real.py").write_text("print('real')")
    os.symlink("../lib/real.py", f"{folder}/scripts/a.py")
    assert run(folder, "scripts/a.py", level).stdout == "real\n"


@at_every_level
def test_a_skill_reached_through_a_link_runs_where_it_really_is(tmp_path: Path, level: IsolationLevel) -> None:
    folder = skill(tmp_path, a_sh="pwd")
    os.symlink(folder, tmp_path / "link")
    assert run(str(tmp_path / "link"), "scripts/a.sh", level).stdout == f"{folder}\n"


@at_every_level
def test_a_signal_that_ends_the_script_is_in_its_exit_code(tmp_path: Path, level: IsolationLevel) -> None:
    assert run(skill(tmp_path, a_sh="kill -TERM $$"), "scripts/a.sh", level).exit_code == 128 + 15


@at_every_level
def test_pipes_of_the_script_end_as_pipes_do(tmp_path: Path, level: IsolationLevel) -> None:
    # Python ignores SIGPIPE, and a child that inherited that would complain instead of ending.
    assert run(skill(tmp_path, a_sh="yes | head -1"), "scripts/a.sh", level).stdout == "y\n"


@at_every_level
def test_files_can_be_copied_with_their_modes(tmp_path: Path, level: IsolationLevel) -> None:
    text = ("import os, shutil, tarfile\nos.chdir(os.environ['HOME'])\n"
            "shutil.copy2(os.environ['SKILL_DIR'] + '/SKILL.md', 'a')\n"
            "os.mkdir('d')\nshutil.copytree('d', 'e')\nwith tarfile.open('t.tar', 'w') as t: t.add('a')\n"
            "os.mkdir('out')\nwith tarfile.open('t.tar') as t: t.extractall('out')\nprint(os.listdir('out'))")  # fmt: skip
    outcome = run(skill(tmp_path, a_py=text), "scripts/a.py", level)
    assert outcome.stdout == "['a']\n", outcome


@at_every_level
def test_a_file_of_the_user_can_be_handed_to_a_run_to_read(tmp_path: Path, level: IsolationLevel) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.csv").write_text("1,2\n")
    (data / "b.csv").write_text("secret\n")
    folder = skill(tmp_path, a_sh='cat "$1"; cat "$2"; echo x >"$1"; true')
    words = (str(data / "a.csv"), str(data / "b.csv"))
    outcome = run(folder, "scripts/a.sh", level, arguments=words, inputs=(words[0],))
    if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK):
        assert outcome.stdout == "1,2\n"
        assert (data / "a.csv").read_text() == "1,2\n"


@pytest.mark.parametrize("path", ["/", "relative.csv", "/proc/self", "/dev/sda", "/tmp/../", "/tmp/a\0b"])
def test_the_system_itself_cannot_be_handed_to_a_run(tmp_path: Path, path: str) -> None:
    with pytest.raises(RefusedError):
        run(skill(tmp_path, a_sh="true"), "scripts/a.sh", LEVELS[0], inputs=(path,))


@pytest.mark.parametrize("output", ["../x", "/etc/passwd", "a\0b", ""])
def test_an_output_is_a_path_inside_the_scratch_folder(tmp_path: Path, output: str) -> None:
    with pytest.raises(RefusedError):
        run(skill(tmp_path, a_sh="true"), "scripts/a.sh", LEVELS[0], outputs=(output,))


def test_a_folder_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        run(str(tmp_path / "none"), "scripts/a.sh", LEVELS[0])


def test_runs_work_from_threads_with_loops_of_their_own(tmp_path: Path) -> None:
    folder = skill(tmp_path, a_sh="echo $1")
    said: list[str] = []

    def one(number: int) -> None:
        said.append(run(folder, "scripts/a.sh", LEVELS[0], arguments=(str(number),)).stdout)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [f"{number}\n" for number in range(8)]


def run_program(code: str, folder: str) -> tuple[str, str]:
    """Returns what a Python program in a process of its own prints to stdout and stderr."""
    words = [sys.executable, "-W", "error", "-c", code, folder]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)
    return done.stdout, done.stderr


def test_a_fork_of_the_caller_has_its_own_spawner(tmp_path: Path) -> None:
    folder = skill(tmp_path, a_sh="echo hi")
    code = (
        "import asyncio, os, sys\n"
        "from metier.runtime import Runner, ScriptRun\n"
        "def go(): return asyncio.run(Runner().run(ScriptRun(folder=sys.argv[1], script='scripts/a.sh'))).stdout\n"
        "assert go() == 'hi\\n'\n"
        "pid = os.fork()\n"
        "if pid == 0:\n    os._exit(0 if go() == 'hi\\n' else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\nassert go() == 'hi\\n'\nprint('well')\n"
    )
    assert run_program(code, folder) == ("well\n", "")


def test_a_process_with_thousands_of_open_files_can_run_scripts(tmp_path: Path) -> None:
    folder = skill(tmp_path, a_sh="echo hi")
    code = (
        "import asyncio, os, resource, sys\n"
        "most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n"
        "held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]\n"
        "from metier.runtime import Runner, ScriptRun\n"
        "print(asyncio.run(Runner().run(ScriptRun(folder=sys.argv[1], script='scripts/a.sh'))).stdout)\n"
    )
    assert run_program(code, folder) == ("hi\n\n", "")


def test_a_killed_spawner_is_replaced(tmp_path: Path) -> None:
    from metier.runtime.sandbox.spawner_client import _SPAWNER

    folder = skill(tmp_path, a_sh="echo hi")
    assert run(folder, "scripts/a.sh", LEVELS[0]).stdout == "hi\n"
    assert _SPAWNER.process
    _SPAWNER.process.kill()
    _SPAWNER.process.wait()
    assert run(folder, "scripts/a.sh", LEVELS[0]).stdout == "hi\n"


def test_the_best_level_is_never_one_that_does_not_confine() -> None:
    best = Runner().best()
    assert best is None or best.level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.SEATBELT)
    fixed = Runner(level=IsolationLevel.OFF).best()
    assert fixed and fixed.level is IsolationLevel.OFF


def test_every_level_that_cannot_be_had_says_why_and_what_to_do() -> None:
    for found in Runner().probe_results():
        assert found.works or (found.reason and found.fix)
