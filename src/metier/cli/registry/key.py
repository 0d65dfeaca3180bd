"""`metier registry key new|show|register`: the key that signs your releases."""

from __future__ import annotations

from importlib.util import find_spec

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import registry_options
from metier.cli.core.result import Result
from metier.errors import ConflictError, NotFoundError
from metier.extras import MissingExtraError

__all__ = ["new", "register", "show"]


@command("registry key", "new")
@click.option("--force", is_flag=True, help="Replace the existing key.")
def new(app: App, *, force: bool) -> Result:
    """Create an Ed25519 key in ~/.metier/signing.key, readable only by you."""
    _require_cryptography()
    from metier.registry import key_id, new_signing_key

    if app.registries.signing_key.read() is not None and not force:
        raise ConflictError("a signing key already exists", hint="--force replaces it; signed releases stay signed")
    private, public = new_signing_key()
    app.registries.signing_key.write(private)
    return _key_result(key_id(public), public)


@command("registry key", "show")
def show(app: App) -> Result:
    """Show the public half of your key."""
    _require_cryptography()
    from metier.registry import key_id, public_key

    public = public_key(_private_key(app))
    return _key_result(key_id(public), public)


@command("registry key", "register")
@click.argument("namespace")
@click.option("--note", default="", help="What the key is for.")
@registry_options
def register(app: App, *, namespace: str, note: str, registry: str | None, insecure_http: bool) -> Result:
    """Register your key with a registry, so that it can sign releases of a namespace."""
    _require_cryptography()
    from metier.registry import public_key

    client = app.registries.client(registry, insecure=insecure_http)
    row = client.register_key(namespace, public_key(_private_key(app)), note=note)
    message = f"Registered key {row.get('keyid')} for {namespace} at {client.url}"
    return Result(data={"registry": client.url, "namespace": namespace, **row}, lines=lambda _: (message,))


def _private_key(app: App) -> str:
    private = app.registries.signing_key.read()
    if private is None:
        raise NotFoundError("no signing key", hint="metier registry key new")
    return private


def _key_result(keyid: str, public: str) -> Result:
    return Result(data={"keyid": keyid, "public": public}, lines=lambda _: (f"{keyid}  {public}",))


def _require_cryptography() -> None:
    if find_spec("cryptography") is None:
        raise MissingExtraError("signing dependencies are not installed", extra="registry")
