"""OpenTelemetry, received by a collector that decodes what was really sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import metier
from metier.runtime import EventBus, Session, SessionServices, events
from metier.runtime.telemetry import Telemetry, otlp_telemetry, provider_telemetry
from metier.testing import FakeRunner, outcome, run_now, skill_folder
from otlp_collector import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.end()


def run_conversation(telemetry: Telemetry, root: Path, answer: Any = "drawn\n") -> None:
    """A short conversation, every part of which is reported to telemetry."""
    skill_folder(
        root,
        "chart",
        body="The secret instructions.",
        files={"scripts/draw.py": "print(1)\n", "references/x.md": "secret file"},
    )
    bus = EventBus()
    bus.subscribe(telemetry)
    session = Session(metier.discover(root), id="talk", services=SessionServices(bus=bus, runner=FakeRunner(answer)))

    async def main() -> None:
        for name, arguments in (
            ("load_skill", {"skill_name": "chart"}),
            ("read_skill_resource", {"skill_name": "chart", "resource_name": "references/x.md"}),
            ("run_skill_script", {"skill_name": "chart", "script_name": "scripts/draw.py", "args": ["secret-argument"]}),
        ):
            tools = {tool.name: tool for tool in session.tools()}
            await tools[name].call(arguments)  # type: ignore[arg-type]

    run_now(main())
    session.deactivate("chart")
    session.activate("chart")
    telemetry.shutdown()


def test_a_call_is_a_span_by_the_gen_ai_skill_conventions(tmp_path: Path, collector: Collector) -> None:
    run_conversation(otlp_telemetry(collector.endpoint), tmp_path)
    spans = collector.spans()
    read = spans["execute_tool read_skill_resource chart references/x.md"]
    assert read["gen_ai.operation.name"] == "execute_tool"
    assert read["gen_ai.tool.name"] == "read_skill_resource"
    assert read["gen_ai.skill.name"] == "chart"
    assert read["gen_ai.skill.resource.name"] == "references/x.md"
    assert read["gen_ai.skill.source.uri"] == f"file://{tmp_path}/chart/SKILL.md"
    assert read["gen_ai.conversation.id"] == "talk"
    assert read["span"].end_time_unix_nano >= read["span"].start_time_unix_nano > 0
    assert {"execute_tool load_skill chart", "run_script chart scripts/draw.py"} <= set(spans)


def test_a_script_that_failed_is_a_span_with_an_error(tmp_path: Path, collector: Collector) -> None:
    run_conversation(otlp_telemetry(collector.endpoint), tmp_path, outcome("", exit_code=3, duration=1.5))
    span = collector.spans()["run_script chart scripts/draw.py"]
    assert (span["error.type"], span["process.exit.code"], span["metier.isolation.level"]) == ("script-failed", 3, "namespace")
    assert span["span"].status.code == 2
    assert span["span"].end_time_unix_nano - span["span"].start_time_unix_nano == pytest.approx(1.5e9, rel=0.01)


def test_usage_is_exported_as_metrics(tmp_path: Path, collector: Collector) -> None:
    run_conversation(otlp_telemetry(collector.endpoint), tmp_path)
    metrics = collector.metrics()
    [by_model, by_user] = sorted(metrics["metier.skill.activations"].sum.data_points, key=lambda point: str(point.attributes))
    assert by_model.as_int + by_user.as_int == 2
    assert metrics["metier.skill.tokens"].sum.data_points[0].as_int > 0
    assert metrics["metier.skill.resource.reads"].sum.data_points[0].as_int == 1
    assert metrics["metier.skill.script.duration"].histogram.data_points[0].sum == pytest.approx(0.5)


def test_content_is_never_sent_unless_it_was_asked_for(tmp_path: Path, collector: Collector) -> None:
    run_conversation(otlp_telemetry(collector.endpoint), tmp_path / "quiet")
    everything = b"".join(body for _, _, body in collector.received)
    assert b"Does chart" not in everything
    assert b"secret" not in everything
    run_conversation(otlp_telemetry(collector.endpoint, content=True), tmp_path / "loud")
    assert collector.spans()["execute_tool load_skill chart"]["gen_ai.skill.description"].startswith("Does chart")


def test_headers_reach_the_collector(tmp_path: Path, collector: Collector) -> None:
    run_conversation(otlp_telemetry(collector.endpoint, headers={"x-api-key": "k"}), tmp_path)
    assert {headers.get("x-api-key") for _, headers, _ in collector.received} == {"k"}


def test_metrics_can_be_left_out(tmp_path: Path, collector: Collector) -> None:
    run_conversation(otlp_telemetry(collector.endpoint, metrics=False), tmp_path)
    assert {path for path, _, _ in collector.received} == {"/v1/traces"}


def test_without_an_endpoint_the_standard_variables_decide(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    run_conversation(otlp_telemetry(), tmp_path)
    assert collector.spans()


def test_a_collector_that_is_down_delays_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

    class Down(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            return SpanExportResult.FAILURE

    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(Down()))
    run_conversation(provider_telemetry(tracers, MeterProvider()), tmp_path)


def test_a_general_tool_is_a_span_with_its_command_only_if_content_is_wanted(collector: Collector) -> None:
    for content in (False, True):
        telemetry = otlp_telemetry(collector.endpoint, content=content)
        telemetry(
            events.ActionTaken(
                timestamp=datetime(2026, 1, 1, tzinfo=UTC), tool="run_command", command="cat secret", size=12, exit_code=0,
                rule="allowed-tools: Bash", duration=0.5, level="namespace",
            )
        )  # fmt: skip
        telemetry.shutdown()
        span = collector.spans()["run_tool run_command"]
        assert (span["metier.bytes"], span["process.exit.code"], span["metier.rule"]) == (12, 0, "allowed-tools: Bash")
        assert span.get("process.command_line") == ("cat secret" if content else None)
