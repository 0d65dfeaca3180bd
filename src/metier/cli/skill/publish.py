"""`metier skill publish`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import registry_options
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folder_named
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import UsageError
from metier.registry import PublishOptions, PublishReceipt, PublishResult

if TYPE_CHECKING:
    from metier.install import OciPublishResult
    from metier.registry.client import ReleaseFinding

__all__ = ["publish"]


@command("skill", "publish")
@click.argument("target", metavar="[NAME|PATH]", default=".", shell_complete=skill_names)
@click.option("--dry-run", is_flag=True, help="Check the skill and list its files, but publish nothing.")
@click.option("--to", metavar="OCI-REF", default="", help="Publish to a container registry: oci://HOST/REPOSITORY[:TAG].")
@click.option("--namespace", default="", help="Namespace to publish in.  [default: the token's own]")
@click.option("--public", "visibility", flag_value="public", default="", help="Make it visible to everyone.")
@click.option(
    "--private", "visibility", flag_value="private", help="Make it visible only with a token (default for new skills)."
)
@click.option("--version", default="", help="Version.  [default: metadata.version, else the next patch version]")
@click.option("--draft", is_flag=True, help="Upload it as a draft; `metier registry review submit` puts it online.")
@click.option("--sign", is_flag=True, help="Sign the release with your key (see `metier registry key`).")
@click.option("--trusted", is_flag=True, help="Exchange the ID token of this CI job (automatic without a stored token).")
@click.option("--allow-placeholders", is_flag=True, help="Publish it although it still has text of its template.")
@registry_options
def publish(
    app: App, *, target: str, dry_run: bool, to: str, namespace: str, visibility: str | None, version: str,
    draft: bool, sign: bool, trusted: bool, allow_placeholders: bool, registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Publish a skill to a registry. New skills are private unless you pass --public.

    Files that git ignores or `.metierignore` lists are left out. A skill that contains secrets is not uploaded. A published
    version never changes; publish the same files again with --public or --private to change who sees the skill.
    """
    import msgspec

    folder = folder_named(app, target, command="metier publish")
    options = PublishOptions(
        namespace=namespace, visibility=visibility or "", version=version, dry_run=dry_run, draft=draft,
        allow_placeholders=allow_placeholders,
    )  # fmt: skip
    if to:
        if namespace or visibility or draft or trusted or registry:
            raise UsageError(
                "--to goes to a container registry, which has no --namespace, --public, --private, --draft,"
                " --trusted or --registry",
                hint=f"metier publish {target} --to {to}",
            )
        return _publish_oci(app, folder, to, options, sign=sign, insecure=insecure_http)
    done = app.registries.publish(folder, options, registry=registry, sign=sign, trusted=trusted, insecure=insecure_http)
    data = {
        "registry": done.registry, **msgspec.to_builtins(done.receipt), "left_out": list(done.left_out),
        "links": list(done.links), "signed_by": done.signed_by,
    }  # fmt: skip
    source = registry or "r9s"
    return Result(
        data=data,
        lines=lambda terminal: _lines(done, target, source, terminal),
        notes=_link_notes(done.links),
        status=1 if done.is_refused else 0,
    )


def _publish_oci(app: App, folder: str, to: str, options: PublishOptions, *, sign: bool, insecure: bool) -> Result:
    import msgspec

    from metier.install import OciRef, parse_ref, publish_oci

    ref = parse_ref(to)
    if not isinstance(ref, OciRef):
        raise UsageError(f"{to!r} is not in a container registry", hint="write --to oci://HOST/REPOSITORY[:TAG]")
    key = app.registries.read_signing_key() if sign else None
    done = publish_oci(folder, ref, app.installation.access(insecure=insecure), options, signing_key=key)
    skill = done.skill
    data = {
        "ref": done.ref.text, "digest": done.ref.digest, "name": skill.name, "version": skill.version,
        "size": len(skill.artifact.layer), "created": done.created, "dry_run": done.dry_run,
        "files": [entry.path for entry in skill.files.list()], "left_out": list(skill.files.left_out),
        "links": list(skill.files.links), "refused": skill.is_refused, "findings": msgspec.to_builtins(skill.findings),
        "signed_by": done.signed_by,
    }  # fmt: skip
    return Result(
        data=data,
        lines=lambda terminal: _oci_lines(done, terminal),
        notes=_link_notes(skill.files.links),
        status=1 if skill.is_refused else 0,
    )


def _oci_lines(done: OciPublishResult, terminal: Terminal) -> Iterator[str]:
    skill = done.skill
    title = one_line(f"{skill.name} {skill.version}".rstrip())
    if done.dry_run:
        yield from (f"  {one_line(entry.path)}  {terminal.paint(str(entry.size), 'dim')}" for entry in skill.files.list())
        yield from (terminal.paint(f"  {one_line(path)}  left out", "dim") for path in skill.files.left_out)
    yield from map(_finding_line, skill.findings)
    if skill.is_refused:
        yield f"Dry run: {title} would be refused"
        return
    at = f"{done.ref.home}:{done.ref.tag}"
    if not done.created:
        yield f"{title} is already at {at} with the same files"
    elif done.dry_run:
        yield f"Dry run: {title} is ready to publish to {at}"
    else:
        yield f"{terminal.paint('Published', 'green')} {title} to {at}"
    yield f"  digest: {done.ref.digest}"
    if done.signed_by:
        yield f"  signed with the key {done.signed_by}"
    if not done.dry_run:
        yield f"  install: metier install {at}"


def _link_notes(links: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{one_line(path)} is a link, and links are not published; put a copy of the file there" for path in links)


def _finding_line(finding: ReleaseFinding) -> str:
    where = f"{finding.file}:{finding.line}" if finding.line else finding.file
    return f"{one_line(where)}: {finding.severity} {finding.rule}: {one_line(finding.message)}"


def _lines(done: PublishResult, target: str, source: str, terminal: Terminal) -> Iterator[str]:
    receipt = done.receipt
    title = one_line(f"{receipt.name} {receipt.version}")
    if receipt.dry_run:
        for row in receipt.files:
            yield f"  {one_line(row.path)}  {terminal.paint(str(row.size), 'dim')}"
        for path in done.left_out:
            yield terminal.paint(f"  {one_line(path)}  left out", "dim")
    yield from map(_finding_line, receipt.findings)
    if done.is_refused:
        yield f"Dry run: {title} would be refused"
        return
    yield ("Dry run: " if receipt.dry_run else "") + _outcome(receipt, title, terminal)
    yield from (f"  {one_line(line)}" for line in _facts(done, target, source))


def _outcome(receipt: PublishReceipt, title: str, terminal: Terminal) -> str:
    if receipt.created:
        verb = "Published" if receipt.state in ("", "online") else "Uploaded"
        done = f"{title} is ready to publish" if receipt.dry_run else f"{terminal.paint(verb, 'green')} {title}"
        return f"{done} in namespace {one_line(receipt.namespace)}" if receipt.namespace else done
    change = f"; it {'would become' if receipt.dry_run else 'is now'} {one_line(receipt.visibility)}"
    return f"{title} is already published with the same files{change if receipt.visibility_changed else ''}"


def _facts(done: PublishResult, target: str, source: str) -> Iterator[str]:
    """Yields who can see the skill, where its page is, and how to install it. An older server does not say who can."""
    receipt = done.receipt
    if receipt.state not in ("", "online"):
        yield from _waiting(receipt)
        return
    if receipt.available:
        yield f"cool-down: until {receipt.available} it is installed only by its exact version"
    if receipt.visibility == "public":
        yield f"public: visible to everyone who can reach {done.registry}"
    elif receipt.visibility:
        more = "" if receipt.dry_run else f"; `metier publish {target} --public` makes it public"
        yield f"private: visible only with a token that can read {receipt.namespace}{more}"
    if done.is_pending:
        yield f"{done.registry} checks it before others see it"
    if page := receipt.page or receipt.url:
        yield f"page: {page}"
    if not receipt.dry_run and "://" not in source:
        yield f"install: metier install {source}:{receipt.name}"
    if done.signed_by:
        yield f"signed by {done.signed_by}"


def _waiting(receipt: PublishReceipt) -> Iterator[str]:
    """Yields what happens next to a version that is not online."""
    ref, tense = f"{receipt.name}@{receipt.version}", "would be" if receipt.dry_run else "is"
    if receipt.state == "review":
        yield f"in review: it {tense} online after a reviewer of {receipt.namespace} approves it"
    elif receipt.state == "draft":
        yield f"draft: it {tense} seen by members of {receipt.namespace} only"
        if not receipt.dry_run:
            yield f"submit: metier registry review submit {ref}"
    else:
        yield f"quarantined: {receipt.state_reason or 'an administrator decides'}"
    if not receipt.dry_run:
        yield f"page: {receipt.review or receipt.page or receipt.url}"
