"""`metier skill publish`, `yank` and `unyank`: what authors do with a registry."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import InvalidSkillError, RefusedError, UsageError
from metier.spec import Report

from .search import from_registry, split_version

__all__ = ["publish", "unyank", "yank"]


@command("skill", "publish")
@click.argument("target", metavar="[NAME|PATH]", default=".")
@click.option("--dry-run", is_flag=True, help="Judge it and list every file; publish nothing.")
@click.option("--namespace", default="", help="Where to; your token's own if not given.")
@click.option("--public", "visibility", flag_value="public", help="Everybody may see it.")
@click.option("--private", "visibility", flag_value="private", help="Only who has a token for it: so it is if new.")
@click.option("--version", default="", help="Instead of metadata.version; without either the next patch.")
@click.option("--sign", is_flag=True, help="Sign the release with your key (see `metier registry key`).")
@from_registry
def publish(
    app: App, *, target: str, dry_run: bool, namespace: str, visibility: str | None, version: str, sign: bool,
    registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Publish a skill to a registry: private unless you say --public.

    Files that git ignores or `.metierignore` names are left out. Secrets stop it before anything is sent. A version never
    changes once it is published; publishing the same bytes again changes nothing.
    """
    from metier.archive import pack
    from metier.registry.client.file_selection import select_files
    from metier.registry.domain.secrets import find_secrets

    client = app.registries.client(registry, insecure=insecure_http)
    folders = folders_named(app, [target])
    if len(folders) != 1:
        raise UsageError(f"{target!r} holds {len(folders)} skills", hint="publish one at a time")
    files = select_files(folders[0])
    leaked = list(find_secrets(files))
    if leaked:
        raise InvalidSkillError(f"{os.path.basename(folders[0])} holds secrets and was not sent anywhere",
                           report=Report.of(leaked), hint="take them out, or name the files in .metierignore")  # fmt: skip
    wishes = {"namespace": namespace, "visibility": visibility or "", "version": version}
    answer = client.publish(pack(files), dry_run=dry_run, **wishes)
    signer = _signed(app, client, answer) if sign and not dry_run else ""
    refused = answer.get("verdict") == "refused"
    return Result(
        data={"registry": client.url, **answer, "left_out": list(files.left_out), "signed_by": signer},
        lines=lambda terminal: _outcome(answer, files.left_out, signer, terminal),
        status=1 if refused else 0,
    )


def _signed(app: App, client: Any, answer: Mapping[str, Any]) -> str:  # Any: a RegistryClient
    from metier.registry.ed25519 import keyid_of, public_of, sign, statement

    private = app.registries.signing_key()
    if private is None:
        raise RefusedError("it was published, but not signed: you have no key", rule="no-key",
                      hint="`metier registry key new`, then register it, then publish again")  # fmt: skip
    name, version, digest = (str(answer[field]) for field in ("name", "version", "digest"))
    signature = sign(private, statement(kind="skill", name=name, version=version, digest=digest))
    row = client.sign(name, version, keyid=keyid_of(public_of(private)), signature=signature)
    return str(row.get("signer", ""))


@command("skill", "yank")
@click.argument("ref", metavar="NAME@VERSION")
@click.option("--reason", required=True, help="Why; whoever has it will be told.")
@from_registry
def yank(app: App, *, ref: str, reason: str, registry: str | None, insecure_http: bool) -> Result:
    """Withdraw a version: nobody gets it any more who does not name it exactly. Locks can still be restored."""
    client = app.registries.client(registry, insecure=insecure_http)
    name, version = _exact(ref)
    changed = client.yank(name, version, reason=reason).get("changed", True)
    told = f"{name} {version} is yanked" if changed else f"{name} {version} was yanked already"
    return Result(data={"name": name, "version": version, "changed": changed}, lines=lambda _: (told,))


@command("skill", "unyank")
@click.argument("ref", metavar="NAME@VERSION")
@from_registry
def unyank(app: App, *, ref: str, registry: str | None, insecure_http: bool) -> Result:
    """Take a yank back."""
    client = app.registries.client(registry, insecure=insecure_http)
    name, version = _exact(ref)
    changed = client.unyank(name, version).get("changed", True)
    told = f"{name} {version} is there again" if changed else f"{name} {version} was not yanked"
    return Result(data={"name": name, "version": version, "changed": changed}, lines=lambda _: (told,))


def _exact(ref: str) -> tuple[str, str]:
    name, version = split_version(ref)
    if not version:
        raise UsageError(f"{ref!r} names no version", hint=f"write {name}@1.2.3; `metier skill versions {name}` lists them")
    return name, version


def _outcome(answer: Mapping[str, Any], left_out: tuple[str, ...], signer: str, terminal: Terminal) -> Iterator[str]:
    dry = bool(answer.get("dry_run"))
    title = f"{answer.get('name')} {answer.get('version') or '(next version)'}"
    if dry:
        for row in answer.get("files", []):
            yield f"  {one_line(str(row.get('path')))}  {terminal.paint(str(row.get('size')), 'dim')}"
        for path in left_out:
            yield terminal.paint(f"  {one_line(path)}  left out", "dim")
    for one in answer.get("findings", []):
        where = f"{one.get('file')}:{one['line']}" if one.get("line") else str(one.get("file"))
        yield f"{one_line(where)}: {one.get('severity')} {one.get('rule')}: {one_line(str(one.get('message')))}"
    if dry:
        refused = answer.get("verdict") == "refused"
        yield f"{one_line(title)} would be {'refused' if refused else 'published'}; nothing was"
    elif answer.get("created"):
        yield f"{terminal.paint('published', 'green')} {one_line(title)}  {one_line(str(answer.get('url')))}"
    else:
        yield f"{one_line(title)} is there already, with exactly these files"
    if signer:
        yield f"signed by {one_line(signer)}"
