"""Builders for tests of the engine: a home with skills, a scripted model, and turns that run to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from builders import app_in
from metier.agents import AgentEngine
from metier.agents.events import Event, TurnFinished
from metier.app import App
from metier.testing import ModelServer, skill_folder

__all__ = ["COUNT", "CSV", "SUM", "app_of", "finished", "home_skill", "now", "of", "one", "talk", "turn"]

T = TypeVar("T")
E = TypeVar("E", bound=Event)

COUNT = '"""Counts words."""\nimport sys\nprint(len(" ".join(sys.argv[1:]).split()), "words")\n'
SUM = '"""Adds numbers up."""\nimport sys\nprint("sum", sum(map(int, sys.argv[1:])))\n'
CSV = "Read references/format.md before you write.\n"


def home_skill(tmp_path: Path, name: str, **options: Any) -> Path:
    """A skill of the user. Its description is 'Does NAME. Use when asked for NAME.'"""
    return skill_folder(tmp_path / "home/.metier/skills", name, **options)


def app_of(tmp_path: Path, model: ModelServer | None = None, **variables: str) -> App:
    given: dict[str, str] = {
        "METIER_SKILLS_DISABLED_BUNDLED": "code-review data-analysis gh hello-world skill-authoring web-scraping"
    }
    if model is not None:
        given |= {"METIER_MODEL_NAME": "gpt-4o", "METIER_MODEL_BASE_URL": model.url, "OPENAI_API_KEY": "a-key"}
    return app_in(tmp_path, variables={**given, **variables})


def now(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def turn(engine: AgentEngine, message: str) -> list[Event]:
    """Every event of one turn."""
    return [event async for event in engine.process(message)]


def talk(app: App, *messages: str, id: str | None = None, **options: Any) -> list[list[Event]]:  # noqa: A002
    """A whole conversation, turn by turn."""

    async def all_of_it() -> list[list[Event]]:
        async with app.conversations.engine(id, **options) as engine:
            # Clocks may be faked: a retry says how long it would wait, and does not.
            engine.options = replace(engine.options, sleep=lambda _: asyncio.sleep(0))
            return [await turn(engine, message) for message in messages]

    return now(all_of_it())


def of(events: list[Event], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def one(events: list[Event], kind: type[E]) -> E:
    (found,) = of(events, kind)
    return found


def finished(events: list[Event]) -> TurnFinished:
    assert isinstance(events[-1], TurnFinished)
    return events[-1]
