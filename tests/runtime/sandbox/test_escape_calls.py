"""Escape suite, E26, E27, E38, E40, E41: output, arguments, a sandbox that is not one, and many runs at once."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from metier.errors import RefusedError
from metier.runtime.sandbox import bubblewrap
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.runtime.sandbox.plan import SandboxFeatures
from metier.runtime.sandbox.probe import detect_features, probe_level
from metier.runtime.script_run import Limits, Outcome, ScriptRun, printable
from metier.runtime.scripts.runner import Runner
from runtime.sandbox.escape.runner_choice import IN_CONTAINERS, runner_at
from runtime.sandbox.escape.stage import LEVELS, Stage, at_every_level, note

MEGABYTE = 1 << 20


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def written(stage: Stage, level: IsolationLevel, *writes: tuple[str, bytes, int]) -> Outcome:
    words = [(stream, {"bytes": data.decode("latin-1"), "times": times}) for stream, data, times in writes]
    return stage.attempt("e26", level, facts={"writes": words})


@at_every_level
@pytest.mark.parametrize(
    ("out", "err", "kept", "cut"),
    [
        (MEGABYTE, 0, (MEGABYTE, 0), (False, False)), (MEGABYTE + 1, 0, (MEGABYTE, 0), (True, False)),
        (MEGABYTE - 1, 1, (MEGABYTE - 1, 1), (False, False)), (MEGABYTE, 1, (MEGABYTE, 0), (False, True)),
        (0, MEGABYTE + 1, (0, MEGABYTE), (False, True)), (2 * MEGABYTE, 0, (MEGABYTE, 0), (True, False)),
    ],
)  # fmt: skip
def test_e26_output_is_cut_at_exactly_the_limit(
    stage: Stage, level: IsolationLevel, out: int, err: int, kept: tuple[int, int], cut: tuple[bool, bool]
) -> None:
    assert stage.claims("E26", level, Guard.OUTPUT)
    outcome = written(stage, level, ("out", b"o", out), ("err", b"e", err))
    if IN_CONTAINERS:  # the engine passes on the two streams one after the other
        assert len(outcome.stdout) + len(outcome.stderr) == sum(kept)
        assert (outcome.stdout_truncated or outcome.stderr_truncated) == any(cut)
    else:
        assert (len(outcome.stdout), len(outcome.stderr)) == kept
        assert (outcome.stdout_truncated, outcome.stderr_truncated) == cut
    # Losing output is not failing: the script went on to its end.
    assert outcome.exit_code == 0


@at_every_level
def test_e26_a_flood_is_ended(stage: Stage, level: IsolationLevel) -> None:
    outcome = stage.attempt("e26_flood", level)
    assert (outcome.stop_reason, outcome.exit_code, outcome.stdout_truncated) == ("output", None, True)
    assert len(outcome.stdout) == MEGABYTE


@at_every_level
def test_e26_bytes_that_are_not_text_are_replaced_and_escapes_do_not_reach_a_terminal(
    stage: Stage, level: IsolationLevel
) -> None:
    hostile = b"\xff\xfe\x00a\x1b[2Jb\x1b]0;title\x07c\x1b]52;c;aGk=\x1b\\d\x9b31me\r\nf\x08"
    outcome = written(stage, level, ("out", hostile, 1), ("err", b"\xc3", 1))
    assert outcome.stdout.startswith("\ufffd\ufffd\0a\x1b")
    assert outcome.stderr == "\ufffd"
    assert printable(outcome.stdout) == "\ufffd\ufffdabcd\ufffd31me\nf"


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred", "\x1b]0;x\x07", "\x1bP1;2|x\x1b\\", "\x9b2J", "\x1b(B", "\x1bc", "a\x07", "\x1b]8;;http://x\x1b\\l", "\x1b",
     "\x1b[", "\x1b]never ends", "\u202eabc", "\x85\x8d", "a\rb"],
)  # fmt: skip
def test_e26_what_is_shown_holds_no_control_character(text: str) -> None:
    assert not [
        char
        for char in printable(text)
        if (ord(char) < 32 and char not in "\t\n") or 127 <= ord(char) < 160 or char == "\u202e"
    ]


def with_arguments(stage: Stage, level: IsolationLevel, *arguments: str) -> Outcome:
    (stage.skill / "scripts/args.py").write_text("import json, sys\nprint(json.dumps(sys.argv[1:]))")
    asked = ScriptRun(
        folder=str(stage.skill), script="scripts/args.py", arguments=arguments, limits=Limits(seconds=60, require=level)
    )
    return asyncio.run(runner_at(level).run(asked))


@at_every_level
@pytest.mark.parametrize(
    "arguments", [("x",) * 100, ("x" * 4096,), ("x" * 4095, "y"), ("é" * 2048,), ("", "", "-"), ("--help", "-c", "--", "-I")]
)
def test_e27_arguments_within_the_limits_arrive_as_they_are(
    stage: Stage, level: IsolationLevel, arguments: tuple[str, ...]
) -> None:
    note("E27", level, "held")
    assert json.loads(with_arguments(stage, level, *arguments).stdout) == list(arguments)


@at_every_level
@pytest.mark.parametrize(
    "arguments", [("x",) * 101, ("x" * 4097,), ("x" * 4096, "y"), ("é" * 2048, "x"), ("a\0b",), ("\ud800",)]
)
def test_e27_arguments_over_the_limits_are_refused_before_anything_starts(
    stage: Stage, level: IsolationLevel, arguments: tuple[str, ...]
) -> None:
    with pytest.raises(RefusedError) as refused:
        with_arguments(stage, level, *arguments)
    assert refused.value.rule == "arguments"


@at_every_level
def test_e38_an_argument_is_never_read_by_a_shell(stage: Stage, level: IsolationLevel) -> None:
    note("E38", level, "held")
    words = ("git;id", "git$(id)", "`id`", "a\nid", "-c core.pager=!id", "&& id", "| id", "$HOME", "*", "~")
    outcome = with_arguments(stage, level, *words)
    assert json.loads(outcome.stdout) == list(words)
    (stage.skill / "scripts/args.sh").write_text("printf '%s|' \"$@\"")
    asked = ScriptRun(
        folder=str(stage.skill), script="scripts/args.sh", arguments=words, limits=Limits(seconds=60, require=level)
    )
    assert asyncio.run(runner_at(level).run(asked)).stdout == "".join(f"{word}|" for word in words)


def fake_bwrap(folder: Path, text: str) -> str:
    file = folder / "bwrap"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


# Starts what comes after `--` with no confinement at all, after telling a child as bubblewrap would.
PRETENDER = """
fd=; while [ "$1" != -- ]; do [ "$1" = --info-fd ] && fd=$2; shift; done; shift
eval "echo '{\\"child-pid\\": '$$'}' >&$fd"; exec "$@"
"""


@pytest.mark.parametrize("text", ["exit 0", "exit 1", PRETENDER, "sleep 0.2", 'echo "{}" >&5'])
def test_e40_a_bubblewrap_that_does_not_confine_is_not_used(stage: Stage, text: str) -> None:
    note("E40", IsolationLevel.NAMESPACE, "held")
    machine = SandboxFeatures(bwrap=fake_bwrap(stage.root, text), abi=0)
    found = probe_level(machine, IsolationLevel.NAMESPACE)
    assert not found.works
    runner = Runner(features=machine)
    assert runner.best() is None
    with pytest.raises(RefusedError) as refused:
        asyncio.run(runner.run(ScriptRun(folder=str(stage.skill), script="scripts/attempts.py")))
    assert refused.value.rule == "sandbox"


def test_e40_without_bubblewrap_and_landlock_nothing_runs_and_the_fix_is_named(stage: Stage) -> None:
    note("E40", IsolationLevel.LANDLOCK, "held")
    runner = Runner(features=SandboxFeatures(bwrap=None, abi=0))
    with pytest.raises(RefusedError) as refused:
        asyncio.run(runner.run(ScriptRun(folder=str(stage.skill), script="scripts/attempts.py")))
    assert refused.value.rule == "sandbox"
    assert "bubblewrap" in refused.value.hint
    assert "no sandbox" in str(refused.value)


def test_e40_a_level_below_the_required_one_is_refused_even_if_it_is_there(stage: Stage) -> None:
    machine = replace(detect_features(), bwrap=None)
    asked = ScriptRun(folder=str(stage.skill), script="scripts/attempts.py", limits=Limits(require=IsolationLevel.NAMESPACE))
    with pytest.raises(RefusedError) as refused:
        asyncio.run(Runner(features=machine).run(asked))
    assert "bubblewrap" in refused.value.hint
    for level in (IsolationLevel.LIMITS, IsolationLevel.OFF):
        with pytest.raises(RefusedError):
            asyncio.run(Runner(level=level).run(replace(asked, limits=Limits())))


def test_e40_bubblewrap_is_never_taken_from_path_or_from_a_folder_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = fake_bwrap(tmp_path, "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert bubblewrap.find() != fake
    # pytest's folder is below /tmp, which every user may write to.
    assert bubblewrap.find([fake]) is None
    assert bubblewrap.find(["/nowhere/bwrap", "/usr"]) is None


def test_e41_fifty_runs_at_once_keep_to_themselves(stage: Stage) -> None:
    async def all_of_them() -> list[Outcome]:
        runners = {level: runner_at(level) for level in LEVELS}
        return await asyncio.gather(*(runners[level].run(asked) for level, asked in runs))

    others = []
    for number in range(5):
        other = Stage(stage.root / str(number))
        others.append(other)
    runs: list[tuple[IsolationLevel, ScriptRun]] = []
    for number in range(50):
        level = LEVELS[number % len(LEVELS)]
        limits = {"open_files": 60 + number, "seconds": 60}
        asked = others[number % 5].run("echo", level, facts={"stay": 0.1}, arguments=(f"word-{number}",),
                                       environment={"NUMBER": str(number)}, limits=limits,
                                       hosts=("example.com",) if _has_network(number, level) else ())  # fmt: skip
        runs.append((level, asked))
    outcomes = asyncio.run(all_of_them())
    homes = set()
    for number, ((level, asked), outcome) in enumerate(zip(runs, outcomes, strict=True)):
        results = json.loads(outcome.stdout)
        assert results["argv"] == [f"word-{number}"]
        assert results["cwd"] == results["env"]["SKILL_DIR"] == asked.folder
        assert results["env"]["NUMBER"] == str(number)
        assert results["nofile"] == 60 + number or level is IsolationLevel.OFF
        closed = outcome.isolation.has(Guard.NETWORK)
        assert closed == (not asked.hosts and level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK))
        assert (results["socket"] == "EPERM") == closed
        assert outcome.isolation.level is level
        homes |= {results["home"]} if level is not IsolationLevel.NAMESPACE else set()
    assert len(homes) == sum(level is not IsolationLevel.NAMESPACE for level, _ in runs)
    for level in LEVELS:
        note("E41", level, "held")


def _has_network(number: int, level: IsolationLevel) -> bool:
    return number % 3 == 0 and level is IsolationLevel.NAMESPACE and not IN_CONTAINERS
