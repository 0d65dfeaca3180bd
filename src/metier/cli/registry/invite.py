"""`metier registry invite`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.scopes import describe_scopes
from metier.cli.core.terminal import one_line, plural

from .location import db_option, existing_registry

__all__ = ["invite"]


@command("registry", "invite")
@click.option("--scope", "scopes", multiple=True, required=True, help="read, publish:NAMESPACE, yank or tokens. Repeatable.")
@click.option("--days", type=click.IntRange(1, 90), default=7, show_default=True, help="Days until the link expires.")
@click.option("--note", default="", help="Who or what the link is for.")
@db_option
def invite(app: App, *, scopes: tuple[str, ...], days: int, note: str, db: str | None) -> Result:
    """Make a link for one person, who chooses a name and gets a token.

    The link goes to standard output, and works once.
    """
    location = existing_registry(app, db=db)
    from metier.registry import invite as make

    text = asyncio.run(make(location, scopes, days=days, note=note))
    settings = app.settings
    known = settings.path("registry.url") or settings.path("skills.registry")
    url = (known or "URL").rstrip("/").removesuffix("/skills")
    link = f"{one_line(url)}/invite/{text}"
    info = (
        f"The person who opens it can {one_line(describe_scopes(scopes))}. "
        f"It works once, for {plural(days, 'day')}; send it in private."
    )
    if not known:
        info += " URL stands for the address of this registry; `metier config set registry.url URL` fills it in."
    return Result(data={"link": link, "scopes": list(scopes), "days": days}, lines=lambda _: (link,), info=info)
