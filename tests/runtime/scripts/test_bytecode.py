"""Python runs a skill's source: bytecode in the skill is neither read nor written, at any level of isolation."""

from __future__ import annotations

import asyncio
import importlib.util
import marshal
import py_compile
import shutil
import sys
from pathlib import Path

import pytest

from metier.evals.skill_tests import SkillTestStatus, find_skill_tests, run_skill_tests
from metier.runtime import Interpreters, Limits, Runner, ScriptRun
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.testing import run_now

LEVELS = [found.level for found in Runner().available()]
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)
# The bytecode in these tests is that of this Python.
THIS_PYTHON = Interpreters(which=lambda name: sys.executable if name == "python3" else shutil.which(name))
RUN_HELPER = "import helper\nprint(helper.WORD)\n"
BY_PATH = (
    "import importlib.util as u, os\n"
    "spec = u.spec_from_file_location('other', os.environ['SKILL_DIR'] + '/scripts/helper.py')\n"
    "module = u.module_from_spec(spec)\nspec.loader.exec_module(module)\nprint(module.WORD)\n"
)
IN_A_CHILD = (
    "import os, subprocess, sys\n"
    "child = os.environ['SKILL_DIR'] + '/scripts/child.py'\n"
    "sys.exit(subprocess.run([sys.executable, child]).returncode)\n"
)


def skill(tmp_path: Path, main: str, *, bytecode: str | None = "cache") -> Path:
    """A skill whose helper says `source`, and whose bytecode of the helper says `bytecode` and is never compared with it."""
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: skill\ndescription: Does. Use when.\n---\n")
    (folder / "scripts/main.py").write_text(main)
    (folder / "scripts/child.py").write_text(RUN_HELPER)
    helper = folder / "scripts/helper.py"
    if bytecode:
        helper.write_text("WORD = 'bytecode'\n")
        place = importlib.util.cache_from_source(str(helper)) if bytecode == "cache" else str(helper) + "c"
        py_compile.compile(str(helper), cfile=place, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        helper.unlink()
    if bytecode != "only":
        helper.write_text("WORD = 'source'\n")
    return folder


def run(folder: Path, level: IsolationLevel) -> tuple[str, str]:
    runner = Runner(level=level, interpreters=THIS_PYTHON)
    asked = ScriptRun(folder=str(folder), script="scripts/main.py", limits=Limits(seconds=20, require=level))
    outcome = asyncio.run(runner.run(asked))
    return outcome.stdout.strip(), outcome.stderr


@at_every_level
@pytest.mark.parametrize("main", [RUN_HELPER, BY_PATH, IN_A_CHILD], ids=["import", "by path", "in a child"])
def test_bytecode_in_the_skill_does_not_replace_its_source(tmp_path: Path, level: IsolationLevel, main: str) -> None:
    assert run(skill(tmp_path, main), level)[0] == "source"


@at_every_level
def test_bytecode_without_a_source_is_not_imported(tmp_path: Path, level: IsolationLevel) -> None:
    out, err = run(skill(tmp_path, RUN_HELPER, bytecode="only"), level)
    assert (out, "helper.pyc is compiled code" in err) == ("", True)


@at_every_level
@pytest.mark.parametrize("main", [RUN_HELPER, IN_A_CHILD], ids=["import", "in a child"])
def test_a_run_writes_no_bytecode_into_the_skill(tmp_path: Path, level: IsolationLevel, main: str) -> None:
    folder = skill(tmp_path, main, bytecode=None)
    assert run(folder, level)[0] == "source"
    assert not list(folder.rglob("*.pyc"))


def test_the_tests_of_a_skill_run_from_source_too(tmp_path: Path) -> None:
    folder = skill(tmp_path, RUN_HELPER)
    (folder / "tests").mkdir()
    test = folder / "tests/test_helper.py"
    test.write_text("import helper\ndef test_word():\n    assert helper.WORD == 'source'\n")
    plant_rewritten(test)
    results = run_now(run_skill_tests(find_skill_tests("skill", str(folder)), Runner(interpreters=THIS_PYTHON)))
    assert [(one.name, one.status) for one in results] == [("test_word", SkillTestStatus.PASSED)]


def plant_rewritten(test: Path) -> None:
    """pytest's own cache of a rewritten test file, with a test that fails, and with the hash of the source."""
    code = compile("def test_planted():\n    assert False\n", str(test), "exec")
    head = importlib.util.MAGIC_NUMBER + b"\3\0\0\0" + importlib.util.source_hash(test.read_bytes())
    cache = test.parent / "__pycache__"
    cache.mkdir()
    tail = f"{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    (cache / f"{test.stem}.{tail}").write_bytes(head + marshal.dumps(code))
