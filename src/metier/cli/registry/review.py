"""`metier registry review …`: drafts and versions in review of a registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import exact_version, registry_options
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, paint_diff

if TYPE_CHECKING:
    from metier.registry.client import Json, RegistryClient

__all__ = ["approve", "list_all", "require", "return_to_draft", "show", "submit", "withdraw"]

_STATES = {"review": "in review", "draft": "draft", "quarantined": "quarantined"}
_comment = click.option("--comment", default="", help="A comment for the publisher and the audit log.")


@command("registry review", "list")
@registry_options
def list_all(app: App, *, registry: str | None, insecure_http: bool) -> Result:
    """List the drafts and versions in review of your namespaces."""
    client = app.registries.client(registry, insecure=insecure_http)
    rows: list[Json] = []
    before = ""
    while True:
        page = client.reviews(before=before)
        rows += page.get("reviews", [])
        before = str(page.get("next") or "")
        if not before:
            break
    lines = [_line(row) for row in rows] or ["Nothing waits for a review"]
    return Result(data={"registry": client.url, "reviews": rows}, lines=lambda _: lines)


@command("registry review", "show")
@click.argument("ref", metavar="NAME@VERSION")
@click.option("--diff", is_flag=True, help="Also show the changes since the version that is online.")
@registry_options
def show(app: App, *, ref: str, diff: bool, registry: str | None, insecure_http: bool) -> Result:
    """Show a version that is not online: capabilities, findings of scan and lint, changed files and history."""
    name, version = exact_version(ref)
    client = app.registries.client(registry, insecure=insecure_http)
    found = client.review(name, version)
    text = _diff(client, name, version, str(found["review"].get("current") or "")) if diff else ""
    data = {"registry": client.url, **found, **({"diff": text} if diff else {})}
    return Result(data=data, lines=lambda terminal: _details(found, text, terminal), pages=True)


@command("registry review", "approve")
@click.argument("ref", metavar="NAME@VERSION")
@_comment
@registry_options
def approve(app: App, *, ref: str, comment: str, registry: str | None, insecure_http: bool) -> Result:
    """Put a version online. You cannot approve your own upload, unless the registry allows it."""
    name, version = exact_version(ref)
    client = app.registries.client(registry, insecure=insecure_http)
    row = client.review(name, version)["review"]
    client.approve(name, version, digest=str(row["digest"]), comment=comment)
    message = f"Approved {name} {version} of {one_line(str(row['publisher']))}; it is online"
    return Result(data={"registry": client.url, **row, "state": "online"}, lines=lambda _: (message,))


@command("registry review", "return")
@click.argument("ref", metavar="NAME@VERSION")
@click.option("--comment", required=True, help="What should change.")
@registry_options
def return_to_draft(app: App, *, ref: str, comment: str, registry: str | None, insecure_http: bool) -> Result:
    """Return a version to its publisher with a comment."""
    name, version = exact_version(ref)
    client = app.registries.client(registry, insecure=insecure_http)
    row = client.review(name, version)["review"]
    client.return_to_draft(name, version, digest=str(row["digest"]), comment=comment)
    message = f"Returned {name} {version} to {one_line(str(row['publisher']))}"
    return Result(data={"registry": client.url, **row, "state": "draft", "comment": comment}, lines=lambda _: (message,))


@command("registry review", "submit")
@click.argument("ref", metavar="NAME@VERSION")
@registry_options
def submit(app: App, *, ref: str, registry: str | None, insecure_http: bool) -> Result:
    """Submit a draft. It waits for a reviewer if its namespace asks for reviews, else it is online."""
    name, version = exact_version(ref)
    client = app.registries.client(registry, insecure=insecure_http)
    state = str(client.submit(name, version).get("state"))
    message = f"Submitted {name} {version}: {'it is online' if state == 'online' else 'it waits for a reviewer'}"
    return Result(data={"registry": client.url, "name": name, "version": version, "state": state}, lines=lambda _: (message,))


@command("registry review", "withdraw")
@click.argument("ref", metavar="NAME@VERSION")
@registry_options
def withdraw(app: App, *, ref: str, registry: str | None, insecure_http: bool) -> Result:
    """Delete a draft or a version in review. Its number is free again."""
    name, version = exact_version(ref)
    client = app.registries.client(registry, insecure=insecure_http)
    client.withdraw(name, version)
    data = {"registry": client.url, "name": name, "version": version}
    return Result(data=data, lines=lambda _: (f"Withdrew {name} {version}",))


@command("registry review", "require")
@click.argument("namespace")
@click.option("--off", is_flag=True, help="Uploads are online at once.")
@registry_options
def require(app: App, *, namespace: str, off: bool, registry: str | None, insecure_http: bool) -> Result:
    """Let uploads of a namespace wait for a reviewer. Needs the scope review:NAMESPACE."""
    client = app.registries.client(registry, insecure=insecure_http)
    demanded = bool(client.set_namespace(namespace, review=not off).get("review"))
    state = "wait for a reviewer" if demanded else "are online at once"
    note = ("The registry asks for reviews in all namespaces (registry.review)",) if off and demanded else ()
    line = f"Uploads of {one_line(namespace)} {state}"
    return Result(
        data={"registry": client.url, "namespace": namespace, "review": demanded}, lines=lambda _: (line,), notes=note
    )


def _line(row: Json) -> str:
    state = _STATES.get(str(row.get("state")), str(row.get("state")))
    comment = f" ({row['comment']})" if row.get("comment") else ""
    by = f"uploaded {row.get('uploaded')} by {row.get('publisher')}"
    return one_line(f"{row.get('name')}@{row.get('version')} in {row.get('namespace')}: {state}{comment}, {by}")


def _diff(client: RegistryClient, name: str, version: str, current: str) -> str:
    from metier.archive import unpack
    from metier.install import diff_text
    from metier.spec import MemoryFiles

    before = unpack(client.archive(name, current)) if current else MemoryFiles({})
    return diff_text(before, unpack(client.review_archive(name, version)), name)


def _details(found: Json, text: str, terminal: Terminal) -> Iterator[str]:
    row = found["review"]
    yield _line(row)
    yield from (f"  {one_line(line)}" for line in _facts(found, row))
    yield from (f"  {terminal.paint(one_line(f'new: {line}'), 'yellow')}" for line in found.get("new_capabilities") or ())
    for label, rows in (("scan", found["version"].get("findings")), ("lint", found.get("lint"))):
        for each in rows or ():
            where = f"{each.get('file')}:{each.get('line')}" if each.get("line") else str(each.get("file"))
            finding = f"{label} {where}: {each.get('severity')} {each.get('rule')}: {each.get('message')}"
            yield f"  {one_line(finding)}"
    for step in found.get("history") or ():
        words = " ".join(str(step.get("details")).split(" ")[2:])
        past = f"{step.get('at')} {step.get('action')} by {step.get('actor')} {words}"
        yield f"  {one_line(past)}"
    yield from paint_diff(text.splitlines(), terminal)


def _facts(found: Json, row: Json) -> Iterator[str]:
    yield f"digest: {row['digest']}"
    yield f"scan: {row['verdict']}"
    changed = ", ".join(map(str, found.get("changed_files") or ())) or "none"
    yield f"files that differ from {row['current']}: {changed}" if row.get("current") else f"new; files: {changed}"
    yield from (f"can: {line}" for line in found.get("capabilities") or ())
