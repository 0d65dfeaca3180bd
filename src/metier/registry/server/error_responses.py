"""Error responses: problem details (RFC 9457), or plain text for the ClawHub client."""

from __future__ import annotations

from http import HTTPStatus

from metier.errors import (
    AmbiguousError,
    ConflictError,
    InvalidNameError,
    InvalidSkillError,
    MetierError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UsageError,
    plural,
)
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.turns import TooManyUploadsError
from metier.registry.wire import ProblemDetails, ReleaseFinding
from metier.registry.workers import WorkBudgetError

from .responses import Headers, HttpResponse, json_response, text_response

__all__ = [
    "MethodNotAllowedError",
    "TooLargeError",
    "TooManyRequestsError",
    "oci_response",
    "plain_response",
    "problem_response",
    "status_of",
]

_DOCS = "/docs#problem-"
_RETRY_SECONDS = 5


class TooLargeError(MetierError):
    code = "too-large"

    def __init__(
        self, subject: str, *, limit: int, size: int | None = None, hint: str = "remove files that the skill does not need"
    ) -> None:
        measured = f"{size:,} bytes" if size is not None else f"more than {limit:,} bytes"
        super().__init__(f"{subject} has {measured}; the limit is {limit:,}", hint=hint)
        self.limit = limit


class TooManyRequestsError(MetierError):
    code = "too-many-requests"

    def __init__(self, *, limit: int, seconds: int) -> None:
        super().__init__(f"more than {limit:,} requests per minute", hint=f"wait {plural(seconds, 'second')}")
        self.seconds = seconds


class MethodNotAllowedError(MetierError):
    code = "method-not-allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"method {method[:20]} is not allowed", hint=f"use {allowed}")
        self.allowed = allowed


_STATUS: tuple[tuple[type[MetierError], int, str], ...] = (
    (UnauthenticatedError, 401, "Token required"),
    (NotFoundError, 404, "Not found"),
    (AmbiguousError, 404, "Not found"),
    (InvalidSkillError, 422, "Not accepted"),
    (WorkBudgetError, 422, "Not accepted"),
    (TooLargeError, 413, "Too large"),
    (TooManyRequestsError, 429, "Too many requests"),
    (TooManyUploadsError, 429, "Too many uploads"),
    (MethodNotAllowedError, 405, "Method not allowed"),
    (ConflictError, 409, "Conflict"),
    (UnavailableError, 503, "Temporarily unavailable"),
    (UsageError, 400, "Bad request"),
    (InvalidNameError, 400, "Bad request"),
)


def status_of(error: MetierError) -> tuple[int, str]:
    if isinstance(error, RefusedError):
        if error.rule in ("archive-size", "archive-count", "archive-ratio"):
            return 413, "Too large"
        if error.rule == "path-check":
            return 400, "Bad request"
        return (422, "Not accepted") if error.rule.startswith("archive-") else (403, "Refused")
    return next(((status, title) for kind, status, title in _STATUS if isinstance(error, kind)), (500, "Internal error"))


def problem_response(error: MetierError) -> HttpResponse:
    status, title = status_of(error)
    code = error.rule if isinstance(error, RefusedError) else error.code
    findings = [
        ReleaseFinding(rule=one.code, severity=one.severity, message=one.message, file=one.file, line=one.line, hint=one.hint)
        for one in (error.report if isinstance(error, InvalidSkillError) else ())
    ]
    limit = error.limit if isinstance(error, TooLargeError) else 0
    body = ProblemDetails(type=_DOCS + code, title=title, status=status, detail=str(error), code=code, hint=error.hint,
                   findings=findings, limit=limit)  # fmt: skip
    response = json_response(body, status=status, headers=_headers(error))
    response.content_type = b"application/problem+json"
    return response


def plain_response(error: MetierError) -> HttpResponse:
    status, _ = status_of(error)
    # The ClawHub client recognises a missing skill by this prefix.
    text = f"HTTP {status}: {error}"
    return text_response(f"{text}. {error.hint}" if error.hint else text, status=status, headers=_headers(error))


def oci_response(error: MetierError) -> HttpResponse:
    """Returns an error as the OCI distribution specification has it. Its clients log in with a user name and a password."""
    status, _ = status_of(error)
    code = {401: "UNAUTHORIZED", 403: "DENIED", 404: "NAME_UNKNOWN", 429: "TOOMANYREQUESTS"}.get(status, "UNSUPPORTED")
    headers = dict(_headers(error))
    if status == HTTPStatus.UNAUTHORIZED:
        headers[b"www-authenticate"] = b'Basic realm="metier"'
    body = {"errors": [{"code": code, "message": str(error), "detail": error.hint}]}
    return json_response(body, status=status, headers=tuple(headers.items()))


def _headers(error: MetierError) -> Headers:
    match error:
        case UnauthenticatedError():
            return ((b"www-authenticate", b'Bearer realm="metier"'), (b"cache-control", b"no-store"))
        case TooManyRequestsError():
            return ((b"retry-after", b"%d" % error.seconds), (b"cache-control", b"no-store"))
        case UnavailableError() | TooManyUploadsError():
            return ((b"retry-after", b"%d" % _RETRY_SECONDS), (b"cache-control", b"no-store"))
        case MethodNotAllowedError():
            return ((b"allow", error.allowed.encode()), (b"cache-control", b"no-store"))
        case _:
            return ((b"cache-control", b"no-store"),)
