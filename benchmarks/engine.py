"""The overhead of the engine per turn, and the time until `metier chat` shows its prompt.

A turn is selection, activation, the prompt, one request to a model over HTTP and the record. The floor is the request alone:
the same prompt, tools and history through the same client to the same scripted model, which runs in its own process. The
rest is the engine: under 12 ms with 1,000 skills, under 60 ms with 20,000.

`metier run` is measured as a whole process, with ten skills and the bundled ones, once for each of the three APIs. The peer is
`python -c "import pydantic_ai"` plus a process that sends the same request with the provider's own client: at most 0.6 times
both together, in CPU and wall time.

The start is measured on a terminal until the first prompt and compared with `python -c "import pydantic_ai"`: at most 1.3 times
that, because the model's client is imported after the prompt is shown.
"""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.corpus import make_skills, scratch
from benchmarks.measure import Contender, Figure, Report, Sample, Target, child_environment, compete, options, run, script
from metier.agents import AgentEngine
from metier.agents.turn import _instructions
from metier.app import App
from metier.models import ModelQuery

_LIMITS = {1_000: 12.0, 20_000: 60.0}
_TURN, _FLOOR = "a turn of the engine", "its request alone"
_IMPORT, _CHAT = "import pydantic_ai", "metier chat, to the first prompt"
_BARE, _RUN = "a request with the provider's client", "metier run"
_OPENAI_CODE = """
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
"""
_APIS = {
    "chat completions": (
        "openai-chat:gpt-5",
        _OPENAI_CODE
        + """
said = client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "say ok"}], stream=True)
print("".join(chunk.choices[0].delta.content or "" for chunk in said if chunk.choices))
""",
    ),
    "responses": (
        "openai-responses:gpt-5",
        _OPENAI_CODE
        + """
said = client.responses.create(model="gpt-5", input="say ok", stream=True)
print("".join(event.delta for event in said if event.type == "response.output_text.delta"))
""",
    ),
    "anthropic": (
        "anthropic:claude-opus-5",
        """
import sys, anthropic
client = anthropic.Anthropic(base_url=sys.argv[1], api_key="none")
with client.messages.stream(
    model="claude-opus-5", max_tokens=9000, messages=[{"role": "user", "content": "say ok"}]
) as said:
    print("".join(said.text_stream))
""",
    ),
}
"""The model of `metier run`, and the program that asks with the provider's client; both are given the server."""
_REQUESTS = (
    "please review the contract for me", "convert this spreadsheet to something readable", "is the dashboard right?",
    "draft an invoice for the last month", "compare both recordings", "what can you do about my cluster?",
)  # fmt: skip
_SERVER = """
import time
from metier.testing import ModelServer, says
server = ModelServer(lambda _: says("Done, and here is what came of it.", tokens=(900, 9)))
print(server.url, flush=True)
time.sleep(3600)
"""


def main() -> int:
    chosen = options(__doc__, rounds=40, quick=10)
    report = Report("The engine", as_json=chosen.json)
    with scratch() as folder, _server() as url:
        for size in [1_000] if chosen.quick else sorted(_LIMITS):
            _turns(report, folder / str(size), size, url, chosen.rounds)
        _start(report, folder / "start", max(5, chosen.rounds // 3))
        _run(report, folder / "run", url, max(5, chosen.rounds // 3))
    return report.finish()


def _turns(report: Report, home: Path, size: int, url: str, rounds: int) -> None:
    make_skills(home / "skills", size)
    environment = {
        **child_environment(home), "SKILLS_DIR": str(home / "skills"), "METIER_MODEL_NAME": "scripted",
        "METIER_MODEL_BASE_URL": url,
    }  # fmt: skip
    app = App(environment=environment, folder=home)
    with asyncio.Runner() as runner:
        engine = app.conversations.engine()
        asked = iter(_REQUESTS * 1_000)

        async def turn() -> None:
            await engine.ask(next(asked))

        contenders = [
            Contender(name=_TURN, measure=partial(_timed, runner.run, turn)),
            Contender(name=_FLOOR, measure=partial(_timed, runner.run, lambda: _request(engine))),
        ]
        # The first turn opens the index, connects and imports; that is the start's, not the turn's.
        runner.run(turn())
        figures = compete(contenders, rounds=rounds)
        runner.run(engine.close())
    report.add_figures(figures, within=f"{size}: ")
    rows = [
        (name, f"{each.cpu:.1f} ({each.cpu_min:.1f})", f"{each.wall:.1f} ({each.wall_min:.1f})")
        for name, each in figures.items()
    ]
    report.add_table(f"{size:,} skills, median of {rounds} (minimum), in ms", ("what", "CPU", "wall"), rows)
    turn_, floor = figures[_TURN], figures[_FLOOR]
    report.targets += [
        Target(what=f"engine per turn, {size:,} skills, CPU", value=turn_.cpu - floor.cpu, limit=_LIMITS[size], unit="ms"),
        Target(what=f"engine per turn, {size:,} skills, wall", value=turn_.wall - floor.wall, limit=_LIMITS[size], unit="ms"),
    ]


async def _request(engine: AgentEngine) -> None:
    """Repeats the last request of the engine without the engine."""
    assert engine.prompt is not None
    client, messages = engine._client, engine._sent()[:-1]  # noqa: SLF001  (what the engine sent, without the engine)
    assert client is not None
    async for _ in client.stream(
        ModelQuery(messages=messages, instructions=_instructions(engine.prompt), tools=engine.prompt.tools)
    ):
        pass


def _timed(run_it: Callable[[Coroutine[Any, Any, None]], None], work: Callable[[], Coroutine[Any, Any, None]]) -> Sample:
    wall, cpu = time.perf_counter(), time.process_time()
    run_it(work())
    return Sample(time.perf_counter() - wall, time.process_time() - cpu)


def _start(report: Report, home: Path, rounds: int) -> None:
    make_skills(home / ".metier" / "skills", 10)
    environment = {**child_environment(home), "METIER_MODEL_NAME": "openai:gpt-5", "OPENAI_API_KEY": "none", "TERM": "xterm"}
    contenders = [
        Contender(
            name=_IMPORT,
            measure=partial(run, (sys.executable, "-c", "import pydantic_ai"), cwd=home, environment=environment),
        ),
        Contender(name=_CHAT, measure=partial(_first_prompt, home, environment)),
    ]
    figures = compete(contenders, rounds=rounds)
    report.add_figures(figures)
    bare = figures[_IMPORT].wall
    rows = [(name, f"{each.wall:.0f} ({each.wall_min:.0f})", f"{each.wall / bare:.2f}") for name, each in figures.items()]
    report.add_table(f"Start, median of {rounds} (minimum), in ms", ("what", "wall", "x"), rows)
    report.targets.append(Target(what=_CHAT, value=_ratio(figures[_CHAT], figures[_IMPORT]), limit=1.3))


def _run(report: Report, home: Path, url: str, rounds: int) -> None:
    make_skills(home / ".metier" / "skills", 10)
    root = url.removesuffix("/v1")
    for api, (model, code) in _APIS.items():
        environment = {
            **child_environment(home), "METIER_MODEL_NAME": model, "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none",
            "METIER_MODEL_BASE_URL": root if api == "anthropic" else url,
        }  # fmt: skip
        words = {
            _IMPORT: (sys.executable, "-c", "import pydantic_ai"),
            _BARE: (sys.executable, "-c", code, root),
            _RUN: (script("metier"), "run", "say ok"),
        }
        figures = compete(
            [Contender(name=name, measure=partial(run, each, cwd=home, environment=environment))
             for name, each in words.items()],
            rounds=rounds,
        )  # fmt: skip
        report.add_figures(figures, within=f"run, {api}: ")
        cpu, wall = (sum(getattr(figures[name], kind) for name in (_IMPORT, _BARE)) for kind in ("cpu", "wall"))
        rows = [
            (name, f"{each.cpu:.0f} ({each.cpu_min:.0f})", f"{each.cpu / cpu:.2f}", f"{each.wall:.0f}",
             f"{each.wall / wall:.2f}")
            for name, each in figures.items()
        ]  # fmt: skip
        title = f"One request, {api}, a whole process, median of {rounds} (minimum), in ms"
        report.add_table(title, ("what", "CPU", "x of both", "wall", "x of both"), rows)
        report.targets += [
            Target(what=f"metier run, {api}, CPU", value=figures[_RUN].cpu / cpu, limit=0.6),
            Target(what=f"metier run, {api}, wall", value=figures[_RUN].wall / wall, limit=0.6),
        ]


def _ratio(one: Figure, other: Figure) -> float:
    return one.wall / other.wall


def _first_prompt(home: Path, environment: dict[str, str]) -> Sample:
    """Returns the time from the start of the process until `>` appears on its terminal."""
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (24, 80))
        os.chdir(home)
        os.execve(script("metier"), ["metier", "chat"], environment)
    shown = b""
    while b">" not in shown.rpartition(b"leaves")[2]:
        if time.perf_counter() - started > 30 or not select.select([terminal], [], [], 30)[0]:
            raise SystemExit(f"no prompt came: {shown!r}")
        shown += os.read(terminal, 4096)
        if b"\x1b[6n" in shown:
            # It asks where the cursor is, and a terminal would say.
            os.write(terminal, b"\x1b[1;1R")
            shown = shown.replace(b"\x1b[6n", b"")
    wall = time.perf_counter() - started
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return Sample(wall, wall)


@contextmanager
def _server() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
