"""The registries that a user knows, and what they have to be known by there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metier.config import Settings
    from metier.install.fetch.credentials import RegistrySource
    from metier.registry.client.credentials import Logins
    from metier.registry.client.http_client import RegistryClient

__all__ = ["Registries"]


class Registries:
    """The part of an App that talks to registries."""

    if TYPE_CHECKING:
        environment: Mapping[str, str]

        @property
        def home(self) -> Path: ...

        @property
        def settings(self) -> Settings: ...

    @cached_property
    def logins(self) -> Logins:
        from metier.registry.client.credentials import Logins

        return Logins(str(self.home / "credentials.toml"))

    @cached_property
    def registries(self) -> tuple[RegistrySource, ...]:
        """The sources that `ALIAS:name` may name, each with the token that its user has logged in with."""
        from metier.install.fetch.credentials import read_sources
        from metier.values import replace

        settings = self.settings
        known = read_sources(settings["skills.sources"].value, registry=settings.path("skills.registry"))
        tokens = {source.name: self.logins.token(source.url) for source in known if not source.auth}
        return tuple(
            replace(source, auth=f"bearer:{tokens[source.name]}") if tokens.get(source.name) else source for source in known
        )

    def registry_client(self, named: str | None = None, *, offline: bool = False, insecure: bool = False) -> RegistryClient:
        """The registry of that name or address; without one the user's own."""
        from metier.errors import ConfigError
        from metier.registry.client.http_client import RegistryClient, ResponseCache, registry_url

        source = next((one for one in self.registries if one.name == (named or "r9s")), None)
        if source is None and (named is None or "://" not in named):
            raise ConfigError(
                f"no registry is called {named!r}" if named else "no registry is configured", file="skills.registry",
                hint="metier login https://…, or name its address with --registry",
            )  # fmt: skip
        url = registry_url(source.url if source else named or "")
        sent = dict(source.header(self.environment)) if source else {}
        token = sent.get("Authorization", "").partition(" ")[2] or self.logins.token(url)
        return RegistryClient(
            url=url, token=token, offline=offline, insecure=insecure, environment=self.environment,
            answers=ResponseCache(str(self.home / "cache" / "registry")),
        )  # fmt: skip

    def signing_key(self) -> str | None:
        """The private key that the user signs releases with."""
        try:
            return (self.home / "signing.key").read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None

    def keep_signing_key(self, private: str) -> None:
        from metier.sources import replace_text

        replace_text(str(self.home / "signing.key"), f"{private}\n")
