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
from .core.scopes import describe_scopes
from .core.terminal import one_line

__all__ = ["login", "logout"]


@command("", "login")
@click.argument("url", required=False)
@click.option("--token", help="The token.  [default: prompt, or standard input]")
@click.option("--insecure-http", is_flag=True, help="Allow an http:// address.")
def login(app: App, *, url: str | None, token: str | None, insecure_http: bool) -> Result:
    """Log in to a registry. The first one becomes the default registry, which r9s:NAME refers to.

    The token is checked with the registry and stored in ~/.metier/credentials.toml, readable only by you. URL is the address
    of the registry, such as https://skills.example.com.
    """
    from metier.registry.client import RegistryClient, registry_url

    known = app.settings.path("skills.registry")
    address = registry_url(url or known or "")
    if not address:
        raise UsageError("no registry is configured", hint="metier login https://skills.example.com")
    _check_url(address)
    text = (token or _prompt()).strip()
    if not re.fullmatch(r"[\w.~+/=-]+", text, re.ASCII):
        raise UsageError("invalid token", hint="copy the whole token, without spaces")
    client = RegistryClient(url=address, token=text, insecure=insecure_http, environment=app.environment)
    who = client.whoami()
    if not who.get("scopes"):
        raise RefusedError(
            f"{address} does not accept the token", rule="unauthenticated", hint="copy the whole token, or create a new one"
        )
    app.registries.logins.add(address, text)
    if not known:
        set_value(app.paths.config_file, KEYS["skills.registry"], f"{address}/skills")
    name, scopes = str(who.get("name")), [str(scope) for scope in who["scopes"]]
    label = "scope" if len(scopes) == 1 else "scopes"
    lines = (
        f"Logged in to {address} as {one_line(name)} ({label}: {one_line(', '.join(scopes))})",
        f"You can {one_line(describe_scopes(scopes))}",
    )
    data = {"registry": address, "name": name, "scopes": scopes, "is_default": not known or registry_url(known) == address}
    return Result(data=data, lines=lambda _: lines)


@command("", "logout")
@click.argument("url", required=False)
def logout(app: App, *, url: str | None) -> Result:
    """Remove the stored token of a registry. The token stays valid until it is revoked."""
    from metier.registry.client import registry_url

    address = registry_url(url or app.settings.path("skills.registry") or "")
    if not address:
        raise UsageError("no registry is configured", hint="metier logout https://skills.example.com")
    changed = app.registries.logins.remove(address)
    message = f"Logged out of {address}" if changed else f"Not logged in to {address}"
    return Result(data={"registry": address, "changed": changed}, lines=lambda _: (message,))


def _check_url(address: str) -> None:
    """Raises UsageError for a word that is not an address, before the user is asked for a token."""
    if "://" in address:
        return
    is_local = re.fullmatch(r"(localhost|127\.0\.0\.1)(:\d+)?", address) is not None
    is_host = re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", address, re.ASCII) is not None
    guess = f"http://{address}" if is_local else f"https://{address}" if is_host else "https://skills.example.com"
    raise UsageError(f"{address!r} is not a URL", hint=f"name the address of the registry: metier login {guess}")


def _prompt() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    return sys.stdin.readline()
