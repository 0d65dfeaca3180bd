"""Which page is where. The API keeps /skills and /agents; pages are beside them."""

from __future__ import annotations

from metier.registry.server.routing import Endpoint, Route

from . import forms as acting
from . import search_pages as finding
from . import skill_pages as skill
from . import templates as looks

__all__ = ["ROUTES"]


def _page(path: str, endpoint: Endpoint, *, method: str = "GET", rate: str = "read") -> Route:
    return Route(method=method, path=path, endpoint=endpoint, kind="page", rate=rate)


def _form(path: str, endpoint: Endpoint) -> Route:
    return _page(path, endpoint, method="POST", rate="write")


ROUTES = (
    _page("/", finding.home),
    _page("/search", finding.search),
    _page("/owner/{namespace}", finding.owner),
    _page("/docs", finding.docs),
    _page("/skill/{name}", skill.overview),
    _page("/skill/{name}/files", skill.files),
    _page("/skill/{name}/file/{path...}", skill.file),
    _page("/skill/{name}/versions", skill.versions),
    _page("/skill/{name}/diff", skill.diff),
    _page("/skill/{name}/security", skill.security),
    _form("/skill/{name}/yank", acting.yank),
    _form("/skill/{name}/unyank", acting.unyank),
    _form("/skill/{name}/report", acting.report),
    _page("/login", acting.login),
    _form("/login", acting.log_in),
    _form("/logout", acting.log_out),
    _page("/publish", acting.publish_form),
    _form("/publish", acting.publish),
    _page("/account", acting.account),
    _form("/account/tokens", acting.make_token),
    _form("/account/revoke", acting.revoke_token),
    _page("/admin", acting.admin),
    _form("/admin/reports", acting.resolve),
    _form("/admin/quarantine", acting.quarantine),
    _form("/admin/release", acting.let_go),
    _page("/static/{path...}", looks.static_file, rate=""),
)
