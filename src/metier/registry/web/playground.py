"""The playground: which skills a request would get, and the findings on a pasted SKILL.md. It changes nothing."""

from __future__ import annotations

from metier.errors import MetierError, UsageError
from metier.registry.domain.playground import CandidateSkill, check_skill_text, rank_candidates
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import PackageFilters, PackageKind, Sort
from metier.registry.server.authentication import check_origin
from metier.registry.server.error_responses import TooLargeError
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.registry.server.uploads import read_form

from .templates import render_page, with_status

__all__ = ["check_text", "playground"]

_CANDIDATES = 80
_SHOWN = 8
_LONGEST_REQUEST = 400
_LARGEST_TEXT = 128 * 1024
_LARGEST_FORM = 4 * _LARGEST_TEXT
"""A form may write a byte with three characters."""


async def playground(request: RegistryRequest) -> HttpResponse:
    """Shows the page, or only the ranked skills for an htmx request."""
    text = request.query_params.get("q", "").strip()[:_LONGEST_REQUEST]
    if not text:
        return _page(request, "choices.html")
    # The space at the end: its last word is complete.
    query = ListQuery(query=f"{text} ", filters=PackageFilters(kind=PackageKind.SKILL), sort=Sort.RELEVANCE, limit=_CANDIDATES)
    found = (await request.registry.queries.find(request.caller, query)).packages
    candidates = [CandidateSkill(package.name, package.name, package.description) for package in found]
    try:
        ranked = await request.registry.workers.pages.run(
            rank_candidates, text, candidates, _SHOWN, seconds=request.registry.options.work.page_seconds
        )
    except MetierError as error:
        return _page(request, "choices.html", text=text, choice_error=error)
    return _page(request, "choices.html", text=text, ranked=ranked, considered=len(candidates))


async def check_text(request: RegistryRequest) -> HttpResponse:
    """Shows the findings on a SKILL.md, or only these for an htmx request."""
    # Requests without a session skip the origin check of `authenticate`, so it happens here.
    check_origin(request)
    registry, skill = request.registry, ""
    try:
        # Counted as an upload, so that callers without a token never use all processes that check uploads.
        with registry.publisher.turns.in_flight(request.caller):
            skill = await _read_text(request)
            async with registry.publisher.turns.turn(request.caller):
                checked = await registry.workers.checks.run(
                    check_skill_text, skill.encode(), seconds=registry.options.work.check_seconds
                )
    except MetierError as error:
        return _page(request, "text_check.html", skill=skill, check_error=error)
    return _page(request, "text_check.html", skill=skill, checked=checked)


async def _read_text(request: RegistryRequest) -> str:
    try:
        text = (await read_form(request, limit=_LARGEST_FORM)).get("skill", "")
    except TooLargeError:
        raise _too_large() from None
    # Browsers send lines with CRLF. A charset of the form's own could make text that is not Unicode.
    data = text.replace("\r\n", "\n").encode("utf-8", "replace")
    if not data:
        raise UsageError("the text is empty", hint="paste a SKILL.md")
    if len(data) > _LARGEST_TEXT:
        raise _too_large()
    return f"{data.decode()}\n"


def _too_large() -> TooLargeError:
    return TooLargeError("the SKILL.md", limit=_LARGEST_TEXT, hint="move parts of it to files in references/")


def _page(
    request: RegistryRequest, part: str, *, choice_error: MetierError | None = None, check_error: MetierError | None = None,
    **values: object,
) -> HttpResponse:  # fmt: skip
    defaults = {"text": "", "skill": "", "ranked": None, "considered": 0, "checked": None}
    shown = {**defaults, "choice_error": choice_error, "check_error": check_error, **values}
    if request.headers.get("hx-request"):
        # Not the status of the error: htmx shows only answers that succeed.
        return render_page(request, part, **shown)
    return with_status(render_page(request, "playground.html", **shown), choice_error or check_error)
