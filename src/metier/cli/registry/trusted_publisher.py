"""`metier registry trusted-publisher add|list|remove`: the CI jobs that may publish in a namespace."""

from __future__ import annotations

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import registry_options
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line
from metier.registry.client import Json

__all__ = ["add", "list_all", "remove"]

_ISSUERS = {"github": "https://token.actions.githubusercontent.com", "gitlab": "https://gitlab.com"}


@command("registry trusted-publisher", "add")
@click.argument("namespace")
@click.option("--repository", required=True, help="OWNER/NAME, or the path of the GitLab project.")
@click.option("--workflow", required=True, help="Its workflow file: release.yml, or .gitlab-ci.yml.")
@click.option("--issuer", default="github", show_default=True, help="github, gitlab, or the address of your own server.")
@click.option("--package", default="", help="Only this skill.  [default: all of the namespace]")
@click.option("--ref", default="", help="Only this ref: refs/heads/main, or refs/tags/v*.")
@click.option("--environment", default="", help="Only jobs in this environment.")
@registry_options
def add(
    app: App, *, namespace: str, repository: str, workflow: str, issuer: str, package: str, ref: str, environment: str,
    registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Let a CI job publish in a namespace, without a stored secret.

    The job's ID token is exchanged for a token that can only publish, for 15 minutes.
    """
    client = app.registries.client(registry, insecure=insecure_http)
    row = client.add_trusted_publisher(
        namespace, issuer=_ISSUERS.get(issuer, issuer.rstrip("/")), repository=repository, workflow=workflow, package=package,
        ref=ref, environment=environment,
    )  # fmt: skip
    lines = (f"Added {_line(row)}", "The job publishes with: metier publish --trusted --registry " + client.url)
    return Result(data={"registry": client.url, **row}, lines=lambda _: lines)


@command("registry trusted-publisher", "list")
@click.argument("namespace")
@registry_options
def list_all(app: App, *, namespace: str, registry: str | None, insecure_http: bool) -> Result:
    """List the CI jobs that may publish in a namespace."""
    client = app.registries.client(registry, insecure=insecure_http)
    rows = client.trusted_publishers(namespace)
    lines = [_line(row) for row in rows] or [f"No trusted publishers in {one_line(namespace)}"]
    return Result(data={"registry": client.url, "publishers": rows}, lines=lambda _: lines)


@command("registry trusted-publisher", "remove")
@click.argument("namespace")
@click.argument("number", type=int)
@registry_options
def remove(app: App, *, namespace: str, number: int, registry: str | None, insecure_http: bool) -> Result:
    """Remove a trusted publisher by its number, and revoke the tokens that its jobs still have."""
    client = app.registries.client(registry, insecure=insecure_http)
    client.remove_trusted_publisher(namespace, number)
    message = f"Removed trusted publisher {number} of {one_line(namespace)}"
    return Result(data={"registry": client.url, "namespace": namespace, "removed": number}, lines=lambda _: (message,))


def _line(row: Json) -> str:
    target = "/".join(str(row[key]) for key in ("namespace", "package") if row.get(key))
    limits = "".join(f", {label} {row[key]}" for key, label in (("ref", "ref"), ("environment", "environment")) if row.get(key))
    job = f"{row.get('repository')}, workflow {row.get('workflow')}{limits} ({row.get('issuer')})"
    return one_line(f"{row.get('id')} {target}: {job}")
