"""The parts of a long conversation that are left out, and those that never are."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine_builders import app_of, finished, home_skill, now, of, talk, turn
from guards import eventually
from metier.agents import Compaction, TurnStatus
from metier.agents.events import HistoryCompacted
from metier.agents.history import turns_to_drop
from metier.testing import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, calls, fails, says
from metier.values import replace

LONG = ("word," * 400 + " ") * 5
"""About 2,000 tokens, in few chunks."""
SMALL = {"METIER_ENGINE_CONTEXT_TOKENS": "6000", "METIER_ENGINE_TOOLS": "false"}
BODY = "Always sign with *Yours faithfully*.\n"


def test_nothing_is_dropped_within_the_limit_and_then_enough_for_several_turns() -> None:
    assert turns_to_drop([10, 10, 10], 30) == 0
    assert turns_to_drop([10, 10, 10], 29) == 2
    assert turns_to_drop([100, 1, 1], 50) == 1
    assert turns_to_drop([10], -5) == 1
    assert turns_to_drop([], 0) == 0


def test_the_oldest_turns_are_dropped_with_a_note_and_stay_in_the_repository(tmp_path: Path) -> None:
    with ModelServer(lambda _: says(LONG)) as model:
        app = app_of(tmp_path, model, **SMALL)
        turns = talk(app, "first", "second", "third", "fourth", id="mine")
        last = model.requests[-1]
    compacted = [event for events in turns for event in of(events, HistoryCompacted)]
    assert compacted
    assert all(event.after < event.before for event in compacted)
    assert "earlier turns of this conversation left out" in last.system
    assert "first" not in [each["content"] for each in last.body["messages"]]
    assert [turn.message for turn in app.conversations.store.turns("mine")] == ["first", "second", "third", "fourth"]


def test_a_resumed_conversation_does_not_send_again_what_was_dropped(tmp_path: Path) -> None:
    with ModelServer(lambda _: says(LONG)) as model:
        talk(app_of(tmp_path, model, **SMALL), "first", "second", "third", "fourth", id="mine")
        before = model.requests[-1].body["messages"]
        talk(app_of(tmp_path, model, **SMALL), "fifth", id="mine")
        after = [each["content"] for each in model.requests[-1].body["messages"]]
    assert "first" not in after
    assert before[-1]["content"] == "fourth"


def test_the_model_may_write_a_summary(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> ModelAnswer:
        return says("They said FIRST.") if request.user.startswith("Summarize the conversation") else says(LONG)

    with ModelServer(script) as model:
        app = app_of(tmp_path, model, METIER_ENGINE_COMPACTION="model", **SMALL)
        turns = talk(app, "first", "second", "third", "fourth", id="mine")
        asked = [request.user for request in model.requests if request.user.startswith("Summarize")]
        assert "User: first" in asked[0]
        assert "They said FIRST." in model.requests[-1].system
        talk(app_of(tmp_path, model), "fifth", id="mine")
        assert "They said FIRST." in model.requests[-1].system
    assert any(event.summary == "They said FIRST." for events in turns for event in of(events, HistoryCompacted))


def test_a_turn_that_is_stopped_during_the_summary_drops_nothing(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> ModelAnswer:
        return says("late", delay=60) if request.user.startswith("Summarize") else says(LONG)

    async def stopped(model: ModelServer) -> None:
        app = app_of(tmp_path, model, METIER_ENGINE_COMPACTION="model", **SMALL)
        async with app.conversations.engine() as engine:
            for message in ("first", "second", "third"):
                await engine.ask(message)
            asked = asyncio.create_task(turn(engine, "fourth"))
            summarizes = lambda: model.requests[-1].user.startswith("Summarize")  # noqa: E731
            await asyncio.to_thread(eventually, summarizes, "the model writes a summary")
            engine.stop()
            assert finished(await asked).status is TurnStatus.STOPPED
            engine.options = replace(engine.options, compaction=Compaction.DROP)
            events = await turn(engine, "fifth")
            assert [event.turns for event in of(events, HistoryCompacted)] == [2]
            assert "2 earlier turns of this conversation left out" in model.requests[-1].system

    with ModelServer(script) as model:
        now(stopped(model))


def test_a_failed_summary_does_not_fail_the_turn(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> ModelAnswer:
        return fails(400, "no") if request.user.startswith("Summarize") else says(LONG)

    with ModelServer(script) as model:
        app = app_of(tmp_path, model, METIER_ENGINE_COMPACTION="model", **SMALL)
        turns = talk(app, "first", "second", "third", "fourth")
        assert "left out.]" in model.requests[-1].system
    assert [finished(events).status for events in turns] == [TurnStatus.DONE] * 4


def test_the_instructions_of_a_skill_are_never_compacted_away(tmp_path: Path) -> None:
    home_skill(tmp_path, "letters", body=BODY)

    def script(request: ModelRequest) -> ModelAnswer:
        return calls("load_skill", skill_name="letters") if request.user == "first" and not request.results else says(LONG)

    with ModelServer(script) as model:
        app = app_of(tmp_path, model, SKILLS_AUTO_SELECT="false", **SMALL)
        talk(app, "first", "second", "third", "fourth", "fifth")
        requests = model.requests[1:]
    # First they stand in the history, where the model loaded them, later in the prompt; always once.
    assert [("Yours faithfully" in request.system) for request in requests][:2] == [False, False]
    assert "Yours faithfully" in requests[-1].system
    for request in requests:
        assert (request.system + "".join(request.results)).count("Yours faithfully") == 1


def test_an_unloaded_skill_is_reported_as_unloaded(tmp_path: Path) -> None:
    home_skill(tmp_path, "letters", body=BODY)
    home_skill(tmp_path, "other", head="triggers:\n  keywords: [other thing]")
    with ModelServer([calls("load_skill", skill_name="letters"), says("ok"), says("ok")]) as model:
        talk(app_of(tmp_path, model, SKILLS_MAX_ACTIVE="1"), "hello", "the other thing")
        assert "No longer active, so do not follow their instructions from earlier: letters." in model.requests[-1].system


def test_long_answers_of_tools_are_cut_before_a_turn_is_given_up(tmp_path: Path) -> None:
    home_skill(tmp_path, "letters", body=BODY, head="triggers:\n  keywords: [letter]", files={"references/long.md": LONG * 2})
    read = ScriptedCall("read_skill_resource", {"skill_name": "letters", "resource_name": "references/long.md"})
    more = ScriptedCall("read_skill_resource", {"skill_name": "letters", "resource_name": "references/long.md", "offset": 10})
    with ModelServer([ModelAnswer(calls=(read,)), ModelAnswer(calls=(more,)), says("Read it.")]) as model:
        (events,) = talk(app_of(tmp_path, model, **SMALL), "a letter please")
        first, second = model.requests[-1].results
    assert finished(events).answer == "Read it."
    assert (len(first) < 600, "[shortened; call the tool again" in first, len(second) > 5_000) == (True, True, True)


def test_a_message_that_cannot_fit_is_an_error(tmp_path: Path) -> None:
    with ModelServer([says("never")]) as model:
        (events,) = talk(app_of(tmp_path, model, **SMALL), LONG * 6)
        assert not model.requests
    assert finished(events).reason == "this turn no longer fits into 6,000 tokens"
