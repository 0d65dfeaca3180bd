"""The event bus: subscribers get every event, and a failing one does not affect a run."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

import metier
from metier.runtime import Event, EventBus, Session, SessionServices, events
from metier.testing import EventRecorder, FakeRunner, run_now, skill_folder

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read(name: str) -> Event:
    return events.ResourceRead(timestamp=NOW, name=name, path="x.md")


def test_subscribers_get_every_event_in_order_or_only_the_kinds_they_chose() -> None:
    bus, everything, some = EventBus(), EventRecorder(), EventRecorder()
    bus.subscribe(everything)
    bus.subscribe(some, events.ActionRefused)
    bus.emit(read("a"))
    bus.emit(events.ActionRefused(timestamp=NOW, name="a", what="Network"))
    assert everything.kinds == ["ResourceRead", "ActionRefused"]
    assert some.kinds == ["ActionRefused"]


def test_unsubscribing_ends_it() -> None:
    bus, recorder = EventBus(), EventRecorder()
    stop = bus.subscribe(recorder)
    stop()
    stop()
    bus.emit(read("a"))
    assert recorder.events == []


def test_a_failing_subscriber_is_logged_and_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    bus, recorder = EventBus(), EventRecorder()

    def fails(_: Event) -> None:
        raise ValueError("oh")

    bus.subscribe(fails)
    bus.subscribe(recorder)
    with caplog.at_level(logging.WARNING):
        bus.emit(read("a"))
    assert recorder.kinds == ["ResourceRead"]
    assert bus.failures == 1
    assert "fails failed: ValueError: oh" in caplog.text


def test_an_asynchronous_subscriber_is_awaited_without_a_loop() -> None:
    bus = EventBus()
    heard: list[str] = []

    async def listen(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(type(event).__name__)

    bus.subscribe(listen)
    bus.emit(read("a"))
    assert heard == ["ResourceRead"]


def test_an_asynchronous_subscriber_runs_on_the_loop_of_the_caller() -> None:
    bus = EventBus()
    loops: list[asyncio.AbstractEventLoop] = []

    async def listen(_: Event) -> None:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())

    async def main() -> asyncio.AbstractEventLoop:
        bus.subscribe(listen)
        bus.emit(read("a"))
        await bus.drain()
        return asyncio.get_running_loop()

    here = run_now(main())
    assert loops == [here]


def test_a_failing_asynchronous_subscriber_breaks_nothing() -> None:
    bus = EventBus()

    async def fails(_: Event) -> None:
        raise RuntimeError("later")

    async def main() -> None:
        bus.subscribe(fails)
        bus.emit(read("a"))
        await bus.drain()

    run_now(main())
    bus.emit(read("b"))
    assert bus.failures == 2


def test_a_session_whose_subscribers_all_fail_still_runs_a_script(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    skill_folder(tmp_path, "pdf", files={"scripts/go.py": "print(1)\n"})
    bus = EventBus()

    def fails(_: Event) -> None:
        raise KeyError("x")

    async def fails_later(_: Event) -> None:
        raise KeyError("y")

    bus.subscribe(fails)
    bus.subscribe(fails_later)
    session = Session(metier.discover(tmp_path), services=SessionServices(bus=bus, runner=FakeRunner("done\n")))

    async def main() -> str:
        tools = {tool.name: tool for tool in session.tools()}
        assert (await tools["load_skill"].call({"skill_name": "pdf"})).ok
        outcome = await session.run_script("pdf", "scripts/go.py")
        await bus.drain()
        return outcome.stdout

    with caplog.at_level(logging.CRITICAL):
        assert run_now(main()) == "done\n"
    assert bus.failures >= 8


def test_events_from_a_tools_thread_reach_the_loop_of_the_caller(tmp_path: Path) -> None:
    skill_folder(tmp_path, "pdf")
    bus = EventBus()
    loops: set[int] = set()

    async def listen(_: Event) -> None:
        loops.add(id(asyncio.get_running_loop()))

    bus.subscribe(listen)
    session = Session(metier.discover(tmp_path), services=SessionServices(bus=bus))

    async def main() -> int:
        tools = {tool.name: tool for tool in session.tools()}
        await tools["load_skill"].call({"skill_name": "pdf"})
        await asyncio.sleep(0)
        await bus.drain()
        return id(asyncio.get_running_loop())

    assert {run_now(main())} == loops
