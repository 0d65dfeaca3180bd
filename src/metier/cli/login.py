"""`metier login` and `metier logout`: a token for a registry."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.config import KEYS, set_value
from metier.errors import NotFoundError, RefusedError, UsageError

from .core.dispatch import command
from .core.result import Result
from .core.scopes import describe_scopes
from .core.terminal import one_line

if TYPE_CHECKING:
    from metier.registry.client import RegistryClient

__all__ = ["login", "logout"]


@command("", "login")
@click.argument("url", required=False)
@click.option("--token", help="The token.  [default: prompt, or standard input]")
@click.option("--device", is_flag=True, help="Sign in with a browser, here or on another device, instead of a token.")
@click.option("--insecure-http", is_flag=True, help="Allow an http:// address.")
def login(app: App, *, url: str | None, token: str | None, device: bool, insecure_http: bool) -> Result:
    """Log in to a registry. The first one becomes the default registry, which r9s:NAME refers to.

    The token is checked with the registry and stored in ~/.metier/credentials.toml, readable only by you. URL is the address
    of the registry, such as https://skills.example.com. A registry with single sign-on prints an address and a code instead of
    asking for a token, on a terminal or with --device.
    """
    from metier.registry.client import RegistryClient, registry_url

    known = app.settings.path("skills.registry")
    address = registry_url(url or known or "")
    if not address:
        raise UsageError("no registry is configured", hint="metier login https://skills.example.com")
    _check_url(address)
    anonymous = RegistryClient(url=address, insecure=insecure_http, environment=app.environment)
    text = (token or _device_token(anonymous, is_required=device) or _prompt()).strip()
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
    note = _pin_advisories(app, client)
    name, scopes = str(who.get("name")), [str(scope) for scope in who["scopes"]]
    label = "scope" if len(scopes) == 1 else "scopes"
    lines = (
        f"Logged in to {address} as {one_line(name)} ({label}: {one_line(', '.join(scopes))})",
        f"You can {one_line(describe_scopes(scopes))}",
    )
    data = {"registry": address, "name": name, "scopes": scopes, "is_default": not known or registry_url(known) == address}
    return Result(data=data, lines=lambda _: lines, notes=(note,) if note else ())


def _pin_advisories(app: App, client: RegistryClient) -> str:
    """Keeps the key of the registry's advisories. Returns a problem with them."""
    if not app.settings.boolean("scan.registry_advisories"):
        return ""
    return one_line(app.advisories.lists.read(client).note)


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


def _device_token(client: RegistryClient, *, is_required: bool) -> str:
    """Returns a token that a person approved in a browser; empty if this registry or this terminal asks for one instead."""
    if not is_required and not sys.stdin.isatty():
        return ""
    try:
        codes = client.start_device_login()
    except NotFoundError:
        if is_required:
            raise
        return ""
    address, code = one_line(str(codes.get("verification_uri"))), one_line(str(codes.get("user_code")))
    sys.stderr.write(f"Open {address} in a browser and enter the code {code}\nWaiting (Ctrl-C stops; --token takes a token)\n")
    sys.stderr.flush()
    seconds = float(codes.get("interval", 5))
    while True:
        time.sleep(seconds)
        answer = client.poll_device_login(str(codes.get("device_code")))
        match answer.get("error"):
            case None:
                return str(answer.get("access_token", ""))
            case "authorization_pending":
                continue
            case "slow_down":
                seconds += 5
            case _:
                why = one_line(str(answer.get("error_description") or answer["error"]))
                raise RefusedError(f"not logged in: {why}", rule="unauthenticated", hint=f"metier login {client.url}")


def _prompt() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    return sys.stdin.readline()
