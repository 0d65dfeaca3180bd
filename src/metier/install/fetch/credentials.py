"""Credentials, and the addresses that they are sent to.

There are three kinds: `--header`, for the one origin that the command is about; `auth` of `[skills.sources.NAME]`, for URLs
below its `url`; and the tokens of forges (`GITHUB_TOKEN`, `GH_TOKEN`, `GITLAB_TOKEN`), for that forge's hosts and only after it
denied access.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeGuard

from metier.errors import ConfigError, MetierError, RefusedError, UsageError
from metier.values import dataclass, field

from .signature_policy import SignaturePolicy, read_signature_policy

if TYPE_CHECKING:
    from metier.install.refs.forges import Address

__all__ = [
    "CLAWHUB",
    "Credentials",
    "Headers",
    "RegistrySource",
    "SourceKind",
    "grant_purpose",
    "origin_of",
    "parse_header",
    "read_sources",
]

Headers = tuple[tuple[str, str], ...]

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_HEADER = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(?P<value>[\x20-\x7e\x80-\xff]*?)[ \t]*")
_GITHUB = ("github.com", "api.github.com", "raw.githubusercontent.com", "codeload.github.com")
_TOKENS = (("GH_TOKEN", _GITHUB), ("GITHUB_TOKEN", _GITHUB), ("GITLAB_TOKEN", ("gitlab.com",)))
# The user name that a forge expects with a token; others accept any.
_TOKEN_USERS = {"gitlab.com": "oauth2", "bitbucket.org": "x-token-auth"}


class SourceKind(StrEnum):
    """The API of a registry."""

    METIER = "metier"
    CLAWHUB = "clawhub"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySource:
    """One `[skills.sources.NAME]` table: `NAME:skill` is fetched from below its url."""

    name: str
    url: str
    kind: SourceKind = SourceKind.METIER
    auth: str = ""
    """`bearer:…` or `token:…`; `${VARIABLE}` is replaced by the environment variable."""
    mirrors: tuple[str, ...] = ()
    """Asked in this order if `url` cannot be reached. They do not get the credentials of `url`."""
    keys: tuple[str, ...] = ()
    """Ed25519 keys in base64; only releases signed by one of them are accepted."""
    signed: bool = False
    """Only releases signed by a key of their namespace are accepted."""
    signature: SignaturePolicy | None = None
    """The signers of Sigstore bundles and OMS signatures that are accepted; with None, none is needed."""
    ungranted: str = ""
    """What this source of a project asks for and the user has not allowed, as `NAME@HOST`. It is not asked before."""
    file: str = ""
    """The project's configuration file, with a line."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that `auth` sends."""
        return tuple(dict.fromkeys(_VARIABLE.findall(self.auth)))

    @property
    def host(self) -> str:
        """Host and port, with `http://` before them if the source is not encrypted."""
        return origin_of(self.url).removeprefix("https://")

    def check_granted(self) -> None:
        """Raises RefusedError if a project asks for what the user has not allowed."""
        if self.ungranted:
            name, _, host = self.ungranted.partition("@")
            raise RefusedError(
                f"{self.file}: this project wants to {grant_purpose(name, host)}", rule="project-grant",
                hint=f"`metier trust --allow {self.ungranted}` allows it for this project",
            )  # fmt: skip

    def covers(self, address: Address) -> bool:
        from metier.install.refs.forges import read_address

        base = read_address(self.url)
        inside, outside = base.path.rstrip("/").split("/"), address.path.split("/")
        # By segments: /skills does not cover /skills-of-others.
        return base.origin == address.origin and outside[: len(inside)] == inside and ".." not in outside

    def header(self, environment: Mapping[str, str]) -> Headers:
        self.check_granted()
        if not self.auth:
            return ()
        scheme, _, secret = self.auth.partition(":")
        words = {"bearer": "Bearer", "token": "token"}
        if scheme.lower() not in words or not secret:
            raise ConfigError(f"unknown kind of auth for {self.name!r}", file=f"skills.sources.{self.name}",
                            hint='write auth = "bearer:${VARIABLE}" or auth = "token:${VARIABLE}"')  # fmt: skip

        def value(match: re.Match[str]) -> str:
            if not environment.get(match[1]):
                raise ConfigError(f"the environment variable {match[1]} is not set",
                                file=f"skills.sources.{self.name}", hint=f"set {match[1]} and try again")  # fmt: skip
            return environment[match[1]]

        return (("Authorization", f"{words[scheme.lower()]} {_VARIABLE.sub(value, secret).strip()}"),)


CLAWHUB = RegistrySource(name="clawhub", url="https://clawhub.ai", kind=SourceKind.CLAWHUB)
"""The public registry, which `clawhub:NAME` means unless a source of that name is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    headers: Headers = ()
    """From `--header`."""
    origin: str = ""
    """The one origin that `headers` are for; see `destinations.header_origin`."""
    sources: tuple[RegistrySource, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def given(self, url: str) -> Headers:
        """Returns the headers of the first request: the user's own for their origin, and those of the URL's source."""
        address = _address(url)
        if address is None:
            return ()
        own = self.headers if address.origin == self.origin else ()
        names = {name.lower() for name, _ in own}
        nearest = max(
            (source for source in self.sources if source.covers(address)), key=lambda source: len(source.url), default=None
        )
        extra = nearest.header(self.environment) if nearest else ()
        return own + tuple((name, value) for name, value in extra if name.lower() not in names)

    def token(self, url: str) -> str | None:
        """Returns the forge's token, for a second request after it denied access. Only for https."""
        address = _address(url)
        if address is None or address.scheme != "https" or address.port:
            return None
        values = (self.environment.get(variable) for variable, hosts in _TOKENS if address.host in hosts)
        return next((value for value in values if value), None)

    def git_token_header(self, url: str) -> Headers:
        token = self.token(url)
        if not token:
            return ()
        import base64

        from metier.install.refs.forges import read_address

        user = _TOKEN_USERS.get(read_address(url).host, "x-access-token")
        return (("Authorization", f"Basic {base64.b64encode(f'{user}:{token}'.encode()).decode()}"),)


def read_sources(table: object, *, registry: str | None = None, alias: str = "r9s") -> tuple[RegistrySource, ...]:
    """Reads the sources of a configuration: the `skills.sources` table, and `skills.registry` under its alias."""
    sources: list[RegistrySource] = []
    if registry:
        address = _address(registry)
        # A registry's skills are below /skills; a bare host is what people know of it.
        url = f"{address.origin}/skills" if address and address.path in ("", "/") else registry
        sources.append(_source(alias, {"url": url}, "skills.registry"))
    for name, value in table.items() if isinstance(table, dict) else ():
        sources.append(_source(str(name), value, f"skills.sources.{name}"))
    return tuple(sources)


def parse_header(text: str) -> tuple[str, str]:
    """Parses one `--header "Name: value"`. The value is a secret and appears in no message."""
    match = _HEADER.fullmatch(text)
    if not match or match["name"].lower() in ("host", "content-length", "transfer-encoding", "connection"):
        raise UsageError("a header must be `Name: value`, on one line", hint='write --header "Authorization: Bearer $TOKEN"')
    return match["name"], match["value"]


def grant_purpose(name: str, host: str) -> str:
    """Returns what a grant allows, in words."""
    if name == "skills.registry":
        return f"use the registry at {host} (skills.registry)"
    return f"send the environment variable {name} to {host}"


def origin_of(url: str) -> str:
    """Returns scheme, host and port; empty for anything but a URL."""
    address = _address(url)
    return address.origin if address else ""


def _source(name: str, value: object, where: str) -> RegistrySource:
    fields = value if isinstance(value, dict) else {}
    url, auth, signed = fields.get("url"), fields.get("auth", ""), fields.get("signed", False)
    mirrors, keys, kind = fields.get("mirrors", []), fields.get("keys", []), fields.get("kind", SourceKind.METIER)
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name) or name in ("github", "gitlab"):
        raise ConfigError(
            f"invalid source name {name!r}", file=where, hint="use letters, digits and hyphens, and not github or gitlab"
        )
    if not isinstance(url, str) or not isinstance(auth, str) or not _is_source_url(url):
        raise ConfigError(
            "a source needs a url, and auth must be text", file=where, hint='url = "https://…", auth = "bearer:${TOKEN}"'
        )
    if not _are_texts(mirrors) or not all(map(_is_source_url, mirrors)):
        raise ConfigError("mirrors must be a list of URLs", file=where, hint='mirrors = ["https://…"]')
    if not _are_texts(keys) or not isinstance(signed, bool):
        raise ConfigError("keys must be a list of texts, and signed true or false", file=where,
                        hint="`metier registry key show` prints a key")  # fmt: skip
    if kind not in tuple(SourceKind):
        raise ConfigError(f"unknown kind {kind!r}", file=where, hint=f"kind is one of {', '.join(SourceKind)}")
    if kind == SourceKind.CLAWHUB and (keys or signed):
        raise ConfigError("keys and signed are for metier's own registries", file=where, hint="remove them, or the kind")
    at, *others = (_base(one, SourceKind(kind)) for one in (url, *mirrors))
    return RegistrySource(
        name=name, url=at, kind=SourceKind(kind), auth=auth, mirrors=tuple(others), keys=tuple(keys), signed=signed,
        signature=read_signature_policy(fields.get("signature"), name),
    )  # fmt: skip


def _base(url: str, kind: SourceKind) -> str:
    """Returns the address that a source's API is below."""
    return url.rstrip("/").removesuffix("/api/v1") if kind is SourceKind.CLAWHUB else url.rstrip("/")


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_source_url(url: str) -> bool:
    from metier.install.refs.forges import read_named_address

    if _address(url) is None:
        return False
    read_named_address(url)
    return True


def _address(url: str) -> Address | None:
    from metier.install.refs.forges import read_address

    try:
        return read_address(url)
    except MetierError:
        return None
