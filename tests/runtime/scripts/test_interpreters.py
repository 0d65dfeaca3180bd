"""The interpreter of a script."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metier.errors import RefusedError, UnavailableError
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.runtime.script_run import Limits, ScriptRun
from metier.runtime.scripts.interpreters import Interpreters, kind_of
from metier.runtime.scripts.packages import PackageMount
from metier.runtime.scripts.runner import Runner
from metier.spec import PackageEcosystem

METADATA = b"""#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "rich",
#   "httpx<1",
# ]
# ///
print("hello")
"""


def only(*programs: Path) -> Callable[[str], str | None]:
    known = {path.name: str(path) for path in programs}
    return known.get


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF rest")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("a.py", b"", "python"), ("a.sh", b"", "sh"), ("a.bash", b"", "bash"), ("a.js", b"", "node"), ("a.mjs", b"", "node"),
        ("a.ts", b"", "typescript"), ("a.rb", b"", "ruby"), ("a", b"\x7fELF", "program"), ("a", b"#!/bin/bash\n", "bash"),
        ("a.PY", b"", "python"), ("a", b"#!/usr/bin/env python3.12\n", "python"), ("a.py", b"#!/bin/sh\n", "sh"),
        ("a", b"#! /usr/bin/env -S deno run -A\n", "deno"), ("a.ts", b"#!/usr/bin/env node\n", "typescript"),
        ("a.ts", b"#!/usr/bin/env bun\n", "bun"),
        ("a", b"#!/usr/bin/env -S FOO=1 ruby\r\n", "ruby"), ("a", b"#!/usr/bin/env -S uv run --script\n", "python"),
        ("a", b"#!/usr/bin/dash", "sh"),
    ],
)  # fmt: skip
def test_the_first_line_decides_and_then_the_suffix(path: str, data: bytes, kind: str) -> None:
    assert kind_of(path, data) == kind


@pytest.mark.parametrize(
    ("path", "data"), [("a", b""), ("a.txt", b"x"), ("a", b"#!/usr/bin/perl\n"), ("a", b"MZ"), ("a.exe", b"MZ")]
)
def test_other_files_are_refused_with_the_list_of_supported_ones(path: str, data: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        kind_of(path, data)
    assert refused.value.rule == "interpreter"
    assert ".py" in refused.value.hint or "python3" in refused.value.hint


def test_prepared_packages_choose_the_python_and_their_folder_is_its_first_argument(tmp_path: Path) -> None:
    mount = PackageMount(kind=PackageEcosystem.PYTHON, folder=str(tmp_path / "tree"), python=sys.executable)
    command = Interpreters(which=only()).command("a.py", METADATA, packages=mount)
    assert command.words[0] == sys.executable
    assert command.words[-1] == str(tmp_path / "tree")
    assert Interpreters().command("a.py", METADATA).words[-1] == ""


@pytest.mark.parametrize(("path", "hint"), [("a.js", "Node"), ("a.ts", "bun"), ("a.rb", "Ruby"), ("a.bash", "bash")])
def test_a_missing_interpreter_is_named_with_what_to_install(path: str, hint: str) -> None:
    with pytest.raises(UnavailableError) as missing:
        Interpreters(which=lambda _: None).command(path, b"")
    assert hint in missing.value.hint
    assert not missing.value.retryable


def test_a_shim_is_not_taken_for_a_program(tmp_path: Path) -> None:
    shim = tmp_path / "node"
    shim.write_text("#!/bin/sh\nexec asdf exec node\n")
    with pytest.raises(UnavailableError):
        Interpreters(which=only(shim)).command("a.js", b"")


def test_the_files_of_an_interpreter_are_readable_and_its_siblings_are_not(tmp_path: Path) -> None:
    node = program(tmp_path / "home/.nvm/v20/bin/node")
    modules = tmp_path / "home/.nvm/v20/lib/node_modules"
    modules.mkdir(parents=True)
    command = Interpreters(which=only(node), home=str(tmp_path / "home")).command("a.js", b"")
    assert set(command.readable) == {str(node), str(modules)}


@pytest.mark.parametrize("answer", ["", "echo hello", "echo /usr/bin/python3", "printf 'a\\nb\\nc\\nd\\n'"])
def test_a_broken_python_is_reported_in_one_sentence(tmp_path: Path, answer: str) -> None:
    broken = tmp_path / "python3"
    broken.write_text(f"#!/bin/sh\n{answer}\n")
    broken.chmod(0o755)
    with pytest.raises(UnavailableError, match=f"{broken} does not work") as raised:
        Interpreters(which=only(broken)).command("a.py", b"")
    assert "PATH" in raised.value.hint
    assert not raised.value.retryable


def test_a_python_whose_prefix_is_the_home_does_not_uncover_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fake = tmp_path / "python3"
    lines = [f"{home}/.local/bin/python3", f"{home}/.local", f"{home}", f"{home}/.local/lib/python3.12"]
    fake.write_text("#!/bin/sh\n" + "\n".join(f"echo {line}" for line in lines))
    fake.chmod(0o755)
    (home / ".local/lib/python3.12").mkdir(parents=True)
    program(home / ".local/bin/python3")
    command = Interpreters(which=only(fake), home=str(home)).command("a.py", b"")
    assert set(command.readable) == {f"{home}/.local/lib/python3.12", f"{home}/.local/bin/python3"}


@pytest.mark.parametrize(
    ("name", "text", "needs"),
    [
        ("a.py", "print('hello')", None), ("a.sh", "echo hello", None),
        ("a.bash", "x=(hello); echo ${x[0]}; cat <(true)", "bash"),
        ("a.js", "console.log('hello')", "node"), ("a.rb", "puts 'hello'", "ruby"), ("a.mjs", "console.log('hello')", "node"),
    ],
)  # fmt: skip
def test_each_kind_runs_in_the_sandbox(tmp_path: Path, name: str, text: str, needs: str | None) -> None:
    if needs and not shutil.which(needs):
        pytest.skip(f"{needs} is not installed")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / name).write_text(text)
    for found in Runner().available():
        run = ScriptRun(folder=str(tmp_path), script=f"scripts/{name}", limits=Limits(seconds=20, require=found.level))
        outcome = asyncio.run(Runner(level=found.level).run(run))
        assert (outcome.stdout, outcome.exit_code) == ("hello\n", 0), (found.level, outcome)


def test_a_program_of_the_skill_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/echo", tmp_path / "bin/say")
    for found in Runner().available():
        limits = Limits(seconds=10, require=found.level)
        run = ScriptRun(folder=str(tmp_path), script="bin/say", named=("bin/say",), arguments=("hello",), limits=limits)
        assert asyncio.run(Runner(level=found.level).run(run)).stdout == "hello\n"
        with pytest.raises(RefusedError):
            asyncio.run(Runner(level=found.level).run(ScriptRun(folder=str(tmp_path), script="bin/say", limits=limits)))
    assert IsolationLevel.OFF in {found.level for found in Runner().available()}
