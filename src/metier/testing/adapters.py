"""The conformance suite for adapters: the same scenarios, with a real SDK between the skills and a scripted model.

    class TestMyFramework(AdapterConformance):
        def talk(self, skills, model, requests, mode): ...   # your agent over model.url, one conversation

A scenario that the framework does itself, or that has no meaning there, is named in `left_to_host` with the reason; it
is not run, and the table of what adapters support says why.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol, Self
from uuid import uuid4

import metier
from metier.adapters import Skills
from metier.runtime import (
    IsolationLevel,
    Limits,
    ResourceRead,
    Runner,
    ScriptFinished,
    Session,
    SessionOptions,
    SessionServices,
    SkillActivated,
    ToolCalled,
)

from .fakes import EventRecorder, skill_folder
from .model import ModelAnswer, ModelServer, ScriptedCall, says

__all__ = ["SYSTEM", "AdapterConformance", "Asked", "Mode", "Scripted", "support", "weather"]

SYSTEM = "You answer in one word."
"""The instructions of the agent under test; skills must not replace them."""


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It is sunny in {city}."


class Mode(StrEnum):
    """The ways to use a framework."""

    SYNC = "sync"
    ASYNC = "async"
    STREAM = "streamed"
    ASYNC_STREAM = "streamed async"


class Asked(Protocol):
    """One request that reached the model."""

    @property
    def system(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def tools(self) -> tuple[str, ...]: ...
    @property
    def results(self) -> tuple[str, ...]: ...


class Scripted(Protocol):
    """A model that answers from a script. `ModelServer` is the usual one."""

    @property
    def requests(self) -> Sequence[Asked]: ...
    def close(self) -> None: ...


_SKETCH = '''"""Draw a chart."""
import argparse, sys, time

parser = argparse.ArgumentParser()
parser.add_argument("city")
parser.add_argument("--fail", action="store_true")
parser.add_argument("--sleep", action="store_true")
parser.add_argument("--chatter", action="store_true")
chosen = parser.parse_args()
if chosen.fail:
    sys.exit("no ink")
if chosen.sleep:
    time.sleep(60)
while chosen.chatter:
    print("x" * 1000)
print("drew", chosen.city)
'''


class AdapterConformance:
    """Subclass it, say how to talk, and let pytest collect it."""

    modes: ClassVar[tuple[Mode, ...]] = (Mode.ASYNC,)
    """The ways in which the framework can be used. All scenarios run in the first; a whole activation in each."""
    left_to_host: ClassVar[Mapping[str, str]] = {}
    """Scenarios by name (without `test_`) that are not the adapter's, and why."""
    prefix: ClassVar[str] = ""
    """The prefix that the framework adds to tool names."""
    standing: ClassVar[bool] = False
    """The framework asks for tools only once, so that they do not come and go."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in cls.left_to_host:
            setattr(cls, f"test_{name}", None)  # pytest collects what can be called

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        """One conversation of an agent that has these skills, the instructions SYSTEM and the tool `weather`: what it
        said to each request."""
        raise NotImplementedError

    def new_model(self, script: Sequence[ModelAnswer]) -> Scripted:
        """Returns the model: a server over HTTP, unless the framework needs something else."""
        return ModelServer(script)

    def call(self, tool: str, **arguments: object) -> ModelAnswer:
        """The model's call of one of our tools."""
        # Every call its own id, as a model has it; some hosts take a repeated one for the same call.
        return ModelAnswer(calls=(ScriptedCall(self.prefix + tool, arguments, id=f"call_{uuid4().hex[:12]}"),))

    def load(self, skill: str) -> ModelAnswer:
        return self.call("load_skill", skill_name=skill)

    def read(self, skill: str, path: str) -> ModelAnswer:
        return self.call("read_skill_resource", skill_name=skill, resource_name=path)

    def run(self, skill: str, *words: str) -> ModelAnswer:
        return self.call("run_skill_script", skill_name=skill, script_name="scripts/draw.py", args=list(words))

    def hears_nothing_of_skills(self, asked: Asked) -> bool:
        """For a framework with words of its own in every prompt."""
        return asked.system == SYSTEM

    # The scenarios, in the order of the table.

    def test_the_catalog_is_disclosed_beside_the_owners_instructions(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [says("ok")]) as agent:
            agent.asks("Draw Oslo.")
            [asked] = agent.model.requests
            assert SYSTEM in asked.system
            assert "Does chart. Use when asked for chart." in asked.system
            assert self._offers(asked.tools, "load_skill")
            assert asked.user == "Draw Oslo."

    def test_without_skills_nothing_is_said_or_offered(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [says("ok")], skills=()) as agent:
            agent.asks("Draw Oslo.")
            [asked] = agent.model.requests
            assert self.hears_nothing_of_skills(asked)
            assert not [tool for tool in asked.tools if "skill" in tool]

    def test_an_activation_returns_the_instructions_and_adds_tools(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("chart"), says("done")]) as agent:
            assert agent.asks("Draw Oslo.") == ["done"]
            first, second = agent.model.requests
            assert self._offers(first.tools, "run_skill_script") is self.standing
            [instructions] = second.results
            assert '<skill_content name="chart">' in instructions
            assert "Ask for the city first." in instructions
            assert "scripts/draw.py" in instructions
            assert self._offers(second.tools, "read_skill_resource", "run_skill_script")
            assert self._offers(second.tools, "chart_draw") is not self.standing

    def test_a_repeated_activation_says_so_in_one_sentence(self, tmp_path: Path) -> None:
        script = [self.load("chart"), says("one"), self.load("chart"), says("two")]
        with self.agent(tmp_path, script) as agent:
            assert agent.asks("Draw Oslo.", "Draw Rome.") == ["one", "two"]
            again = agent.model.requests[-1].results[-1]
            assert "already active" in again
            assert "Ask for the city first." not in again
            assert len(agent.events.of(SkillActivated)) == 1

    def test_a_resource_is_read(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("chart"), self.read("chart", "references/cities.md"), says("ok")]) as agent:
            agent.asks("Which cities?")
            assert "Oslo, Rome" in agent.model.requests[-1].results[-1]
            assert [event.path for event in agent.events.of(ResourceRead)] == ["references/cities.md"]

    def test_no_path_leads_out_of_a_skill(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("the secret")
        hostile = ("../../secret.txt", str(tmp_path / "secret.txt"), "references/../../../secret.txt")
        script = [self.load("chart"), *(self.read("chart", path) for path in hostile), says("ok")]
        with self.agent(tmp_path, script) as agent:
            agent.asks("Read the secret.")
            _, *results = agent.model.requests[-1].results
            assert len(results) == len(hostile)
            for text in results:
                assert "the secret" not in text
                assert "Error (refused)" in text

    def test_a_script_runs_confined_and_within_limits(self, tmp_path: Path) -> None:
        script = [self.load("chart"), self.run("chart", "Oslo"), self.run("chart", "Oslo", "--sleep"),
                  self.run("chart", "Oslo", "--chatter"), says("ok")]  # fmt: skip
        with self.agent(tmp_path, script, limits={"seconds": 2.0, "output_bytes": 10_000}) as agent:
            agent.asks("Draw Oslo.")
            _, drawn, slept, chattered = agent.model.requests[-1].results
            assert "drew Oslo" in drawn
            assert 'untrusted="true"' in drawn
            assert "timed out" in slept
            assert "printed too much" in chattered
            assert len(chattered) < 20_000
            levels = {event.level for event in agent.events.of(ScriptFinished)}
            assert levels and "" not in levels

    def test_a_failure_is_reported_to_the_model_and_the_conversation_continues(self, tmp_path: Path) -> None:
        script = [self.load("nothing-like-it"), self.load("chart"), self.run("chart", "Oslo", "--fail"), says("sorry")]
        with self.agent(tmp_path, script) as agent:
            assert agent.asks("Draw Oslo.") == ["sorry"]
            unknown, _, failed = agent.model.requests[-1].results
            assert "Error" in unknown
            assert "chart" in unknown, "the model gets the known names"
            assert "exit code 1" in failed
            assert "no ink" in failed

    def test_a_disabled_skill_is_hidden(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("forms"), says("ok")], deny=("forms",)) as agent:
            agent.asks("Fill it in.")
            first, second = agent.model.requests
            assert "chart" in first.system
            assert "forms" not in first.system
            assert "skill_content" not in second.results[-1]

    def test_skills_over_the_limit_are_unloaded_and_the_model_is_notified(self, tmp_path: Path) -> None:
        script = [self.load("chart"), self.load("forms"), self.load("poems"), says("ok")]
        with self.agent(tmp_path, script, max_active=2) as agent:
            agent.asks("Do all of it.")
            last = agent.model.requests[-1]
            assert "Unloaded to make room: chart" in last.results[-1]
            assert not self._offers(last.tools, "chart_draw")

    def test_every_step_is_an_event(self, tmp_path: Path) -> None:
        script = [self.load("chart"), self.read("chart", "references/cities.md"), self.run("chart", "Oslo"), says("ok")]
        with self.agent(tmp_path, script) as agent:
            agent.asks("Draw Oslo.")
            assert agent.events.kinds == [
                "SkillActivated", "ToolCalled", "ResourceRead", "ToolCalled", "ScriptStarted", "ScriptFinished", "ToolCalled",
            ]  # fmt: skip
            assert {event.name for event in agent.events.of(ToolCalled)} == {"chart"}

    def test_the_owners_own_tools_work_beside_the_skills(self, tmp_path: Path) -> None:
        for mode in self.modes:
            both = ModelAnswer(calls=(*self.load("chart").calls, ScriptedCall("weather", {"city": "Oslo"}, id="call_weather")))
            with self.agent(tmp_path / mode.replace(" ", "-"), [both, says("ok")]) as agent:
                assert agent.asks("Draw the weather in Oslo.", mode=mode) == ["ok"], mode
                results = agent.model.requests[-1].results
                assert any("skill_content" in text for text in results), mode
                assert any("sunny in Oslo" in text for text in results), mode

    def test_two_conversations_do_not_share_active_skills(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("chart"), says("one"), self.load("chart"), says("two")]) as agent:
            agent.asks("Draw Oslo.")
            agent.asks("Draw Oslo.")
            assert "Ask for the city first." in agent.model.requests[-1].results[-1]

    def test_a_skill_that_the_user_activated_is_in_the_prompt(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [says("ok")]) as agent:
            session = Session(agent.skills.catalog, services=agent.services)
            session.activate("chart")
            agent.skills = Skills(session)
            agent.asks("Draw Oslo.")
            [asked] = agent.model.requests
            assert "Ask for the city first." in asked.system
            assert self._offers(asked.tools, "run_skill_script")

    def test_a_whole_activation_works_in_every_mode(self, tmp_path: Path) -> None:
        for mode in self.modes:
            folder = tmp_path / mode.replace(" ", "-")
            script = [self.load("chart"), self.run("chart", "Oslo"), says("drawn, as you asked")]
            with self.agent(folder, script) as agent:
                assert agent.asks("Draw Oslo.", mode=mode) == ["drawn, as you asked"], mode
                assert "drew Oslo" in agent.model.requests[-1].results[-1], mode

    def _offers(self, offered: Sequence[str], *names: str) -> bool:
        return all(self.prefix + name in offered for name in names)

    def agent(
        self, folder: Path, script: Sequence[ModelAnswer], *, skills: Sequence[str] = ("chart", "forms", "poems"),
        deny: Sequence[str] = (), max_active: int = 3, limits: Mapping[str, float] | None = None, head: str = "",
    ) -> _Agent:  # fmt: skip
        """An agent with these skills, of which `chart` has a script and a file, over a model that says this."""
        root = folder / "skills"
        root.mkdir(parents=True)
        files = {"scripts/draw.py": _SKETCH, "references/cities.md": "Oslo, Rome\n"}
        for name in skills:
            body = "Ask for the city first." if name == "chart" else "Do it."
            skill_folder(root, name, head=head, body=body, files=files if name == "chart" else None)
        runner = Runner()
        require = IsolationLevel.LANDLOCK
        if runner.best() is None:
            # No sandbox on this machine: the limits still hold.
            runner, require = Runner(level=IsolationLevel.LIMITS), IsolationLevel.LIMITS
        services = SessionServices(runner=runner)
        events = EventRecorder()
        services.bus.subscribe(events)
        options = SessionOptions(max_active=max_active, limits=Limits(require=require, **(limits or {})))  # type: ignore[arg-type]
        made = Skills(metier.discover(root, deny=deny), services=services, options=options)
        return _Agent(self, made, self.new_model(script), events, services)


class _Agent:
    """An agent under test, with its model and what happened."""

    def __init__(
        self, suite: AdapterConformance, skills: Skills, model: Scripted, events: EventRecorder, services: SessionServices
    ) -> None:
        self.suite, self.skills, self.model, self.events, self.services = suite, skills, model, events, services

    def asks(self, *requests: str, mode: Mode | None = None) -> list[str]:
        return self.suite.talk(self.skills, self.model, requests, mode or self.suite.modes[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.model.close()


def scenarios() -> tuple[str, ...]:
    return tuple(name.removeprefix("test_") for name in vars(AdapterConformance) if name.startswith("test_"))


def support(suite: type[AdapterConformance]) -> Iterator[tuple[str, str]]:
    """Each scenario with `yes`, the reason why it is left to the host, or what went wrong: run, never claimed."""
    for name in scenarios():
        if name in suite.left_to_host:
            yield name, suite.left_to_host[name]
            continue
        run: Callable[[Path], None] = getattr(suite(), f"test_{name}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(Path(folder))
            except Exception as error:  # a third-party SDK may fail in any way, and the table must say so
                yield name, f"NO: {type(error).__name__}"
            else:
                yield name, "yes"
