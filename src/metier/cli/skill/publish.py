"""`metier skill publish`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import registry_options
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import UsageError
from metier.registry import PublishOptions, PublishResult

__all__ = ["publish"]


@command("skill", "publish")
@click.argument("target", metavar="[NAME|PATH]", default=".")
@click.option("--dry-run", is_flag=True, help="Check the skill and list its files, but publish nothing.")
@click.option("--namespace", default="", help="Namespace to publish in.  [default: the token's own]")
@click.option("--public", "visibility", flag_value="public", default="", help="Visible to everyone.")
@click.option("--private", "visibility", flag_value="private", help="Visible only with a token (default for new skills).")
@click.option("--version", default="", help="Version.  [default: metadata.version, else the next patch version]")
@click.option("--sign", is_flag=True, help="Sign the release with your key (see `metier registry key`).")
@registry_options
def publish(
    app: App, *, target: str, dry_run: bool, namespace: str, visibility: str | None, version: str, sign: bool,
    registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Publish a skill to a registry. New skills are private unless you pass --public.

    Files that git ignores or `.metierignore` lists are left out. A skill that contains secrets is not uploaded. A published
    version never changes; publishing the same files again has no effect.
    """
    import msgspec

    folders = folders_named(app, [target])
    if len(folders) != 1:
        raise UsageError(f"{target!r} contains {len(folders)} skills", hint="publish one skill at a time")
    options = PublishOptions(namespace=namespace, visibility=visibility or "", version=version, dry_run=dry_run)
    done = app.registries.publish(folders[0], options, registry=registry, sign=sign, insecure=insecure_http)
    data = {
        "registry": done.registry, **msgspec.to_builtins(done.receipt), "left_out": list(done.left_out),
        "signed_by": done.signed_by,
    }  # fmt: skip
    return Result(data=data, lines=lambda terminal: _lines(done, terminal), status=1 if done.is_refused else 0)


def _lines(done: PublishResult, terminal: Terminal) -> Iterator[str]:
    receipt = done.receipt
    title = one_line(f"{receipt.name} {receipt.version or '(next version)'}")
    if receipt.dry_run:
        for row in receipt.files:
            yield f"  {one_line(row.path)}  {terminal.paint(str(row.size), 'dim')}"
        for path in done.left_out:
            yield terminal.paint(f"  {one_line(path)}  left out", "dim")
    for finding in receipt.findings:
        where = f"{finding.file}:{finding.line}" if finding.line else finding.file
        yield f"{one_line(where)}: {finding.severity} {finding.rule}: {one_line(finding.message)}"
    if receipt.dry_run:
        yield f"Dry run: {title} {'would be refused' if done.is_refused else 'is ready to publish'}"
    elif receipt.created:
        yield f"{terminal.paint('Published', 'green')} {title}  {one_line(receipt.url)}"
    else:
        yield f"{title} is already published with the same files"
    if done.signed_by:
        yield f"Signed by {one_line(done.signed_by)}"
