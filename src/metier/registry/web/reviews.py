"""The pages of drafts and reviews: the list of what waits, and one version with all that a reviewer looks at."""

from __future__ import annotations

from html import escape

from markupsafe import Markup
from starlette.types import ASGIApp

from metier.errors import MetierError, UsageError
from metier.registry.domain.publish import findings_of
from metier.registry.domain.records import PackageKind
from metier.registry.domain.review_checks import ReviewChecks
from metier.registry.domain.reviews import WaitingRelease
from metier.registry.server import views
from metier.registry.server.responses import HttpResponse
from metier.registry.server.reviews import review_checks
from metier.registry.server.routing import RegistryRequest
from metier.registry.server.uploads import read_form

from .diff import diff_html
from .templates import redirect, render_page, with_status

__all__ = ["decide", "review_list", "review_page", "set_namespace"]

_EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
_PAGE = 100


async def review_list(request: RegistryRequest) -> HttpResponse:
    text = request.query_params.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
    rows = await request.registry.reviews.list(request.caller, before=before)
    return render_page(request, "reviews.html", rows=rows, older=rows[-1][1].id if len(rows) == _PAGE else None)


async def review_page(request: RegistryRequest, *, error: MetierError | None = None) -> HttpResponse:
    name, version = request.params["name"], request.params["version"]
    waiting = await request.registry.reviews.find(request.caller, PackageKind.SKILL, name, version)
    try:
        checks = await review_checks(request, waiting)
        reason = ""
    except MetierError as found:
        checks, reason = ReviewChecks(lint=[], capabilities=[], new_capabilities=[]), f"{found}; {found.hint}"
    page = render_page(
        request, "review.html", waiting=waiting, package=waiting.package, release=waiting.release,
        findings=findings_of(waiting.release), checks=checks, checks_error=reason, changes=await _changes(request, waiting),
        error=f"{error}; {error.hint}" if error else "",
    )  # fmt: skip
    return with_status(page, error)


async def decide(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    name, version, action = request.params["name"], request.params["version"], form.get("action", "")
    reviews, caller, kind = request.registry.reviews, request.caller, PackageKind.SKILL
    digest, comment = form.get("digest", ""), form.get("comment", "")
    try:
        if action == "approve":
            await reviews.approve(caller, kind, name, version, digest=digest, comment=comment)
            return redirect(f"/skill/{name}?version={version}")
        if action == "return":
            await reviews.return_to_draft(caller, kind, name, version, digest=digest, comment=comment)
        elif action == "submit":
            await reviews.submit(caller, kind, name, version)
        elif action == "withdraw":
            await reviews.withdraw(caller, kind, name, version)
        else:
            raise UsageError(f"unknown action {action[:40]!r}", hint="use approve, return, submit or withdraw")
    except MetierError as error:
        return await review_page(request, error=error)
    return redirect("/review")


async def set_namespace(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    namespace = request.params["namespace"]
    await request.registry.reviews.set_demands_review(request.caller, namespace, demanded=form.get("review", "") == "on")
    return redirect(f"/owner/{namespace}")


async def _changes(request: RegistryRequest, waiting: WaitingRelease) -> Markup:
    """Returns the comparison with the version that is online; without one, all files as new."""
    queries, old, new = request.registry.queries, waiting.current, waiting.release
    changed = views.differing_paths(views.details(old).files if old else [], views.details(new).files)

    async def load() -> tuple[bytes, bytes, list[str]]:
        return await queries.archive(old.archive) if old else _EMPTY_ZIP, await queries.archive(new.archive), changed

    key = f"diff {old.archive if old else '-'} {new.archive}"
    try:
        html = await request.scope["metier.app"].documents.html(key, diff_html, load) if changed else ""
    except MetierError as error:
        html = f'<p class="empty">Not shown: {escape(str(error))}; {escape(error.hint)}.</p>'
    # Safe: a template made it, or it was escaped above.
    return Markup(html or '<p class="empty">The files are those of the version that is online.</p>')  # noqa: S704
