"""`metier registry advisory list|add|withdraw|trust|key`: what a registry knows to be bad."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import registry_options
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural
from metier.errors import RefusedError, UsageError
from metier.registry.client import Json
from metier.scan import Advisory

from .location import advisory_key_file, blobs_option, db_option, existing_registry

__all__ = ["add", "key", "list_all", "trust", "withdraw"]

_KINDS = ("digests", "names", "publishers", "hosts", "packages")


@command("registry advisory", "list")
@registry_options
def list_all(app: App, *, registry: str | None, insecure_http: bool) -> Result:
    """List the advisories of a registry.

    The list is fetched, and its signature is compared with the key that you know the registry by.
    """
    client = app.registries.client(registry, insecure=insecure_http)
    known = app.advisories.lists.fetch(client)
    about = f"{client.url} (list {known.number} of {known.dated}, key {known.keyid})"
    count = plural(len(known.advisories), "advisory") if known.advisories else "No advisories"
    lines = (*map(_line, known.advisories), f"{count} at {about}")
    data = {
        "registry": client.url, "number": known.number, "dated": known.dated, "keyid": known.keyid,
        "advisories": [_row(one) for one in known.advisories],
    }  # fmt: skip
    return Result(data=data, lines=lambda _: lines, pages=True)


@command("registry advisory", "add")
@click.option("--id", "advisory", required=True, help="Its id, such as ACME-2026-1.")
@click.option("--summary", default="", help="What is bad about it, in a few words.")
@click.option("--digest", "digests", multiple=True, help="The digest of bad files, sha256:…; may be repeated.")
@click.option("--name", "names", multiple=True, help="NAME of a skill, or NAME@RANGE; may be repeated.")
@click.option("--publisher", "publishers", multiple=True, help="Owner of a namespace or of repositories; may be repeated.")
@click.option("--host", "hosts", multiple=True, help="A host and the names below it; may be repeated.")
@click.option("--package", "packages", multiple=True, help="pypi:NAME or npm:NAME; may be repeated.")
@registry_options
def add(
    app: App, *, advisory: str, summary: str, digests: Sequence[str], names: Sequence[str], publishers: Sequence[str],
    hosts: Sequence[str], packages: Sequence[str], registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Add an advisory, and quarantine the versions that it names.

    Versions whose files name a host or a package of it follow in the background. The registry refuses uploads that match, and
    every machine that uses the registry knows the advisory within an hour. Needs the scope admin.
    """
    client = app.registries.client(registry, insecure=insecure_http)
    done = client.add_advisory(
        id=advisory, summary=summary, digests=list(digests), names=list(names), publishers=list(publishers),
        hosts=list(hosts), packages=list(packages),
    )  # fmt: skip
    app.advisories.lists.fetch(client)
    lines = (f"Added {one_line(advisory)} at {client.url}", *_held("Quarantined", done))
    return Result(data={"registry": client.url, **done}, lines=lambda _: lines)


@command("registry advisory", "withdraw")
@click.argument("advisory", metavar="ID")
@registry_options
def withdraw(app: App, *, advisory: str, registry: str | None, insecure_http: bool) -> Result:
    """Withdraw an advisory. What it has quarantined stays so until an administrator releases it."""
    client = app.registries.client(registry, insecure=insecure_http)
    done = client.withdraw_advisory(advisory)
    app.advisories.lists.fetch(client)
    held = tuple(_held("Still quarantined", done))
    more = (f"An administrator releases them at {client.url}/admin",) if held else ()
    lines = (f"Withdrew {one_line(advisory)} at {client.url}", *held, *more)
    return Result(data={"registry": client.url, **done}, lines=lambda _: lines)


@command("registry advisory", "trust")
@registry_options
def trust(app: App, *, registry: str | None, insecure_http: bool) -> Result:
    """Accept the key that a registry signs its advisories with now, and its list even if it is older.

    Compare the id of the key with the one that its administrator names: `metier registry advisory key` prints it on the server.
    """
    client = app.registries.client(registry, insecure=insecure_http)
    before = app.advisories.lists.key(client)
    known = app.advisories.lists.fetch(client, trust=True)
    instead = f" instead of {before}" if before and before != known.keyid else ""
    data = {"registry": client.url, "keyid": known.keyid, "before": before or None, "number": known.number}
    return Result(data=data, lines=lambda _: (f"Trusted the key {known.keyid} of {client.url}{instead}",))


@command("registry advisory", "key")
@click.option("--replace", "is_replaced", is_flag=True, help="Make another key. All users must accept it.")
@db_option
@blobs_option
def key(app: App, *, is_replaced: bool, db: str | None, blobs: str | None) -> Result:
    """Show the key that signs your registry's advisories, or replace it, on the server itself.

    The private half is `advisories.key` beside the database. It is in no backup: keep a copy, and give it to every server of
    the same registry.
    """
    location = existing_registry(app, db=db, blobs=blobs)
    file = advisory_key_file(app, db=location.db)
    from metier.registry import advisory_key

    before, keyid, has_file = asyncio.run(advisory_key(location, file, is_replaced=is_replaced))
    data = {"keyid": keyid, "before": before or None, "file": file, "has_file": has_file}
    if is_replaced:
        lines = (
            f"Replaced the key of the advisories: {before or 'none'} -> {keyid}",
            "Next: its users accept it with `metier registry advisory trust`",
        )
        return Result(data=data, lines=lambda _: lines)
    if not keyid:
        raise UsageError("this registry has no key yet", hint="its first start makes it: metier registry serve")
    if not has_file:
        raise RefusedError(
            f"{file} is not the key {keyid} of this registry, so this server does not sign", rule="advisories",
            hint="copy the file from the server that has it, or replace the key with --replace",
        )  # fmt: skip
    return Result(data=data, lines=lambda _: (f"{keyid}  {file}",))


def _held(verb: str, done: Json) -> Iterator[str]:
    names = [one_line(str(name)) for name in done.get("quarantined", [])]
    if names:
        yield f"{verb}: {', '.join(names)}"


def _line(advisory: Advisory) -> str:
    values = [f"{kind[:-1]} {value}" for kind in _KINDS for value in getattr(advisory, kind)]
    return one_line(" ".join(part for part in (advisory.id, advisory.summary, ", ".join(values)) if part))


def _row(advisory: Advisory) -> Json:
    return {"id": advisory.id, "summary": advisory.summary, **{kind: list(getattr(advisory, kind)) for kind in _KINDS}}
