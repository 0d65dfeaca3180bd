"""The pages about one skill."""

from __future__ import annotations

import asyncio
import io
import zipfile
from dataclasses import dataclass

from markupsafe import Markup

from metier.registry.domain.moderation import REASONS
from metier.registry.domain.publish import findings_of
from metier.registry.domain.records import Package, PackageKind, Release
from metier.registry.server import views as presenting
from metier.registry.server.badges import chart_svg
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest

from .diff import diff_files
from .markdown import skill_html
from .templates import render_page

__all__ = ["diff", "file", "files", "overview", "security", "versions"]

_DAYS = 90
_MOST_LINES = 5_000
_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class InstallCommand:
    """One way to install it."""

    key: str
    label: str
    command: str
    about: str


async def overview(call: RegistryRequest) -> HttpResponse:
    reading = call.registry.reading
    card, release = await _asked(call)
    # Both are safe markup: one is cleaned, the other made of numbers and an escaped name.
    readme = Markup(await asyncio.to_thread(skill_html, await reading.text(PackageKind.SKILL, release)))  # noqa: S704
    chart = Markup(chart_svg(await reading.days(card, days=_DAYS), title=card.name))  # noqa: S704
    return _tab(
        call, "overview.html", "", card, release, readme=readme, chart=chart, owners=await reading.owners(card),
        details=presenting.details(release), ways=_ways(call.base, card, release), reasons=REASONS,
    )  # fmt: skip


async def files(call: RegistryRequest) -> HttpResponse:
    card, release = await _asked(call)
    return _tab(call, "files.html", "files", card, release, details=presenting.details(release))


async def file(call: RegistryRequest) -> HttpResponse:
    card, release = await _asked(call)
    path = call.params["path"]
    data = await call.registry.reading.member(release, path)
    lines, why_not = _as_lines(data)
    shown = lines[:_MOST_LINES] if lines is not None else None
    cut = lines is not None and len(lines) > _MOST_LINES
    return _tab(call, "file.html", "files", card, release, path=path, lines=shown, cut=cut, why_not=why_not)


async def versions(call: RegistryRequest) -> HttpResponse:
    card, release = await _asked(call)
    _, releases, tags = await call.registry.reading.releases(call.caller, PackageKind.SKILL, card.name)
    may_yank = call.caller.may_yank(await call.registry.reading.owners(card))
    return _tab(call, "versions.html", "versions", card, release, releases=releases, tags=tags, may_yank=may_yank)


async def diff(call: RegistryRequest) -> HttpResponse:
    name, reading = call.params["name"], call.registry.reading
    card, new = await reading.release(call.caller, PackageKind.SKILL, name, call.query_params.get("to", ""))
    _, old = await reading.release(call.caller, PackageKind.SKILL, name, call.query_params.get("from", ""))
    archives = await reading.archive(old.archive), await reading.archive(new.archive)
    found = await asyncio.to_thread(lambda: diff_files(_unpacked(archives[0]), _unpacked(archives[1])))
    return _tab(call, "diff.html", "versions", card, new, old=old.version, new=new.version, changes=found)


async def security(call: RegistryRequest) -> HttpResponse:
    card, release = await _asked(call)
    signatures = [each for each in await call.registry.reading.signatures(card) if each.version == release.version]
    return _tab(
        call, "security.html", "security", card, release, findings=findings_of(release), signatures=signatures
    )  # fmt: skip


async def _asked(call: RegistryRequest) -> tuple[Package, Release]:
    """The version of the address; else the newest, or the last one published if every one is yanked."""
    reading, name = call.registry.reading, call.params["name"]
    version = call.query_params.get("version", "")
    if not version:
        card, releases, _ = await reading.releases(call.caller, PackageKind.SKILL, name)
        if not card.version and releases:
            return card, releases[0]
    return await reading.release(call.caller, PackageKind.SKILL, name, version)


def _tab(call: RegistryRequest, template: str, tab: str, card: Package, release: Release, **values: object) -> HttpResponse:
    return render_page(
        call, template, tab=tab, card=card, release=release, pinned=call.query_params.get("version", ""), **values
    )  # fmt: skip


def _ways(base: str, card: Package, release: Release) -> list[InstallCommand]:
    ref, is_public = f"r9s:{card.name}", card.visibility == "public"
    index = base if is_public else f"{base}/t/READ_TOKEN"
    about_npx = "For every agent that it knows." if is_public else "Private: put a token that may read it into the address."
    about_claw = (
        "ClawHub's client, with this registry." if is_public else "After `clawhub login` with a token of this registry."
    )
    return [
        InstallCommand(
            "metier", "metier", f"metier skill install {ref}", f"Once: metier login {base}. Verified by its digest."
        ),
        InstallCommand("npx", "npx skills", f"npx skills add {index} --skill {card.name}", about_npx),
        InstallCommand("clawhub", "clawhub", f"clawhub --registry {base} install {card.name}", about_claw),
        InstallCommand(
            "url", "URL", f"{base}/skills/{card.name}/{release.version}.zip", "The archive itself; it never changes."
        ),
        InstallCommand("pin", "Exact", f"metier skill install {ref}@{release.version}", f"This and no other: {release.digest}"),
    ]


def _as_lines(data: bytes) -> tuple[list[str] | None, str]:
    if len(data) > _LARGEST:
        return None, f"It is too long to show here: {len(data):,} bytes."
    if b"\0" in data:
        return None, "It is not text."
    return data.decode("utf-8", "replace").splitlines(), ""


def _unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {member.filename: archive.read(member) for member in archive.infolist() if not member.is_dir()}
