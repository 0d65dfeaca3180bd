"""`metier registry user list|disable|enable`: the people who sign in to your own registry."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural

from .location import db_option, existing_registry

__all__ = ["disable", "enable", "list_all"]


@command("registry user", "list")
@db_option
def list_all(app: App, *, db: str | None) -> Result:
    """List the people who have signed in, with the scopes of their last sign-in."""
    import msgspec

    location = existing_registry(app, db=db)
    from metier.registry import list_users

    rows = asyncio.run(list_users(location))
    lines = [
        f"{row.name}  {one_line(row.email or '-')}  {' '.join(row.scopes)}" + ("  disabled" if row.disabled else "")
        for row in rows
    ]
    return Result(data={"users": msgspec.to_builtins(rows)}, lines=lambda _: lines or ("No users have signed in",))


@command("registry user", "disable")
@click.argument("name")
@db_option
def disable(app: App, *, name: str, db: str | None) -> Result:
    """Disable a user. Their sessions and tokens end at once, and they cannot sign in."""
    location = existing_registry(app, db=db)
    from metier.registry import set_user_disabled

    revoked = asyncio.run(set_user_disabled(location, name, disabled=True))
    line = f"Disabled {one_line(name)} and revoked {plural(revoked, 'token')}"
    return Result(data={"user": name, "revoked": revoked}, lines=lambda _: (line,))


@command("registry user", "enable")
@click.argument("name")
@db_option
def enable(app: App, *, name: str, db: str | None) -> Result:
    """Enable a disabled user. They can sign in again; their old tokens stay revoked."""
    location = existing_registry(app, db=db)
    from metier.registry import set_user_disabled

    asyncio.run(set_user_disabled(location, name, disabled=False))
    return Result(data={"user": name}, lines=lambda _: (f"Enabled {one_line(name)}",))
