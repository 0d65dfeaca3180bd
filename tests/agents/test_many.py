"""Many conversations at once, in one process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from engine_builders import COUNT, app_of, home_skill, now
from metier.agents import AgentEngine, TurnStatus
from metier.agents.events import TurnFinished
from metier.models import ModelChoice, connect
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says

SESSIONS = 100


def test_conversations_that_begin_at_once_in_a_new_process_all_find_their_client(tmp_path: Path) -> None:
    # A package that two threads import at once may be half initialised, so this needs a process that has not imported it yet.
    code = """
import asyncio, sys
from pathlib import Path
from engine_builders import app_of
class Where: url = sys.argv[2]
app = app_of(Path(sys.argv[1]), Where)
async def main():
    engines = [app.conversations.engine() for _ in range(8)]
    print([str((await turn).status) for turn in asyncio.as_completed([engine.ask("hello") for engine in engines])])
    for engine in engines: await engine.close()
asyncio.run(main())
"""
    with ModelServer(lambda _: says("hi")) as model:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        words = [sys.executable, "-c", code, str(tmp_path), model.url]
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == str(["done"] * 8), done.stderr


def test_a_hundred_conversations_do_not_get_in_each_other_s_way(tmp_path: Path) -> None:
    home_skill(tmp_path, "word-count", head="triggers:\n  keywords: [count]", files={"scripts/count.py": COUNT})
    home_skill(tmp_path, "letters", head="triggers:\n  keywords: [letter]")

    def script(request: ModelRequest) -> ModelAnswer:
        # Every tenth runs a script in the sandbox; the others only talk.
        if "count" in request.user and request.body["messages"][-1]["role"] == "user":
            return calls("word-count_count", args=["w"] * int(request.user.split()[-1]))
        return says(f"re {request.user}", delay=0.02)

    with ModelServer(script) as model:
        app = app_of(tmp_path, model)

        async def one(number: int, engine: AgentEngine) -> list[TurnFinished]:
            async with engine:
                first = "count" if number % 10 == 0 else "letter"
                return [await engine.ask(f"{first} {number}"), await engine.ask(f"and {number}")]

        async def all_of_them() -> list[list[TurnFinished]]:
            shared = connect(ModelChoice(name="gpt-4o", base_url=model.url))
            engines = [app.conversations.engine(f"s{number}") for number in range(SESSIONS)]
            for engine in engines:
                engine.use_model(shared)
            async with shared:
                return await asyncio.gather(*(one(number, engine) for number, engine in enumerate(engines)))

        answers = now(all_of_them())
        results = {request.user: request.results for request in model.requests if request.results}

    for number, (first, second) in enumerate(answers):
        kind, skill = ("count", "word-count") if number % 10 == 0 else ("letter", "letters")
        assert (first.answer, first.status, first.active) == (f"re {kind} {number}", TurnStatus.DONE, (skill,))
        assert second.answer == f"re and {number}"
        if kind == "count":
            assert f"{number} words" in results[f"count {number}"][0]
    assert len(app.conversations.store.recent(1_000)) == SESSIONS
    assert all(len(app.conversations.store.turns(f"s{number}")) == 2 for number in range(SESSIONS))
