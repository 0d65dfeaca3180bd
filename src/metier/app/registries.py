"""The registries that the user has configured, with the tokens and keys for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metier.values import dataclass

if TYPE_CHECKING:
    from metier.config import Settings
    from metier.install import Access, ClawHubRegistry, RegistrySource
    from metier.registry import PublishOptions, PublishResult, SearchOptions, SearchResult
    from metier.registry.client import Logins, RegistryClient, RegistryRecall, SigningKeyFile
    from metier.selection import AvailableSkill, Recall
    from metier.sources import Grant, Grants

    from .paths import Paths

__all__ = ["Registries"]

_RECALL_SECONDS = 3.0
"""Patience with a registry that a request waits for."""


@dataclass(frozen=True, kw_only=True)
class Registries:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    grants: Grants
    access: Callable[..., Access]
    """Returns what a fetch may use; with the options of `Installation.access`."""
    ask: Callable[[Grant], bool] | None = None
    """Asks the user for a grant that a project's settings need."""

    @cached_property
    def logins(self) -> Logins:
        from metier.registry.client import Logins

        return Logins(self.paths.at("credentials.toml"))

    @cached_property
    def sources(self) -> tuple[RegistrySource, ...]:
        """The sources that `ALIAS:name` may name, each with the token that the user has logged in with."""
        from metier.install import CLAWHUB, read_sources
        from metier.values import replace

        settings = self.settings
        known = read_sources(settings["skills.sources"].value, registry=settings.path("skills.registry"))
        known = (*self._of_project(known), *known)
        if CLAWHUB.name not in {source.name for source in known}:
            known = (*known, CLAWHUB)
        if not os.path.exists(self.paths.at("credentials.toml")):
            return known
        tokens = {source.name: self.logins.token(source.url) for source in known if not source.auth}
        return tuple(
            replace(source, auth=f"bearer:{tokens[source.name]}") if tokens.get(source.name) else source for source in known
        )

    def requests(self) -> tuple[Grant, ...]:
        """Returns what this project's settings ask for and the user has not allowed."""
        from metier.sources import Grant

        texts = (source.ungranted for source in self.sources if source.ungranted)
        return tuple(Grant.parse(self.paths.project, text) for text in texts)

    def _of_project(self, own: Sequence[RegistrySource]) -> Iterator[RegistrySource]:
        """Yields the sources that a trusted project asks for, in front of the user's. A user's own source is not replaced."""
        from metier.install import read_sources
        from metier.values import replace

        asked = self.settings.asked
        names = {source.name for source in own}
        for setting in asked.values():
            is_registry = setting.key.name == "skills.registry"
            found = read_sources({}, registry=setting.value) if is_registry else read_sources(setting.value)
            for source in found:
                needs = ("skills.registry",) if is_registry else source.variables
                if is_registry and source.url in {one.url for one in own if one.name == source.name}:
                    continue
                if is_registry or source.name not in names:
                    yield replace(source, file=setting.origin, ungranted=self._ungranted(needs, source.host))

    def _ungranted(self, names: Iterable[str], host: str) -> str:
        from metier.sources import Grant

        for name in names:
            grant = Grant.parse(self.paths.project, f"{name}@{host}")
            if grant in self.grants:
                continue
            if self.ask is None or not self.ask(grant):
                return grant.text
            self.grants.add(grant)
        return ""

    def reader(
        self, registry: str | None = None, *, offline: bool = False, insecure: bool = False
    ) -> RegistryClient | ClawHubRegistry:
        """Returns a client that can search and list versions, of the registry with that name or URL."""
        found = self._clawhub(registry, offline=offline, insecure=insecure)
        return found or self.client(registry, offline=offline, insecure=insecure)

    def _clawhub(self, registry: str | None, **options: bool) -> ClawHubRegistry | None:
        from metier.install import ClawHubRegistry, SourceKind

        source = self._named(registry)
        if source is None or source.kind is not SourceKind.CLAWHUB:
            return None
        return ClawHubRegistry(source=source, access=self.access(**options))

    def _named(self, registry: str | None) -> RegistrySource | None:
        return next((one for one in self.sources if one.name == (registry or "r9s")), None)

    def client(self, registry: str | None = None, *, offline: bool = False, insecure: bool = False) -> RegistryClient:
        """Returns a client of the registry with that name or URL; by default of the user's own."""
        from metier.errors import ConfigError, UsageError
        from metier.install import SourceKind
        from metier.registry.client import RegistryClient, ResponseCache, registry_url

        source = self._named(registry)
        if source and source.kind is SourceKind.CLAWHUB:
            raise UsageError(
                f"{source.name} is a ClawHub registry, which cannot do this",
                hint="search, info, versions, install, update and publish work with it",
            )
        if source is None and (registry is None or "://" not in registry):
            raise ConfigError(
                f"unknown registry {registry!r}" if registry else "no registry is configured", file="skills.registry",
                hint="run `metier login URL`, or name a URL with --registry",
            )  # fmt: skip
        if source:
            source.check_granted()
        url = registry_url(source.url if source else registry or "")
        headers = dict(source.header(self.environment)) if source else {}
        token = headers.get("Authorization", "").partition(" ")[2] or self.logins.token(url)
        return RegistryClient(
            url=url, token=token, offline=offline, insecure=insecure, environment=self.environment,
            cache=ResponseCache(self.paths.cache("registry")),
        )  # fmt: skip

    def recall(self, registry: str | None = None, *, insecure: bool = False) -> RegistryRecall:
        """Returns the skills of a registry as candidates for requests."""
        from metier.registry.client import RegistryRecall, registry_url

        client = self.client(registry, insecure=insecure)
        client.silence = _RECALL_SECONDS
        names = [one.name for one in self.sources if registry_url(one.url) == client.url]
        return RegistryRecall(client, names[0] if names else "")

    @cached_property
    def configured_recall(self) -> Recall | None:
        """Recall from the registry of the setting `selection.registry`; None without it.

        It is opened with the first request, so that a mistake in the setting is a note on that and not the end of a session.
        """
        registry = str(self.settings["selection.registry"].value or "")
        opened: list[RegistryRecall] = []

        def recall(words: str, limit: int) -> Sequence[AvailableSkill]:
            if not opened:
                opened.append(self.recall(registry))
            return opened[0](words, limit)

        return recall if registry else None

    @cached_property
    def signing_key(self) -> SigningKeyFile:
        from metier.registry.client import SigningKeyFile

        return SigningKeyFile(self.paths.at("signing.key"))

    def read_signing_key(self) -> str:
        """Raises RefusedError if the user has none."""
        from metier.errors import RefusedError

        key = self.signing_key.read()
        if key is None:
            raise RefusedError(
                "no signing key", rule="no-key", hint="metier registry key new, then metier registry key register NAMESPACE"
            )
        return key

    def publish(
        self, folder: str, options: PublishOptions | None = None, *, registry: str | None = None, sign: bool = False,
        trusted: bool = False, insecure: bool = False,
    ) -> PublishResult:  # fmt: skip
        """Publishes the skill in `folder`, and signs the release with the user's key if `sign` is set.

        A CI job exchanges its ID token for a publishing token if `trusted` is set, or if no token is stored.
        """
        from metier.errors import UsageError
        from metier.registry import PublishOptions, publish
        from metier.registry.client import has_job_token

        if clawhub := self._clawhub(registry, insecure=insecure):
            if sign or trusted:
                raise UsageError(
                    f"{registry} is a ClawHub registry, which takes neither --sign nor --trusted",
                    hint="publish without them",
                )
            return clawhub.publish(folder, options or PublishOptions())
        key = self.read_signing_key() if sign else None
        client = self.client(registry, insecure=insecure)
        trusted = trusted or (not client.token and has_job_token(self.environment))
        return publish(folder, client, options, signing_key=key, trusted=trusted)

    def search(
        self, query: str, options: SearchOptions | None = None, *, registry: str | None = None, offline: bool = False,
        insecure: bool = False,
    ) -> SearchResult:  # fmt: skip
        """Searches a registry for skills."""
        from metier.registry import search

        return search(query, self.reader(registry, offline=offline, insecure=insecure), options)
