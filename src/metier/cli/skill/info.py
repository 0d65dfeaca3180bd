"""`metier skill info`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import offline_option, registry_options, split_registry, split_version
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line

from .search import VERDICT_SIGNS

__all__ = ["info"]

Json = Mapping[str, Any]  # Any: JSON of the registry


@command("skill", "info")
@click.argument("name", metavar="NAME[@VERSION]")
@offline_option
@registry_options
def info(app: App, *, name: str, offline: bool, registry: str | None, insecure_http: bool) -> Result:
    """Show a skill of a registry: description, scan verdict, signature and token costs."""
    name, registry = split_registry(name, registry)
    client = app.registries.reader(registry, offline=offline, insecure=insecure_http)
    plain, version = split_version(name)
    skill = client.skill(plain)
    release = client.version(plain, version or str(skill.get("version") or "latest"))
    data = {"registry": client.url, **skill, "release": release}
    return Result(data=data, lines=lambda terminal: _lines(skill, release, registry or "r9s", client.url, terminal))


def _lines(skill: Json, release: Json, registry: str, url: str, terminal: Terminal) -> Iterator[str]:
    yield f"{terminal.paint(one_line(skill['name']), 'bold')} {one_line(release['version'])}"
    yield one_line(skill.get("description", ""))
    details = release.get("details") or {}
    verdict = str(release.get("verdict", ""))
    rows = [
        ("owner", skill.get("owner")), ("author", release.get("author")), ("licence", release.get("license")),
        ("published", " by ".join(str(text) for text in (release.get("published"), release.get("publisher")) if text)),
        ("downloads", f"{skill.get('downloads', 0):,}"),
        ("scan", terminal.paint(verdict, VERDICT_SIGNS.get(verdict, ("", "dim"))[1])),
        # A ClawHub registry says nothing of signatures and tokens.
        ("signed by", (one_line(str(release["signed_by"] or "")) or "not signed") if "signed_by" in release else ""),
        ("requires", details.get("compatibility")), ("tools", " ".join(details.get("allowed_tools") or [])),
        ("tokens", f"{details.get('tokens_metadata', 0)} listed, {details.get('tokens_body', 0)} active" if details else ""),
        ("digest", release.get("digest")), ("status", skill.get("status") if skill.get("status") != "active" else ""),
        ("yanked", release.get("yank_reason") or "yes" if release.get("yanked") else ""),
    ]  # fmt: skip
    for label, value in rows:
        if value:
            yield f"  {label:<10} {value if label == 'scan' else one_line(str(value))}"
    for finding in release.get("findings") or []:
        where = f"{finding.get('file')}:{finding['line']}" if finding.get("line") else finding.get("file")
        message = one_line(str(finding.get("message")))
        yield f"  {one_line(str(where))}: {finding.get('severity')} {finding.get('rule')}: {message}"
    page = f"    {url}/skill/{skill['name']}" if details else ""
    yield terminal.paint(f"metier skill install {'r9s' if '://' in registry else registry}:{skill['name']}{page}", "dim")
