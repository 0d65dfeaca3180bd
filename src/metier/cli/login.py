"""`metier login` and `metier logout`: a token for a registry."""

from __future__ import annotations

import re
import sys

import click

from metier.app import App
from metier.config import KEYS, set_value
from metier.errors import RefusedError, UsageError

from .core.dispatch import command
from .core.result import Result
from .core.terminal import one_line

__all__ = ["login", "logout"]


@command("", "login")
@click.argument("url", required=False)
@click.option("--token", help="The token; without it you are asked, or it is read from standard input.")
@click.option("--insecure-http", is_flag=True, help="Also an address that is not encrypted.")
def login(app: App, *, url: str | None, token: str | None, insecure_http: bool) -> Result:
    """Log in to a registry, and make it the one that r9s:NAME means if there is none yet.

    The token is asked for without showing it, checked with the registry, and kept in ~/.metier/credentials.toml, which only
    you can read. Give the address of the registry, such as https://skills.example.com.
    """
    from metier.registry.client.http_client import RegistryClient, registry_url

    known = app.settings.path("skills.registry")
    address = registry_url(url or known or "")
    if not address:
        raise UsageError("which registry?", hint="metier login https://skills.example.com")
    text = (token or _asked()).strip()
    if not re.fullmatch(r"[\w.~+/=-]+", text, re.ASCII):
        raise UsageError("this is no token", hint="copy it whole, without spaces")
    client = RegistryClient(url=address, token=text, insecure=insecure_http, environment=app.environment)
    who = client.whoami()
    if not who.get("scopes"):
        raise RefusedError(
            f"{address} does not know this token", rule="unauthenticated", hint="copy it whole, or make a new one"
        )
    app.registries.logins.add(address, text)
    if not known:
        set_value(app.paths.config_file, KEYS["skills.registry"], f"{address}/skills")
    name, scopes = str(who.get("name")), [str(scope) for scope in who["scopes"]]
    told = f"logged in to {address} as {one_line(name)}, who may {one_line(', '.join(scopes))}"
    data = {"registry": address, "name": name, "scopes": scopes, "is_default": not known or registry_url(known) == address}
    return Result(data=data, lines=lambda _: (told,))


@command("", "logout")
@click.argument("url", required=False)
def logout(app: App, *, url: str | None) -> Result:
    """Forget the token of a registry. It stays valid; revoke it there if somebody else may have it."""
    from metier.registry.client.http_client import registry_url

    address = registry_url(url or app.settings.path("skills.registry") or "")
    if not address:
        raise UsageError("which registry?", hint="metier logout https://skills.example.com")
    changed = app.registries.logins.remove(address)
    told = f"logged out of {address}" if changed else f"you were not logged in to {address}"
    return Result(data={"registry": address, "changed": changed}, lines=lambda _: (told,))


def _asked() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    return sys.stdin.readline()
