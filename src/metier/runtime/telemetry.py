"""Events and operations as OpenTelemetry traces and metrics.

A turn is one trace: a span `invoke_agent` with a span `chat MODEL` for each request to a model and a span
`execute_tool TOOL …` for each call below it, and scripts below their calls. Names and attributes are those of the semantic
conventions for generative AI and their drafts on skills (semantic-conventions-genai #498 to #501).

OpenTelemetry's own current span is the parent, so a span of the calling program becomes the parent of a turn, and a span
that a toolset opens becomes a child of its call. Names, counts and durations are exported. Texts of skills, users and
scripts are content, and are left out by default. Needs the extra `otel`. The SDK sends in its own threads, so no run waits
for a collector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from metier.extras import MissingExtraError

from . import events
from .activation import ActivatedBy
from .events import Event
from .operations import Operation, OperationKind

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Tracer, TracerProvider

__all__ = ["Telemetry", "otlp_telemetry", "provider_telemetry"]

_SCOPE = "metier"
Attribute = str | bool | int | float | Sequence[str]


class Telemetry:
    """A subscriber of an EventBus. `shutdown` sends what is left."""

    def __init__(self, tracer: Tracer, meter: Meter, *, content: bool = False, providers: Sequence[object] = ()) -> None:
        self._tracer = tracer
        self._content = content
        self._providers = providers
        self._paths: dict[str, str] = {}
        counter = meter.create_counter
        self._activations = counter("metier.skill.activations", unit="{activation}", description="Skills activated")
        self._tokens = counter("metier.skill.tokens", unit="{token}", description="Tokens of instructions given to models")
        self._reads = counter("metier.skill.resource.reads", unit="{read}", description="Files of skills read")
        self._refusals = counter("metier.skill.refusals", unit="{refusal}", description="Actions that a policy refused")
        self._seconds = meter.create_histogram("metier.skill.script.duration", unit="s", description="Duration of script runs")

    def __call__(self, event: Event) -> None:
        match event:
            case events.SkillActivated():
                self._activated(event)
            case events.ResourceRead():
                self._reads.add(1, {"gen_ai.skill.name": event.name})
            case events.ScriptFinished():
                self._finished(event)
            case events.ActionTaken():
                self._acted(event)
            case events.SelectionMade():
                self._selected(event)
            case events.ActionRefused():
                self._refusals.add(1, {**self._skill(event.name), "metier.rule": event.rule})

    def begin_operation(self, operation: Operation) -> Callable[[], None]:
        """Starts the span of an operation and makes it the current one. The returned function ends it."""
        from opentelemetry import context, trace

        is_request = operation.kind is OperationKind.MODEL
        span = self._tracer.start_span(
            _span_name(operation), kind=trace.SpanKind.CLIENT if is_request else trace.SpanKind.INTERNAL,
            attributes={"gen_ai.operation.name": operation.kind, "gen_ai.conversation.id": operation.session},
        )  # fmt: skip
        token = context.attach(trace.set_span_in_context(span))

        def end() -> None:
            context.detach(token)
            # Only now: the call of load_skill has told where the skill is, and the model how many tokens it used.
            span.set_attributes({**_attributes(operation), **self._skill(operation.skill)})
            if operation.error:
                span.set_status(trace.Status(trace.StatusCode.ERROR))
            span.end()

        return end

    def flush(self) -> None:
        for provider in self._providers:
            provider.force_flush()  # type: ignore[attr-defined]  # the SDK's providers have it, the API's do not

    def shutdown(self) -> None:
        for provider in self._providers:
            provider.shutdown()  # type: ignore[attr-defined]  # see flush

    def _activated(self, event: events.SkillActivated) -> None:
        self._paths[event.name] = event.path
        self._activations.add(1, {"gen_ai.skill.name": event.name, "metier.activated_by": event.by})
        self._tokens.add(event.tokens, {"gen_ai.skill.name": event.name})
        if event.by is ActivatedBy.MODEL:
            # Its call of load_skill has a span already.
            return
        content = {"gen_ai.skill.description": event.description} if self._content else {}
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "load_skill", "gen_ai.tool.type": "function"}
        more: dict[str, Attribute] = {"metier.activated_by": event.by, "metier.tokens": event.tokens}
        self._span(event, f"execute_tool load_skill {event.name}", {**tool, **self._skill(event.name), **more, **content})

    def _finished(self, event: events.ScriptFinished) -> None:
        skill = self._skill(event.name)
        self._seconds.record(event.duration, {"gen_ai.skill.name": event.name, "gen_ai.skill.resource.name": event.script})
        attributes: dict[str, Attribute] = {
            **skill,
            "gen_ai.skill.resource.name": event.script,
            "metier.isolation.level": event.level,
        }
        if event.exit_code is not None:
            attributes["process.exit.code"] = event.exit_code
        error = event.error or ("timeout" if event.timed_out else "" if event.ok else "script-failed")
        self._span(event, f"run_script {event.name} {event.script}", attributes, duration=event.duration, error=error)

    def _acted(self, event: events.ActionTaken) -> None:
        attributes: dict[str, Attribute] = {
            **self._skill(event.name), "gen_ai.tool.name": event.tool, "metier.rule": event.rule,
            "metier.isolation.level": event.level, "metier.bytes": event.size,
        }  # fmt: skip
        if event.exit_code is not None:
            attributes["process.exit.code"] = event.exit_code
        if self._content:
            attributes |= {"metier.paths": event.paths, "process.command_line": event.command}
        self._span(event, f"run_tool {event.tool}", attributes, duration=event.duration)

    def _selected(self, event: events.SelectionMade) -> None:
        content = {"metier.selection.query": event.query} if self._content else {}
        self._span(
            event,
            "select_skills",
            {"metier.selection.skills": event.names, "metier.selection.considered": event.considered, **content},
        )

    def _skill(self, name: str) -> dict[str, Attribute]:
        if not name:
            return {}
        path = self._paths.get(name)
        where: dict[str, Attribute] = {"gen_ai.skill.source.uri": f"file://{quote(path)}"} if path else {}
        return {"gen_ai.skill.name": name, **where}

    def _span(
        self, event: Event, name: str, attributes: Mapping[str, Attribute], *, duration: float = 0.0, error: str = ""
    ) -> None:  # fmt: skip
        from opentelemetry.trace import Status, StatusCode

        end = _nanoseconds(event.timestamp)
        span = self._tracer.start_span(name, start_time=end - int(duration * 1e9))
        span.set_attributes({**attributes, "gen_ai.conversation.id": event.session})
        if error:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(end_time=end)


def provider_telemetry(tracers: TracerProvider, meters: MeterProvider, *, content: bool = False) -> Telemetry:
    """Adds spans and metrics to the OpenTelemetry providers of the calling program."""
    return Telemetry(tracers.get_tracer(_SCOPE), meters.get_meter(_SCOPE), content=content)


def otlp_telemetry(
    endpoint: str | None = None, *, headers: Mapping[str, str] | None = None, content: bool = False, metrics: bool = True,
    service: str = "metier",
) -> Telemetry:  # fmt: skip
    """Exports to a collector over OTLP/HTTP. Without an endpoint, the standard OTEL_EXPORTER_OTLP_* variables apply."""
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider as SdkMeters
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as SdkTracers
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtraError("telemetry needs OpenTelemetry", extra="otel") from None
    base = endpoint.rstrip("/") if endpoint else None
    sent = dict(headers) if headers else None
    resource = Resource.create({"service.name": service})
    tracers = SdkTracers(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=base and f"{base}/v1/traces", headers=sent)))
    # Some services take traces only, and would log an error a minute for metrics.
    exporter = OTLPMetricExporter(endpoint=base and f"{base}/v1/metrics", headers=sent) if metrics else None
    readers = [PeriodicExportingMetricReader(exporter)] if exporter is not None else []
    meters = SdkMeters(resource=resource, metric_readers=readers)
    return Telemetry(tracers.get_tracer(_SCOPE), meters.get_meter(_SCOPE), content=content, providers=(tracers, meters))


def _nanoseconds(time: datetime) -> int:
    return int(time.timestamp() * 1e9)


def _span_name(operation: Operation) -> str:
    skill = (operation.skill, operation.resource) if operation.skill else ()
    return " ".join(filter(None, (operation.kind, operation.name, *skill)))


def _attributes(operation: Operation) -> dict[str, Attribute]:
    """The attributes that are known at the end; those without a value are left out."""
    of_agent = operation.kind is OperationKind.TURN
    of_tool = operation.kind is OperationKind.TOOL
    found: dict[str, Attribute] = {
        "gen_ai.agent.name": operation.name if of_agent else "",
        "gen_ai.agent.version": operation.version,
        "gen_ai.tool.name": operation.name if of_tool else "",
        "gen_ai.tool.type": "function" if of_tool else "",
        "gen_ai.tool.call.id": operation.call_id,
        "gen_ai.skill.resource.name": operation.resource if operation.skill else "",
        "gen_ai.provider.name": operation.provider,
        "gen_ai.request.model": operation.model,
        "gen_ai.response.model": operation.answered_by,
        "gen_ai.response.id": operation.response_id,
        "gen_ai.response.finish_reasons": (operation.finish_reason,) if operation.finish_reason else (),
        "gen_ai.usage.input_tokens": operation.input_tokens,
        "gen_ai.usage.output_tokens": operation.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": operation.cached_tokens,
        "metier.request.purpose": operation.purpose,
        "error.type": operation.error,
    }
    return {name: value for name, value in found.items() if value}
