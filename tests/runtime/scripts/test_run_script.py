"""A session with the real runner: scripts really run, confined as well as this machine can."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import metier
from metier.runtime import EventBus, ScriptRunner, Session, SessionOptions, SessionServices, events
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.runtime.script_run import Limits
from metier.runtime.scripts.runner import Runner
from metier.sources import BUNDLED
from metier.testing import EventRecorder, FakeRunner, RunnerConformance, run_now, skill_folder

BEST = Runner().best()
confined = pytest.mark.skipif(BEST is None or BEST.level is IsolationLevel.LIMITS, reason="this machine has no sandbox")


class TestFakeRunner(RunnerConformance):
    executes = False

    def new_runner(self) -> ScriptRunner:
        return FakeRunner()


@confined
class TestRunner(RunnerConformance):
    def new_runner(self) -> ScriptRunner:
        return Runner()


def session_over(root: Path, recorder: EventRecorder | None = None, seconds: float = 60.0) -> Session:
    bus = EventBus()
    if recorder is not None:
        bus.subscribe(recorder)
    return Session(
        metier.discover(root),
        options=SessionOptions(limits=Limits(seconds=seconds)),
        services=SessionServices(runner=Runner(), bus=bus),
    )


@confined
def test_a_bundled_script_runs_as_a_tool_and_its_answer_is_data() -> None:
    session = session_over(Path(BUNDLED))
    session.activate("data-analysis")
    tools = {tool.name: tool for tool in session.tools()}
    arguments = {
        "skill_name": "data-analysis",
        "script_name": "scripts/analyze.py",
        "args": ["summary", "-"],
        "stdin": "a,b\n1,2\n3,4\n",
    }
    reply = run_now(tools["run_skill_script"].call(arguments))  # type: ignore[arg-type]
    assert reply.ok, reply.text
    assert reply.outcome is not None
    assert json.loads(reply.outcome.stdout)["rows"] == 2
    assert reply.outcome.isolation.level == (BEST.level if BEST else None)
    assert 'untrusted="true"' in reply.text


@confined
def test_a_script_sees_neither_home_nor_network_nor_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "canary-7")
    (tmp_path / "secret.txt").write_text("canary-8")
    source = f"""
import os, socket
print(os.environ.get("SECRET_TOKEN"))
for attempt in (lambda: open({str(tmp_path / "secret.txt")!r}).read(), lambda: socket.socket()):
    try:
        print(attempt())
    except OSError as error:
        print(type(error).__name__)
"""
    skill_folder(tmp_path / "skills", "spy", files={"scripts/spy.py": source})
    outcome = run_now(session_over(tmp_path / "skills").run_script("spy", "spy"))
    assert "canary" not in outcome.stdout + outcome.stderr
    assert outcome.stdout.splitlines()[0] == "None"


@confined
def test_a_cancelled_run_emits_a_finished_event(tmp_path: Path) -> None:
    skill_folder(tmp_path, "slow", files={"scripts/slow.py": "import time\ntime.sleep(600)\n"})
    recorder = EventRecorder()
    session = session_over(tmp_path, recorder)

    async def main() -> None:
        task = asyncio.create_task(session.run_script("slow", "slow"))
        while not recorder.of(events.ScriptStarted):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_now(main())
    [finished] = recorder.of(events.ScriptFinished)
    assert (finished.error, finished.ok) == ("cancelled", False)


@confined
def test_a_timeout_is_in_the_reply_and_in_the_usage(tmp_path: Path) -> None:
    skill_folder(tmp_path, "slow", files={"scripts/slow.py": "import time\ntime.sleep(600)\n"})
    session = session_over(tmp_path, seconds=0.5)
    session.activate("slow")
    tools = {tool.name: tool for tool in session.tools()}
    reply = run_now(tools["slow_slow"].call({}))
    assert 'ended="timed out"' in reply.text
    used = session.usage["slow"]
    assert (used.runs, used.failures) == (1, 1)
    assert used.seconds > 0
