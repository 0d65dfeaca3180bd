"""Renders pages: the Jinja templates in `html/`, their filters, and the headers of every page.

Everything is escaped except the output of `server.markdown` and the SVG of `server.views`. The content security policy allows
only scripts and styles that the registry serves, so that injected markup would do nothing.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp

import metier
from metier.errors import MetierError, NotFoundError
from metier.registry.domain.records import Millis
from metier.registry.domain.registry import Site
from metier.registry.server.error_responses import status_of
from metier.registry.server.responses import Headers, HttpResponse, text_response
from metier.registry.server.routing import RegistryRequest

__all__ = ["local_path", "logo", "redirect", "render_error", "render_fragment", "render_page", "static_file", "with_status"]

_HTML = b"text/html; charset=utf-8"
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'"
)
_GUARDED: Headers = (
    (b"content-security-policy", _POLICY),
    # Not no-referrer: forms would then send no Origin header, which the origin check needs.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"private, no-cache"),
    (b"vary", b"authorization, cookie, hx-request"),
)
_TYPES = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
    "png": b"image/png",
}


def render_page(request: RegistryRequest, template: str, /, **values: object) -> HttpResponse:
    site = _site(request)
    text = (
        _templates()
        .get_template(template)
        .render(
            caller=request.caller,
            base=request.base,
            site=site.name or request.base.partition("://")[2] or "registry",
            has_logo=bool(site.logo),
            stamp=_stamp(),
            version=metier.__version__,
            **values,
        )
    )
    return text_response(text, content_type=_HTML, headers=_GUARDED)


def render_fragment(template: str, /, **values: object) -> str:
    """Renders a part of a page that does not depend on the request."""
    return _templates().get_template(template).render(**values)


def with_status(response: HttpResponse, error: MetierError | None) -> HttpResponse:
    """Sets the status code of an error page."""
    if error is not None:
        response.status = status_of(error)[0]
    return response


def render_error(request: RegistryRequest, error: MetierError) -> HttpResponse:
    status, title = status_of(error)
    response = render_page(
        request, "error.html", status=status, heading=title, message=str(error), hint=error.hint, here=request.scope["path"]
    )
    return with_status(response, error)


def local_path(target: str) -> str:
    """Returns the path, or an empty text for anything that a browser could read as another host."""
    is_local = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable() and "\\" not in target
    return target if is_local else ""


def redirect(where: str) -> ASGIApp:
    return RedirectResponse(where, status_code=303)


async def logo(request: RegistryRequest) -> HttpResponse:
    """Serves the administrator's own logo. An SVG that is opened as a page runs no script."""
    path = _site(request).logo
    if not path:
        raise NotFoundError("this registry has no logo of its own", hint="see /")
    data, kind, tag = _read_logo(path)
    headers = ((b"cache-control", b"public, max-age=3600"), (b"content-security-policy", b"default-src 'none'; sandbox"))
    return HttpResponse(data, content_type=kind, tag=tag, headers=headers)


async def static_file(request: RegistryRequest) -> HttpResponse:
    """Serves a static file. Addresses contain a hash of the contents, so clients may cache them forever."""
    found = _static().get(request.params["path"])
    if found is None:
        raise NotFoundError(f"no page {request.scope['path'][:200]!r}", hint="see /")
    forever = b"public, max-age=31536000, immutable" if request.scope["query_string"] else b"public, max-age=3600"
    data, kind, tag = found
    return HttpResponse(data, content_type=kind, tag=tag, headers=((b"cache-control", forever),))


def _site(request: RegistryRequest) -> Site:
    site: Site = request.scope["metier.app"].options.site
    return site


@cache
def _static() -> dict[str, tuple[bytes, bytes, bytes]]:
    known = {}
    for each in files(__package__).joinpath("static").iterdir():
        kind = _TYPES.get(each.name.rpartition(".")[2])
        if kind:
            data = each.read_bytes()
            known[each.name] = data, kind, _etag(data)
    return known


def _etag(data: bytes) -> bytes:
    return b'"%s"' % hashlib.sha256(data).hexdigest()[:16].encode()


@cache
def _read_logo(path: str) -> tuple[bytes, bytes, bytes]:
    data = Path(path).read_bytes()
    return data, _TYPES[path.rpartition(".")[2].lower()], _etag(data)


@cache
def _stamp() -> str:
    return hashlib.sha256(b"".join(tag for _, (_, _, tag) in sorted(_static().items()))).hexdigest()[:10]


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader(__package__, "html"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    templates.filters.update({"bytes": _bytes, "day": _day, "time": _format_time})
    return templates


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    amount, unit = (size / 1_000_000, "MB") if size >= 1_000_000 else (size / 1000, "kB")
    return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"


def _time(time: Millis) -> datetime:
    return datetime.fromtimestamp(time / 1000, UTC)


def _day(time: Millis) -> str:
    return f"{_time(time):%Y-%m-%d}"


def _format_time(time: Millis) -> str:
    return f"{_time(time):%Y-%m-%d %H:%M:%S}"
