"""Logs of a server process: one line for each request and for each error, as text or as JSON.

Every request has an id. It stands in the response (`X-Request-Id`), in the line of the request and in every line that is logged
while the request runs, so that a report of a user leads to its log lines. The id of a trusted proxy is kept.
"""

from __future__ import annotations

import logging
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

from metier.values import dataclass

__all__ = ["REQUEST_ID", "JsonFormatter", "LoggedRequest", "TextFormatter", "log_request", "logging_config", "new_request_id"]

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
_requests = logging.getLogger("metier.registry.requests")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    method: str
    path: str
    """Without tokens."""
    status: int
    seconds: float
    client: str
    holder: str
    """The holder of the token, or an empty text."""


def new_request_id(stated: str = "") -> str:
    """Returns the id that a trusted proxy states, or a new one."""
    return stated if _ID.fullmatch(stated) else secrets.token_hex(8)


def log_request(request: LoggedRequest) -> None:
    if _requests.isEnabledFor(logging.INFO):
        _requests.info("request", extra={"request": request})


def logging_config(style: str) -> dict[str, Any]:  # Any: the schema of logging.config
    """Returns the configuration of the `logging` module: `text`, `json`, or `errors` for text without requests."""
    formatter = JsonFormatter if style == "json" else TextFormatter
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{formatter.__module__}.{formatter.__qualname__}"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "loggers": {
            "metier.registry": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            "metier.registry.requests": {"level": "WARNING" if style == "errors" else "INFO"},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        },
    }


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {"time": _time(record), "level": record.levelname.lower()}
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        request: LoggedRequest | None = getattr(record, "request", None)
        if request is not None:
            line |= {
                "method": request.method, "path": request.path, "status": request.status,
                "ms": round(request.seconds * 1000, 2), "client": request.client, "holder": request.holder,
            }  # fmt: skip
        else:
            line |= {"logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class TextFormatter(logging.Formatter):
    """One line for people; an exception follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        request: LoggedRequest | None = getattr(record, "request", None)
        if request is not None:
            said = f"{request.method} {request.path} {request.status} {request.seconds * 1000:.1f} ms"
            said += f" {request.client or '-'} {request.holder or '-'}"
        else:
            said = f"{record.levelname.lower()}: {record.getMessage()}"
        if request_id := REQUEST_ID.get():
            said += f" [{request_id}]"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{_time(record)} {said}{trace}"


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
