"""A turn is one trace, as a collector receives it over OTLP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_builders import COUNT, SUM, app_of, home_skill, now, talk, turn
from metier.app import App
from metier.runtime import provider_telemetry
from metier.testing import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, calls, fails, says
from otlp_collector import Collector, ReceivedSpan

COUNTS = "triggers:\n  keywords: [count the words]"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.endpoint)
    yield made
    made.end()


def traced(app: App, collector: Collector, *messages: str, **options: Any) -> list[ReceivedSpan]:
    talk(app, *messages, **options)
    app.sessions.telemetry.shutdown()
    return collector.tree()


def app_with(tmp_path: Path, model: ModelServer, **variables: str) -> App:
    return app_of(tmp_path, model, METIER_TELEMETRY_ENABLED="true", METIER_TELEMETRY_METRICS="false", **variables)


def test_a_turn_is_one_trace_with_requests_calls_and_scripts_below_it(tmp_path: Path, collector: Collector) -> None:
    home_skill(tmp_path, "word-count", head=COUNTS, files={"scripts/count.py": COUNT})
    script = [calls("word-count_count", args=["one two"]), says("Two.", tokens=(70, 3))]
    with ModelServer(script) as model:
        spans = traced(app_with(tmp_path, model), collector, "count the words of: one two")
    assert len({each.span.trace_id for each in spans}) == 1
    call = "invoke_agent > execute_tool word-count_count word-count scripts/count.py"
    assert sorted(each.path for each in spans) == [
        "invoke_agent",
        "invoke_agent > chat gpt-4o",
        "invoke_agent > chat gpt-4o",
        "invoke_agent > execute_tool load_skill word-count",
        call,
        f"{call} > run_script word-count scripts/count.py",
        "invoke_agent > select_skills",
    ]
    last = [each for each in spans if each.name == "chat gpt-4o"][-1]
    assert last.attributes["gen_ai.operation.name"] == "chat"
    assert last.attributes["gen_ai.provider.name"] == "openai"
    assert last.attributes["gen_ai.request.model"] == "gpt-4o"
    assert last.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert (last.attributes["gen_ai.usage.input_tokens"], last.attributes["gen_ai.usage.output_tokens"]) == (70, 3)
    assert {each.attributes["gen_ai.conversation.id"] for each in spans} == {spans[0].attributes["gen_ai.conversation.id"]}
    (tool,) = [each for each in spans if each.path == call]
    assert tool.attributes["gen_ai.tool.call.id"].startswith("call_")
    root = spans[0]
    assert root.attributes["gen_ai.usage.input_tokens"] > 70
    assert all(
        root.span.start_time_unix_nano <= each.span.start_time_unix_nano
        and each.span.end_time_unix_nano <= root.span.end_time_unix_nano
        for each in spans
    )


def test_parallel_calls_have_their_own_scripts(tmp_path: Path, collector: Collector) -> None:
    home_skill(tmp_path, "word-count", head=COUNTS, files={"scripts/count.py": COUNT})
    home_skill(tmp_path, "adding-up", head="triggers:\n  keywords: [add up]", files={"scripts/sum.py": SUM})
    both = ModelAnswer(
        calls=(ScriptedCall("word-count_count", {"args": ["a b"]}), ScriptedCall("adding-up_sum", {"args": ["2", "40"]}))
    )
    with ModelServer([both, says("ok")]) as model:
        spans = traced(app_with(tmp_path, model), collector, "count the words and add up")
    parents = {each.name: each.parent.name for each in spans if each.name.startswith("run_script") and each.parent}
    assert parents == {
        "run_script word-count scripts/count.py": "execute_tool word-count_count word-count scripts/count.py",
        "run_script adding-up scripts/sum.py": "execute_tool adding-up_sum adding-up scripts/sum.py",
    }


def test_requests_that_select_and_summarize_are_in_the_trace(tmp_path: Path, collector: Collector) -> None:
    home_skill(tmp_path, "pdf")

    def script(request: ModelRequest) -> ModelAnswer:
        if "Which skills are relevant?" in request.user:
            return says("pdf")
        return says("They spoke.") if "Summarize" in request.user else says("word " * 900)

    with ModelServer(script) as model:
        app = app_with(
            tmp_path, model, METIER_ENGINE_SELECTION="llm", METIER_ENGINE_COMPACTION="model",
            METIER_ENGINE_CONTEXT_TOKENS="3000",
        )  # fmt: skip
        spans = traced(app, collector, *["the pdf " + "long " * 300] * 4)
    turns = [each for each in spans if each.name == "invoke_agent"]
    requests = [each for each in spans if each.name == "chat gpt-4o"]
    assert len({each.span.trace_id for each in spans}) == len(turns) == 4
    assert {each.path for each in requests} == {"invoke_agent > chat gpt-4o"}
    purposes = [[each.attributes["metier.request.purpose"] for each in requests if each.parent is one] for one in turns]
    assert ["selection", "summary", "answer"] in purposes


def test_a_request_that_is_sent_again_is_a_span_of_its_own(tmp_path: Path, collector: Collector) -> None:
    with ModelServer([fails(500), says("ok")]) as model:
        spans = traced(app_with(tmp_path, model), collector, "hello")
    failed, answered = [each for each in spans if each.name == "chat gpt-4o"]
    assert (failed.span.status.code, answered.span.status.code) == (2, 0)
    assert failed.attributes["error.type"]
    assert "error.type" not in spans[0].attributes


def test_an_agent_is_named_and_a_failed_turn_is_an_error(tmp_path: Path, collector: Collector) -> None:
    from metier.agents import Agent

    with ModelServer([fails(401)]) as model:
        app = app_with(tmp_path, model)
        app.conversations.agents.create(Agent(name="clerk", model="gpt-4o", base_url=model.url))
        root = traced(app, collector, "hello", agent="clerk")[0]
    assert root.name == "invoke_agent clerk"
    assert (root.attributes["gen_ai.agent.name"], root.attributes["gen_ai.agent.version"]) == ("clerk", "1")
    assert (root.attributes["error.type"], root.span.status.code) == ("failed", 2)


def test_a_span_of_the_caller_is_the_parent_of_the_turn(tmp_path: Path) -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(memory))

    async def handle(model: ModelServer) -> None:
        async with app_of(tmp_path, model).conversations.engine() as engine:
            engine.session.services.bus.subscribe(provider_telemetry(tracers, MeterProvider()))
            with tracers.get_tracer("web").start_as_current_span("POST /chat"):
                await turn(engine, "hello")

    with ModelServer([says("ok")]) as model:
        now(handle(model))
    spans = {span.name: span for span in memory.get_finished_spans()}
    parent, mine = spans["invoke_agent"].parent, spans["POST /chat"].context
    assert parent is not None and mine is not None
    assert (parent.span_id, parent.trace_id) == (mine.span_id, mine.trace_id)
