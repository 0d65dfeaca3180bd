"""The location and options of the user's own registry, from flags and settings."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click

from metier.app import App
from metier.cli.core.result import Result
from metier.cli.core.terminal import plural
from metier.errors import ConfigError, NotFoundError, UsageError
from metier.extras import MissingExtraError

if TYPE_CHECKING:
    from metier.registry import CopyResult, OidcOptions, RegistryLocation, ReleasePolicy, ServerOptions, Site

__all__ = [
    "blobs_option",
    "check_exists",
    "copy_result",
    "db_option",
    "existing_registry",
    "registry_location",
    "server_options",
    "show_progress",
]

db_option = click.option("--db", help="Database address.  [default: registry.db]")
_LARGEST_LOGO = 256 * 1024

blobs_option = click.option("--blobs", help="Address of the archives.  [default: registry.blobs]")


def server_options(
    app: App, *, db: str | None = None, blobs: str | None = None, url: str | None = None, **more: Any
) -> ServerOptions:  # Any: other fields of ServerOptions
    """Returns the options of the user's registry: flags, then settings, then a folder in the home directory."""
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise MissingExtraError("the registry's dependencies are not installed", extra="registry")
    from metier.registry import RequestRates, ServerOptions

    settings, folder = app.settings, app.paths.at("registry")
    has_limits = settings.boolean("registry.rate_limits")
    return ServerOptions(
        db=db or settings.path("registry.db") or f"sqlite://{folder}/registry.sqlite",
        blobs=blobs or settings.path("registry.blobs") or f"file://{folder}/blobs",
        url=(url or settings.path("registry.url") or "").rstrip("/"),
        rates=RequestRates() if has_limits else RequestRates(read=(0, 0), download=(0, 0), write=(0, 0)),
        advisory_key=advisory_key_file(app, db=db),
        proxy_blobs=settings.boolean("registry.proxy_blobs"),
        site=_site(app),
        public_metrics=settings.boolean("registry.public_metrics"),
        oidc=_single_sign_on(app),
        trusted_issuers=settings.strings("registry.trusted_issuers"),
        token_days=settings.number("registry.token_days"),
        policy=_policy(app),
        **more,
    )


def advisory_key_file(app: App, *, db: str | None = None) -> str:
    """Returns the file of the key that signs advisories: beside a SQLite database, else in the home folder."""
    from metier.registry import key_file_beside

    folder = app.paths.at("registry")
    address = db or app.settings.path("registry.db") or f"sqlite://{folder}/registry.sqlite"
    return key_file_beside(address) or os.path.join(folder, "advisories.key")


def _policy(app: App) -> ReleasePolicy:
    from metier.install import read_duration
    from metier.registry import ReleasePolicy

    settings = app.settings
    try:
        seconds = read_duration(settings.path("registry.cooldown") or "0")
    except UsageError as error:
        raise ConfigError(str(error), file="registry.cooldown", hint="metier config set registry.cooldown 24h") from None
    return ReleasePolicy(
        review=settings.boolean("registry.review"), self_review=settings.boolean("registry.self_review"),
        cooldown=int(seconds * 1000),
    )  # fmt: skip


def _site(app: App) -> Site:
    from metier.registry import Site

    settings = app.settings
    name, welcome, logo = (settings.path(f"registry.{key}") or "" for key in ("name", "welcome", "logo"))
    if not logo:
        return Site(name=name, welcome=welcome)
    file = os.path.abspath(os.path.expanduser(logo))
    if not file.lower().endswith((".svg", ".png")) or not os.path.isfile(file) or os.path.getsize(file) > _LARGEST_LOGO:
        raise ConfigError(
            f"{logo!r} is not an SVG or PNG file of at most {_LARGEST_LOGO // 1024} KiB", file="registry.logo",
            hint="metier config set registry.logo FILE",
        )  # fmt: skip
    return Site(name=name, welcome=welcome, logo=file)


def _single_sign_on(app: App) -> OidcOptions | None:
    settings = app.settings
    issuer, client, secret, claim = (
        settings.path(f"registry.oidc.{key}") or "" for key in ("issuer", "client_id", "client_secret", "groups_claim")
    )
    if not issuer:
        return None
    from metier.registry import OidcOptions

    if not client:
        raise ConfigError(
            "single sign-on needs the client ID that the provider gave this registry", file="registry.oidc.client_id",
            hint="metier config set registry.oidc.client_id ID",
        )  # fmt: skip
    return OidcOptions(
        issuer=issuer, client_id=client, client_secret=secret, groups_claim=claim or "groups", roles=_roles(app),
        allowed_domains=settings.strings("registry.oidc.allowed_domains"),
    )  # fmt: skip


def _roles(app: App) -> dict[str, tuple[str, ...]]:
    """Returns the scopes of each group. Raises ConfigError here, and not when the first person signs in."""
    from metier.registry import check_scopes

    found = app.settings["registry.oidc.roles"].value or {}
    hint = '[registry.oidc.roles] team-a = ["publish:team-a", "read"]'
    if not isinstance(found, dict) or not found:
        raise ConfigError("single sign-on needs the scopes of at least one group", file="registry.oidc.roles", hint=hint)
    roles = {}
    for group, scopes in found.items():
        if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            raise ConfigError(f"the scopes of {group!r} are not a list of texts", file="registry.oidc.roles", hint=hint)
        try:
            roles[str(group)] = check_scopes(scopes)
        except UsageError as error:
            raise ConfigError(f"{group!r} has an {error}", file="registry.oidc.roles", hint=error.hint) from None
    return roles


def registry_location(app: App, *, db: str | None = None, blobs: str | None = None) -> RegistryLocation:
    options = server_options(app, db=db, blobs=blobs)
    from metier.registry import RegistryLocation

    return RegistryLocation(options.db, options.blobs)


def existing_registry(app: App, *, db: str | None = None, blobs: str | None = None) -> RegistryLocation:
    """Returns the location of a registry that is there already. Raises NotFoundError: a mistyped path makes no new one."""
    location = registry_location(app, db=db, blobs=blobs)
    check_exists(location)
    return location


def check_exists(location: RegistryLocation) -> None:
    parts = urlsplit(location.db)
    if parts.scheme == "sqlite" and parts.path and not os.path.exists(unquote(parts.path)):
        raise NotFoundError(
            f"there is no registry at {unquote(parts.path)}",
            hint="check --db; `metier registry serve` makes a new registry",
        )


def copy_result(verb: str, done: CopyResult) -> Result:
    copied = f"{plural(done.rows, 'row')}, {plural(done.blobs, 'archive')} ({plural(done.bytes, 'byte')})"
    line = f"{verb}: {copied}; {plural(done.known, 'archive')} already up to date"
    data = {"rows": done.rows, "archives": done.blobs, "bytes": done.bytes, "known": done.known}
    return Result(data=data, lines=lambda _: (line,))


def show_progress(count: int) -> None:
    if count % 500 == 0 and sys.stderr.isatty():
        sys.stderr.write(f"\r{count:,} archives")
        sys.stderr.flush()
