"""The pages of one skill: overview, files, versions, diff and security."""

from __future__ import annotations

from html import escape

from markupsafe import Markup

from metier.registry.domain.access import Right
from metier.registry.domain.moderation import REASONS
from metier.registry.domain.publish import findings_of
from metier.registry.domain.records import Package, PackageKind, Release
from metier.registry.server import views
from metier.registry.server.markdown import skill_html
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.registry.server.views import chart_svg
from metier.registry.workers import WorkBudgetError
from metier.values import dataclass

from .diff import diff_html
from .templates import render_page

__all__ = ["diff", "file", "files", "overview", "security", "versions"]

_DAYS = 90
_MOST_LINES = 5_000
_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class InstallCommand:
    """A command that installs the skill, for one client."""

    key: str
    label: str
    command: str
    note: str


async def overview(request: RegistryRequest) -> HttpResponse:
    queries = request.registry.queries
    package, release = await _requested(request)
    # Both are safe markup: the readme is sanitised, and the chart contains numbers and an escaped name.
    documents = request.scope["metier.app"].documents
    key = f"{PackageKind.SKILL} {release.archive}"
    html = await documents.readme(key, skill_html, lambda: queries.text(PackageKind.SKILL, release))
    readme = Markup(html)  # noqa: S704
    chart = Markup(chart_svg(await queries.days(package, days=_DAYS), title=package.name))  # noqa: S704
    return _tab(
        request, "overview.html", "", package, release, readme=readme, chart=chart, owners=await queries.owners(package),
        details=views.details(release), install_commands=_install_commands(request.base, package, release), reasons=REASONS,
    )  # fmt: skip


async def files(request: RegistryRequest) -> HttpResponse:
    package, release = await _requested(request)
    return _tab(request, "files.html", "files", package, release, details=views.details(release))


async def file(request: RegistryRequest) -> HttpResponse:
    package, release = await _requested(request)
    path = request.params["path"]
    data = await request.registry.queries.release_file(release, path)
    lines, reason = _as_lines(data)
    shown = lines[:_MOST_LINES] if lines is not None else None
    is_truncated = lines is not None and len(lines) > _MOST_LINES
    return _tab(
        request, "file.html", "files", package, release, path=path, lines=shown, is_truncated=is_truncated, reason=reason
    )


async def versions(request: RegistryRequest) -> HttpResponse:
    package, release = await _requested(request)
    _, releases, tags = await request.registry.queries.releases(request.caller, PackageKind.SKILL, package.name)
    may_yank = request.caller.may(Right.YANK, *await request.registry.queries.owners(package))
    return _tab(request, "versions.html", "versions", package, release, releases=releases, tags=tags, may_yank=may_yank)


async def diff(request: RegistryRequest) -> HttpResponse:
    name, queries = request.params["name"], request.registry.queries
    package, new = await queries.release(request.caller, PackageKind.SKILL, name, request.query_params.get("to", ""))
    _, old = await queries.release(request.caller, PackageKind.SKILL, name, request.query_params.get("from", ""))
    changed = views.differing_paths(views.details(old).files, views.details(new).files)

    async def load() -> tuple[bytes, bytes, list[str]]:
        return await queries.archive(old.archive), await queries.archive(new.archive), changed

    documents = request.scope["metier.app"].documents
    try:
        html = await documents.html(f"diff {old.archive} {new.archive}", diff_html, load) if changed else ""
    except WorkBudgetError as error:
        html = f'<p class="empty">Not shown: {escape(str(error))}; {escape(error.hint)}.</p>'
    # Safe: a template made it, or it was escaped above.
    found = Markup(html)  # noqa: S704
    return _tab(
        request, "diff.html", "versions", package, new, old=old.version, new=new.version, changes=found, changed=bool(changed)
    )


async def security(request: RegistryRequest) -> HttpResponse:
    queries, version = request.registry.queries, request.query_params.get("version", "")
    held = await queries.quarantined(request.caller, PackageKind.SKILL, request.params["name"], version)
    package, release = held or await _requested(request)
    signatures = [each for each in await request.registry.queries.signatures(package) if each.version == release.version]
    return _tab(
        request, "security.html", "security", package, release, findings=findings_of(release), signatures=signatures,
        provenance=views.provenance(release),
    )  # fmt: skip


async def _requested(request: RegistryRequest) -> tuple[Package, Release]:
    """Returns the version in the address, else the newest; the last published one if all are yanked or in their cool-down."""
    queries, name = request.registry.queries, request.params["name"]
    version = request.query_params.get("version", "")
    if not version:
        package, releases, _ = await queries.releases(request.caller, PackageKind.SKILL, name)
        if not package.latest and releases:
            return package, next((each for each in releases if each.version == package.version), releases[0])
    return await queries.release(request.caller, PackageKind.SKILL, name, version)


def _tab(
    request: RegistryRequest, template: str, tab: str, package: Package, release: Release, **values: object
) -> HttpResponse:
    return render_page(
        request, template, tab=tab, package=package, release=release, pinned=request.query_params.get("version", ""), **values
    )


def _install_commands(base: str, package: Package, release: Release) -> list[InstallCommand]:
    ref, is_public = f"r9s:{package.name}", package.visibility == "public"
    index = base if is_public else f"{base}/t/READ_TOKEN"
    npx_note = (
        "Installs for all supported agents."
        if is_public
        else "Private: replace READ_TOKEN with a token that has the scope read."
    )
    clawhub_note = (
        "The ClawHub client with this registry." if is_public else "Requires `clawhub login` with a token of this registry."
    )
    return [
        InstallCommand(
            "metier", "metier", f"metier skill install {ref}", f"Log in once with: metier login {base}. The digest is verified."
        ),
        InstallCommand("npx", "npx skills", f"npx skills add {index} --skill {package.name}", npx_note),
        InstallCommand("clawhub", "clawhub", f"clawhub --registry {base} install {package.name}", clawhub_note),
        InstallCommand("url", "URL", f"{base}/skills/{package.name}/{release.version}.zip", "The archive; it never changes."),
        InstallCommand("pin", "Exact version", f"metier skill install {ref}@{release.version}", f"Digest: {release.digest}"),
    ]


def _as_lines(data: bytes) -> tuple[list[str] | None, str]:
    if len(data) > _LARGEST:
        return None, f"Too large to show: {len(data):,} bytes."
    if b"\0" in data:
        return None, "Not a text file."
    return data.decode("utf-8", "replace").splitlines(), ""
