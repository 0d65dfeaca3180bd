"""Whatever the model or its provider does wrong, the user gets an answer or a sentence, and the conversation goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from engine_builders import COUNT, app_of, finished, home_skill, now, of, one, talk, turn
from guards import eventually
from metier.agents import TurnFinished, TurnStatus
from metier.agents.events import AnswerText, ModelRetried, ToolCallFinished, ToolCallStarted
from metier.app import App
from metier.errors import UnavailableError
from metier.runtime import ActionRefused, ApprovalAnswer, Question, ScriptStarted
from metier.testing import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, StreamFault, calls, fails, says

FAST = {"METIER_ENGINE_RETRIES": "2"}
COUNTS = "triggers:\n  keywords: [count]"


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (ScriptedCall("load_skill", {"skill_name": "missing"}), "Error (bad-arguments)"),
        (ScriptedCall("no_such_tool", {}), "Error (unknown-tool): there is no tool 'no_such_tool'"),
        (ScriptedCall("load_skill", '{"skill_name": '), "Error (bad-arguments): the arguments are not JSON"),
        (ScriptedCall("load_skill", "[1]"), "Error (bad-arguments): the arguments are not a JSON object"),
        (ScriptedCall("load_skill", {}), "Error (bad-arguments)"),
        (ScriptedCall("run_skill_script", {"skill_name": "counter", "script_name": "scripts/fails.py"}), 'ended="exit code 3"'),
        (ScriptedCall("read_skill_resource", {"skill_name": "counter", "resource_name": "../../secret"}), "Error ("),
    ],
)
def test_a_mistake_of_the_model_gets_an_answer_and_the_turn_continues(
    tmp_path: Path, called: ScriptedCall, expected: str
) -> None:
    files = {"scripts/fails.py": "import sys\nsys.exit(3)\n", "scripts/count.py": COUNT}
    home_skill(tmp_path, "counter", head=COUNTS, files=files)
    with ModelServer([ModelAnswer(calls=(called,)), says("I see.")]) as model:
        (events,) = talk(app_of(tmp_path, model), "count")
        assert expected in model.requests[1].results[0]
    assert not one(events, ToolCallFinished).ok
    assert (finished(events).answer, finished(events).status) == ("I see.", TurnStatus.DONE)


def test_a_skill_loaded_in_the_same_breath_can_be_used(tmp_path: Path) -> None:
    home_skill(tmp_path, "counter", files={"scripts/count.py": COUNT})
    both = ModelAnswer(
        calls=(ScriptedCall("load_skill", {"skill_name": "counter"}), ScriptedCall("counter_count", {"args": ["a b"]}))
    )
    with ModelServer([both, says("Two.")]) as model:
        talk(app_of(tmp_path, model, SKILLS_AUTO_SELECT="false"), "hello")
        assert "2 words" in model.requests[1].results[1]


def test_a_tool_loop_ends_with_a_message_to_the_user(tmp_path: Path) -> None:
    home_skill(tmp_path, "counter")
    with ModelServer(lambda _: calls("list_skills")) as model:
        (events,) = talk(app_of(tmp_path, model, METIER_ENGINE_STEPS="6"), "hello")
        assert len(model.requests) == 6
        # The first three are answered; the others are reported as repeated calls.
        assert ["repeated" in result for result in model.requests[-1].results] == [False, False, False, True, True]
    end = finished(events)
    assert end.status is TurnStatus.LIMITED
    assert end.reason == "the model called tools in 6 steps without an answer"


def test_after_a_loop_the_conversation_continues(tmp_path: Path) -> None:
    home_skill(tmp_path, "counter")
    answers = iter([calls("list_skills"), calls("list_skills"), says("Sorry, here I am.")])
    with ModelServer(lambda _: next(answers)) as model:
        _, second = talk(app_of(tmp_path, model, METIER_ENGINE_STEPS="2"), "hello", "are you there?")
        assert model.requests[2].results
    assert finished(second).answer == "Sorry, here I am."


def test_a_turn_has_a_token_limit(tmp_path: Path) -> None:
    home_skill(tmp_path, "counter")
    said = ModelAnswer(calls=(ScriptedCall("list_skills", {}),), tokens=(900, 200))
    with ModelServer([said, says("never")]) as model:
        (events,) = talk(app_of(tmp_path, model, METIER_ENGINE_TURN_TOKENS="1000"), "hello")
    assert finished(events).reason == "this turn used 1,100 tokens; the limit is 1,000"


def test_a_conversation_has_a_token_limit(tmp_path: Path) -> None:
    with ModelServer([says("one", tokens=(900, 200))]) as model:
        _, second = talk(app_of(tmp_path, model, METIER_ENGINE_SESSION_TOKENS="1000"), "hello", "and?")
        assert len(model.requests) == 1
    assert (finished(second).status, "1,000 tokens" in finished(second).reason) == (TurnStatus.LIMITED, True)


FAULTS = [
    fails(500),
    fails(503),
    fails(429, retry_after=0),
    says("1 2", fault=StreamFault.CUT),
    says("1 2", fault=StreamFault.GARBLED),
    says(""),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_temporary_errors_are_retried(tmp_path: Path, fault: ModelAnswer) -> None:
    with ModelServer([fault, says("At last.")]) as model:
        (events,) = talk(app_of(tmp_path, model, **FAST), "hello")
    assert one(events, ModelRetried).attempt == 1
    end = finished(events)
    # What was said before the stream broke is void.
    assert (end.answer, end.status) == ("At last.", TurnStatus.DONE)


def test_tools_that_ran_are_not_run_again_by_a_retry(tmp_path: Path) -> None:
    home_skill(tmp_path, "counter", head=COUNTS, files={"scripts/count.py": COUNT})
    script = [calls("counter_count", args=["a"]), says("half an", fault=StreamFault.CUT), says("One.")]
    with ModelServer(script) as model:
        (events,) = talk(app_of(tmp_path, model, **FAST), "count")
    assert len(of(events, ToolCallStarted)) == 1
    assert finished(events).answer == "One."


def test_patience_ends(tmp_path: Path) -> None:
    with ModelServer(lambda _: fails(503, "still busy")) as model:
        (events,) = talk(app_of(tmp_path, model, **FAST), "hello")
        assert len(model.requests) == 3
    end = finished(events)
    assert (end.status, "still busy" in end.reason) == (TurnStatus.FAILED, True)
    assert [event.attempt for event in of(events, ModelRetried)] == [1, 2]


def test_retry_delays_grow_and_a_providers_retry_after_takes_precedence(tmp_path: Path) -> None:
    script = [fails(500), fails(500), fails(429, retry_after=7), says("ok")]
    with ModelServer(script) as model:
        (events,) = talk(app_of(tmp_path, model, METIER_ENGINE_RETRIES="3"), "hello")
    first, second, third = (event.seconds for event in of(events, ModelRetried))
    assert (0.8 <= first <= 1.2, 1.6 <= second <= 2.4, third) == (True, True, 7)


def test_a_retry_delay_that_is_too_long_is_reported_instead(tmp_path: Path) -> None:
    with ModelServer([fails(429, "come back tomorrow", retry_after=3600)]) as model:
        (events,) = talk(app_of(tmp_path, model, **FAST), "hello")
    assert "come back tomorrow" in finished(events).reason


@pytest.mark.parametrize(
    ("status", "words"), [(401, "rejected the API key"), (404, "unknown model"), (400, "rejected the request")]
)
def test_a_permanent_error_is_reported_at_once(tmp_path: Path, status: int, words: str) -> None:
    with ModelServer([fails(status, "no, because")]) as model:
        (events,) = talk(app_of(tmp_path, model), "hello")
        assert len(model.requests) == 1
    end = finished(events)
    assert end.status is TurnStatus.FAILED
    assert words in end.reason
    assert "no, because" in end.reason
    assert end.hint


def test_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    model = ModelServer()
    model.close()
    (events,) = talk(app_of(tmp_path, model, **FAST), "hello")
    assert "cannot reach" in finished(events).reason


def test_ask_raises_if_there_is_no_answer(tmp_path: Path) -> None:
    model = ModelServer()
    model.close()

    async def ask(app: App) -> TurnFinished:
        async with app.conversations.engine() as engine:
            return await engine.ask("hello")

    with pytest.raises(UnavailableError, match="cannot reach") as unreachable:
        now(ask(app_of(tmp_path, model, **FAST)))
    assert (unreachable.value.retryable, "model.base_url" in unreachable.value.hint) == (True, True)
    with pytest.raises(UnavailableError, match="no model is set") as unset:
        now(ask(app_of(tmp_path)))
    assert "metier config set model.name" in unset.value.hint


def test_an_unreachable_server_is_asked_once(tmp_path: Path) -> None:
    model = ModelServer()
    model.close()
    (events,) = talk(app_of(tmp_path, model), "hello")
    assert of(events, ModelRetried) == []


def test_an_address_that_does_not_answer_is_not_asked_again() -> None:
    from httpx import ConnectTimeout
    from pydantic_ai.exceptions import ModelConnectionError

    from metier.models.library import read_failure

    error = ModelConnectionError("gpt-4o", "timed out")
    error.__cause__ = ConnectTimeout("timed out")
    assert not read_failure(error).temporary


@pytest.mark.parametrize("name", ["openai-chat:gpt-4o", "openai-responses:gpt-5", "anthropic:claude-test"])
def test_an_answer_that_is_cut_off_says_so(tmp_path: Path, name: str) -> None:
    with ModelServer([says("Once upon a", cut_off=True), says("time")]) as model:
        keys = {"OPENAI_API_KEY": "a-key", "ANTHROPIC_API_KEY": "a-key", "METIER_MODEL_NAME": name}
        server = model.root if name.startswith("anthropic") else model.url
        first, second = talk(app_of(tmp_path, None, **keys, METIER_MODEL_BASE_URL=server), "tell a story", "go on")
        assert "Once upon a" in str(model.requests[1].body)
    end = finished(first)
    assert (end.answer, end.status) == ("Once upon a", TurnStatus.LIMITED)
    assert "cut off" in end.reason
    assert "another message" in end.hint
    assert finished(second).status is TurnStatus.DONE


def test_a_failed_turn_does_not_spoil_the_next(tmp_path: Path) -> None:
    with ModelServer([fails(400, "no"), says("Yes.")]) as model:
        _, second = talk(app_of(tmp_path, model), "hello", "and now?")
        assert "hello" in str(model.requests[1].body)
    assert finished(second).answer == "Yes."


def test_an_unknown_model_is_a_readable_error(tmp_path: Path) -> None:
    (events,) = talk(app_of(tmp_path, None, METIER_MODEL_NAME="unknown:name"), "hello")
    assert (finished(events).status, "unknown:name" in finished(events).reason) == (TurnStatus.FAILED, True)
    (events,) = talk(app_of(tmp_path, None, METIER_MODEL_NAME="tiny"), "hello")
    assert "has no provider" in finished(events).reason


def test_stopping_ends_the_stream_and_keeps_the_text_so_far(tmp_path: Path) -> None:
    async def stopped(model: ModelServer) -> None:
        async with app_of(tmp_path, model).conversations.engine() as engine:
            events = []
            async for event in engine.process("tell me a long story"):
                events.append(event)
                if len(of(events, AnswerText)) == 3:
                    engine.stop()
            end = finished(events)
            assert (end.status, end.answer) == (TurnStatus.STOPPED, "once once once ")
            assert finished(await turn(engine, "go on")).answer == "The end."
            assert "once once once" in str(model.requests[1].body["messages"])
            await asyncio.to_thread(eventually, lambda: model.hung_up == 1, "the stream is closed")

    answers = iter([says("once " * 500, pause=0.01), says("The end.")])
    with ModelServer(lambda _: next(answers)) as model:
        now(stopped(model))


def test_stopping_kills_the_script_that_is_running(tmp_path: Path) -> None:
    slow = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"
    home_skill(tmp_path, "counter", head=COUNTS, files={"scripts/slow.py": slow})

    async def stopped(model: ModelServer) -> None:
        async with app_of(tmp_path, model).conversations.engine() as engine:
            events = []
            async for event in engine.process("count"):
                events.append(event)
                if isinstance(event, ScriptStarted):
                    await asyncio.to_thread(eventually, lambda: _sleeping("slow.py"), "the script runs")
                    engine.stop()
            assert finished(events).status is TurnStatus.STOPPED
            assert not _sleeping("slow.py")
            # The call without an answer is gone from the history, and a provider takes it.
            assert finished(await turn(engine, "never mind")).answer == "Fine."
            assert model.requests[1].results == ()

    script = [calls("counter_slow"), says("Fine.")]
    with ModelServer(script) as model:
        now(stopped(model))


def test_leaving_the_loop_stops_the_turn_too(tmp_path: Path) -> None:
    async def left(model: ModelServer) -> None:
        async with app_of(tmp_path, model).conversations.engine() as engine:
            stream = engine.process("hello")
            async for event in stream:
                if isinstance(event, AnswerText):
                    break
            await stream.aclose()
            assert finished(await turn(engine, "again")).answer == "ok"

    answers = iter([says("word " * 500, pause=0.01), says("ok")])
    with ModelServer(lambda _: next(answers)) as model:
        now(left(model))


@pytest.mark.parametrize(("answer", "runs"), [(ApprovalAnswer.ONCE, True), (ApprovalAnswer.NO, False)])
def test_actions_that_need_approval_ask_the_user(tmp_path: Path, answer: ApprovalAnswer, runs: bool) -> None:
    home_skill(tmp_path, "counter", head=COUNTS, files={"scripts/count.py": COUNT})
    asked: list[Question] = []

    async def approve(question: Question) -> ApprovalAnswer:
        asked.append(question)
        return answer

    with ModelServer([calls("counter_count", args=["a"]), says("ok")]) as model:
        (events,) = talk(app_of(tmp_path, model, METIER_POLICY_SCRIPTS="ask"), "count", approve=approve)
        assert ("1 words" in model.requests[1].results[0]) is runs
    assert [(question.skill, str(question.request)) for question in asked] == [("counter", "Script(scripts/count.py)")]
    assert bool(of(events, ActionRefused)) is not runs
    assert finished(events).status is TurnStatus.DONE


def test_without_a_user_to_ask_the_answer_is_no(tmp_path: Path) -> None:
    home_skill(tmp_path, "counter", head=COUNTS, files={"scripts/count.py": COUNT})
    with ModelServer([calls("counter_count", args=["a"]), says("ok")]) as model:
        talk(app_of(tmp_path, model, METIER_POLICY_SCRIPTS="ask"), "count")
        assert "Error (refused)" in model.requests[1].results[0]


def test_a_window_smaller_than_we_thought_is_found_out(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> ModelAnswer:
        if len(str(request.body)) > 12_000:
            return fails(400, "This model's maximum context length is 3000 tokens. Please reduce the length of the messages.")
        return says("word," * 1_500)

    with ModelServer(script) as model:
        turns = talk(app_of(tmp_path, model, METIER_ENGINE_CONTEXT_TOKENS="8000"), "one", "two", "three")
    assert [finished(events).status for events in turns] == [TurnStatus.DONE] * 3


def _sleeping(name: str) -> bool:
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as stream:
                if name.encode() in stream.read():
                    return True
        except OSError:
            continue
    return False
