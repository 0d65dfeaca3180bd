"""`metier registry key`: the key that you sign releases with."""

from __future__ import annotations

from importlib.util import find_spec

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.skill.search import from_registry
from metier.errors import ConflictError, NotFoundError, UnavailableError

__all__ = ["new", "register", "show"]


@command("registry key", "new")
@click.option("--force", is_flag=True, help="Replace the key that you have.")
def new(app: App, *, force: bool) -> Result:
    """Make an Ed25519 key in ~/.metier/signing.key, which only you can read."""
    _need_cryptography()
    from metier.registry.ed25519 import keyid_of, new_key

    if app.registries.signing_key() is not None and not force:
        raise ConflictError("you have a key already", hint="--force replaces it; releases that it signed stay signed")
    private, public = new_key()
    app.registries.save_signing_key(private)
    return _key(keyid_of(public), public)


@command("registry key", "show")
def show(app: App) -> Result:
    """Show the public half of your key."""
    _need_cryptography()
    from metier.registry.ed25519 import keyid_of, public_of

    public = public_of(_own(app))
    return _key(keyid_of(public), public)


@command("registry key", "register")
@click.argument("namespace")
@click.option("--note", default="", help="What the key is for.")
@from_registry
def register(app: App, *, namespace: str, note: str, registry: str | None, insecure_http: bool) -> Result:
    """Tell a registry that your key signs for a namespace."""
    _need_cryptography()
    from metier.registry.ed25519 import public_of

    client = app.registries.client(registry, insecure=insecure_http)
    row = client.register_key(namespace, public_of(_own(app)), note=note)
    told = f"{row.get('keyid')} signs for {namespace} at {client.url}"
    return Result(data={"registry": client.url, "namespace": namespace, **row}, lines=lambda _: (told,))


def _own(app: App) -> str:
    private = app.registries.signing_key()
    if private is None:
        raise NotFoundError("you have no key", hint="metier registry key new")
    return private


def _key(keyid: str, public: str) -> Result:
    return Result(data={"keyid": keyid, "public": public}, lines=lambda _: (f"{keyid}  {public}",))


def _need_cryptography() -> None:
    if find_spec("cryptography") is None:
        raise UnavailableError(
            "signing needs a package that is not installed", hint="pip install 'metier[registry]'", retryable=False
        )
