"""The routes of the pages. The API uses /skills and /agents."""

from __future__ import annotations

from metier.registry.domain.records import PackageKind
from metier.registry.server.routing import Endpoint, Route

from . import forms, invitations, playground, reviews, search_pages, sign_in, skill_pages, templates

__all__ = ["ROUTES"]


def _page(path: str, endpoint: Endpoint, *, method: str = "GET", rate: str = "read") -> Route:
    return Route(method=method, path=path, endpoint=endpoint, kind="page", rate=rate)


def _kept(path: str, endpoint: Endpoint) -> Route:
    """A page that depends only on the database, the address and the rights of the caller; below /skill, on that one alone."""
    subject = PackageKind.SKILL if path.startswith("/skill/") else ""
    return Route(method="GET", path=path, endpoint=endpoint, kind="page", is_kept=True, subject=subject)


def _form(path: str, endpoint: Endpoint, *, rate: str = "write") -> Route:
    return _page(path, endpoint, method="POST", rate=rate)


ROUTES = (
    _kept("/", search_pages.home),
    _kept("/search", search_pages.search),
    _kept("/owner/{namespace}", search_pages.owner),
    _page("/docs", search_pages.docs),
    _page("/playground", playground.playground, rate="write"),
    _form("/playground", playground.check_text),
    _kept("/skill/{name}", skill_pages.overview),
    _kept("/skill/{name}/files", skill_pages.files),
    _page("/skill/{name}/file/{path...}", skill_pages.file),
    _kept("/skill/{name}/versions", skill_pages.versions),
    _page("/skill/{name}/diff", skill_pages.diff),
    _kept("/skill/{name}/security", skill_pages.security),
    _form("/skill/{name}/yank", forms.yank),
    _form("/skill/{name}/unyank", forms.unyank),
    _form("/skill/{name}/report", forms.report, rate="report"),
    _page("/review", reviews.review_list),
    _page("/review/{name}/{version}", reviews.review_page),
    _form("/review/{name}/{version}", reviews.decide),
    _form("/owner/{namespace}", reviews.set_namespace),
    _page("/login", forms.login_form),
    _form("/login", forms.log_in),
    _page("/login/sso", sign_in.start_sign_in, rate="write"),
    _page("/login/callback", sign_in.finish_sign_in, rate="write"),
    _form("/logout", forms.log_out),
    _page("/invite/{code}", invitations.invitation_form),
    _form("/invite/{code}", invitations.accept),
    _form("/admin/invite", invitations.invite),
    _form("/admin/withdraw", invitations.withdraw),
    _page("/device", forms.device_form),
    _form("/device", forms.decide_device),
    _page("/publish", forms.publish_form),
    _form("/publish", forms.publish),
    _page("/account", forms.account),
    _form("/account/tokens", forms.create_token),
    _form("/account/revoke", forms.revoke_token),
    _page("/admin", forms.admin),
    _form("/admin/reports", forms.resolve_report),
    _form("/admin/users", forms.set_user),
    _form("/admin/quarantine", forms.quarantine),
    _form("/admin/release", forms.release_quarantined),
    _page("/static/{path...}", templates.static_file, rate=""),
    _page("/logo", templates.logo, rate=""),
)
