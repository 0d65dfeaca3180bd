"""Prepared packages in a run: at every level, for Python and Node, and the question before they are fetched."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import metier
from metier.errors import RefusedError, UnavailableError
from metier.runtime import (
    ApprovalAnswer,
    Limits,
    MemoryApprovals,
    PackageMount,
    PackagePlan,
    Permissions,
    Policy,
    PolicyVerdict,
    Question,
    Runner,
    ScriptRun,
    Session,
    SessionServices,
)
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.spec import DeclaredPackages, PackageEcosystem
from metier.testing import run_now

at_every_level = pytest.mark.parametrize("level", [found.level for found in Runner().available()], ids=str)
SCRIPT = '# /// script\n# dependencies = ["shout"]\n# ///\nimport shout\nprint(shout.WORD)\n'


def skill(tmp_path: Path, **scripts: str) -> Path:
    folder = tmp_path / "skills/greet"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: Greets. Use when greeting.\n---\nRun it.\n")
    for name, text in scripts.items():
        (folder / "scripts" / name.replace("_", ".")).write_text(text)
    return folder


def python_tree(tmp_path: Path) -> PackageMount:
    tree = tmp_path / "cache/tree"
    tree.mkdir(parents=True)
    (tree / "shout.py").write_text("WORD = 'loud'\n")
    return PackageMount(kind=PackageEcosystem.PYTHON, folder=str(tree), python=sys.executable)


def run(folder: Path, script: str, level: IsolationLevel, packages: PackageMount) -> str:
    asked = ScriptRun(folder=str(folder), script=script, packages=packages, limits=Limits(seconds=30, require=level))
    outcome = asyncio.run(Runner(level=level).run(asked))
    assert outcome.ok, outcome
    return outcome.stdout


@at_every_level
def test_a_script_imports_its_packages_and_none_of_the_interpreter(tmp_path: Path, level: IsolationLevel) -> None:
    code = "import shout, json, importlib.util as u\nprint(shout.WORD, u.find_spec('pytest'), json.loads('1'))\nexit(0)\n"
    assert run(skill(tmp_path, main_py=code), "scripts/main.py", level, python_tree(tmp_path)) == "loud None 1\n"


@at_every_level
def test_a_python_that_the_script_starts_has_them_too(tmp_path: Path, level: IsolationLevel) -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import shout; print(shout.WORD)'], check=True)\n"
    assert run(skill(tmp_path, main_py=code), "scripts/main.py", level, python_tree(tmp_path)) == "loud\n"


@at_every_level
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.parametrize("kind", ["mjs", "cjs"])
def test_node_finds_packages_from_every_module_of_the_skill(tmp_path: Path, level: IsolationLevel, kind: str) -> None:
    modules = tmp_path / "cache/tree/node_modules"
    for name, code in {"left": "module.exports = (x) => require('inner') + x;", "inner": "module.exports = 'inner ';"}.items():
        (modules / name).mkdir(parents=True)
        (modules / name / "index.js").write_text(code)
    scripts = {
        "mjs": (
            "import left from 'left'; import {word} from './word.mjs'; console.log(left(word));",
            "import left from 'left'; export const word = left('x');",
        ),
        "cjs": ("console.log(require('left')(require('./word.cjs')));", "module.exports = require('left')('x');"),
    }[kind]  # fmt: skip
    folder = skill(tmp_path, **{f"main_{kind}": scripts[0], f"word_{kind}": scripts[1]})
    mount = PackageMount(kind=PackageEcosystem.NPM, folder=str(modules.parent))
    assert run(folder, f"scripts/main.{kind}", level, mount) == "inner inner x\n"


class Provider:
    """Finds nothing until it has prepared something."""

    def __init__(self, mount: PackageMount) -> None:
        self.mount = mount
        self.calls: list[str] = []

    def find(self, folder: str, declared: DeclaredPackages) -> PackageMount | None:
        return self.mount if "prepare" in self.calls else None

    def plan(self, folder: str, declared: DeclaredPackages) -> PackagePlan:
        self.calls.append("plan")
        return PackagePlan(digest="sha256:" + "a" * 64, packages=("shout 1.0",))

    def prepare(self, folder: str, declared: DeclaredPackages, plan: PackagePlan) -> PackageMount:
        self.calls.append("prepare")
        return self.mount


def session(
    tmp_path: Path,
    provider: Provider | None,
    *,
    verdict: PolicyVerdict = PolicyVerdict.ASK,
    approve: Callable[[Question], ApprovalAnswer] | None = None,
    approvals: MemoryApprovals | None = None,
) -> Session:
    if not (tmp_path / "skills").exists():
        skill(tmp_path, main_py=SCRIPT)
    permissions = Permissions(policy=Policy(packages=verdict), approve=approve, approvals=approvals or MemoryApprovals())
    services = SessionServices(runner=Runner(), permissions=permissions, packages=provider)
    return Session(metier.discover(tmp_path / "skills"), services=services)


def test_the_question_shows_the_list_and_is_asked_once_for_a_lock(tmp_path: Path) -> None:
    questions: list[Question] = []
    approvals = MemoryApprovals()

    def approve(question: Question) -> ApprovalAnswer:
        questions.append(question)
        return ApprovalAnswer.ALWAYS

    mount = python_tree(tmp_path)
    for _ in range(2):
        # A provider that has lost what it prepared.
        opened = session(tmp_path, Provider(mount), approve=approve, approvals=approvals)
        assert run_now(opened.run_script("greet", "main")).stdout == "loud\n"
    assert [one.request.details for one in questions] == [("shout 1.0",)]
    assert approvals.of_skill("greet")[0].pattern == "Packages(sha256:" + "a" * 64 + ")"


def test_prepared_packages_are_used_without_a_question(tmp_path: Path) -> None:
    provider = Provider(python_tree(tmp_path))
    provider.calls.append("prepare")
    assert run_now(session(tmp_path, provider).run_script("greet", "main")).stdout == "loud\n"
    assert provider.calls == ["prepare"]


def test_a_refusal_builds_nothing_and_says_what_to_type(tmp_path: Path) -> None:
    provider = Provider(python_tree(tmp_path))
    with pytest.raises(
        RefusedError, match=r"greet needs packages that are not prepared \(shout\): the user refused"
    ) as refused:
        run_now(session(tmp_path, provider, approve=lambda _: ApprovalAnswer.NO).run_script("greet", "main"))
    assert "metier skill prepare greet" in refused.value.hint
    assert provider.calls == ["plan"]


def test_where_the_policy_denies_packages_no_index_is_asked(tmp_path: Path) -> None:
    provider = Provider(python_tree(tmp_path))
    with pytest.raises(RefusedError, match=r"policy\.packages: deny"):
        run_now(session(tmp_path, provider, verdict=PolicyVerdict.DENY).run_script("greet", "main"))
    assert provider.calls == []


def test_where_the_policy_allows_packages_no_question_is_asked(tmp_path: Path) -> None:
    provider = Provider(python_tree(tmp_path))
    assert run_now(session(tmp_path, provider, verdict=PolicyVerdict.ALLOW).run_script("greet", "main")).stdout == "loud\n"


def test_a_session_without_a_provider_refuses_such_a_script(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"declares packages \(shout\)"):
        run_now(session(tmp_path, None).run_script("greet", "main"))
