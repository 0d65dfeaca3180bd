"""`metier registry token create|list|revoke`: the tokens of your own registry."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.scopes import describe_scopes
from metier.cli.core.terminal import one_line

from .location import db_option, existing_registry

__all__ = ["create", "list_all", "revoke"]


@command("registry token", "create")
@click.argument("holder")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help="read, publish:NAMESPACE, yank, tokens, metrics or admin. Repeatable.",
)
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires.  [default: registry.token_days, or never]")
@click.option("--note", default="", help="What the token is for.")
@db_option
def create(app: App, *, holder: str, scopes: tuple[str, ...], days: int | None, note: str, db: str | None) -> Result:
    """Create a token for HOLDER, directly in the database. It is shown once.

    The token goes to standard output, and what to send to HOLDER to standard error.
    """
    location = existing_registry(app, db=db)
    from metier.registry import create_token

    text, row = asyncio.run(
        create_token(location, holder, scopes, note=note, days=days or app.settings.number("registry.token_days"))
    )
    settings = app.settings
    url = (settings.path("registry.url") or settings.path("skills.registry") or "URL").rstrip("/").removesuffix("/skills")
    info = (
        f"With this token, {one_line(holder)} can {one_line(describe_scopes(scopes))}. It is shown once.\n"
        f"Send it to {one_line(holder)} in private, with: run `metier login {one_line(url)}` and paste the token."
    )
    data = {"token": text, "id": row.id, "holder": holder, "scopes": list(scopes)}
    return Result(data=data, lines=lambda _: (text,), info=info)


@command("registry token", "list")
@db_option
def list_all(app: App, *, db: str | None) -> Result:
    """List all tokens by their prefix."""
    import msgspec

    location = existing_registry(app, db=db)
    from metier.registry import list_tokens

    rows = asyncio.run(list_tokens(location))
    lines = [
        f"{row.id:>5}  {row.prefix}…  {row.holder}  {' '.join(row.scopes)}"
        + (f"  expires {row.expires}" if row.expires else "")
        + (f"  used {row.used}" if row.used else "")
        + (f"  created with {row.parent}" if row.parent else "")
        + ("  revoked" if row.revoked else "")
        for row in rows
    ]
    return Result(data={"tokens": msgspec.to_builtins(rows)}, lines=lambda _: lines)


@command("registry token", "revoke")
@click.argument("number", type=int)
@db_option
def revoke(app: App, *, number: int, db: str | None) -> Result:
    """Revoke a token by its number (see `metier registry token list`), and the tokens created with it."""
    location = existing_registry(app, db=db)
    from metier.registry import revoke_token

    revoked = asyncio.run(revoke_token(location, number))
    more = f" and {revoked - 1} created with it" if revoked > 1 else ""
    return Result(data={"id": number, "revoked": revoked}, lines=lambda _: (f"Revoked token {number}{more}",))
