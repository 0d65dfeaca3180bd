"""An OTLP/HTTP collector on a local port. It decodes what was really sent with OpenTelemetry's own protobuf classes."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Collector", "ReceivedSpan"]


class ReceivedSpan:
    """One span as it arrived."""

    def __init__(self, span: Any) -> None:  # Any: a class that protobuf makes
        self.span = span
        self.name: str = span.name
        self.attributes = _attributes(span.attributes)
        self.parent: ReceivedSpan | None = None

    @property
    def path(self) -> str:
        """The names from the root to this span."""
        return f"{self.parent.path} > {self.name}" if self.parent is not None else self.name


class Collector:
    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, str], bytes]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name that http.server calls
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.received.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def tree(self) -> list[ReceivedSpan]:
        """All spans in the order of their starts, each with its parent if that was sent too."""
        sent = [
            ReceivedSpan(span)
            for path, _, body in self.received
            if path == "/v1/traces"
            for group in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]
        known = {each.span.span_id: each for each in sent}
        for each in sent:
            each.parent = known.get(each.span.parent_span_id)
        return sorted(sent, key=lambda each: int(each.span.start_time_unix_nano))

    def spans(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for path, _, body in self.received:
            if path == "/v1/traces":
                request = ExportTraceServiceRequest.FromString(body)
                for group in request.resource_spans:
                    for scope in group.scope_spans:
                        found |= {span.name: {"span": span, **_attributes(span.attributes)} for span in scope.spans}
        return found

    def metrics(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path, _, body in self.received:
            if path == "/v1/metrics":
                for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    found |= {metric.name: metric for scope in group.scope_metrics for metric in scope.metrics}
        return found

    def end(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)
