"""Placeholders of masked secrets: made for one run, and replaced in requests to the hosts that a secret is granted for."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

from metier.values import dataclass, field

from .connections import MaskedSecret, SecretPlace
from .hosts import GrantedHosts

__all__ = ["RequestSecrets", "SecretPlaceholders", "StreamReplacer"]

_START = "metier-masked-"
_BASIC = b"basic "

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class _Masked:
    secret: MaskedSecret
    placeholder: bytes
    hosts: GrantedHosts


class SecretPlaceholders:
    def __init__(self, masked: Iterable[MaskedSecret]) -> None:
        self._masked = tuple(
            _Masked(each, f"{_START}{secrets.token_hex(16)}".encode(), GrantedHosts.of(each.hosts)) for each in masked
        )

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of the script: each has the secret's name and holds its placeholder."""
        return {each.secret.name: each.placeholder.decode() for each in self._masked}

    def has_secrets_for(self, host: str, port: int) -> bool:
        return any(each.hosts.covers(host, port) for each in self._masked)

    def for_request(self, host: str, port: int, *, is_private: bool) -> RequestSecrets:
        """Returns the secrets for a request. Without a private channel (TLS, or this machine) none is put in."""
        granted = [each for each in self._masked if is_private and each.hosts.covers(host, port)]
        return RequestSecrets(all=self._masked, granted=tuple(granted))


@dataclass(slots=True)
class RequestSecrets:
    """Replaces placeholders in one request, and notes those that stay."""

    all: tuple[_Masked, ...]
    granted: tuple[_Masked, ...]
    kept: set[str] = field(default_factory=set)
    """Names of secrets whose placeholders were sent as they are."""

    def headers(self, items: Sequence[tuple[bytes, bytes]]) -> Headers:
        return [(name, self._header(name, value)) for name, value in items]

    def target(self, target: bytes) -> bytes:
        return self._replaced(target, SecretPlace.QUERY, encode=lambda value: quote(value, safe="").encode())

    @property
    def replaces_body(self) -> bool:
        return any(SecretPlace.BODY in each.secret.places for each in self.granted)

    def body(self) -> StreamReplacer:
        values = {
            each.placeholder: each.secret.value.encode() if self._allows(each, SecretPlace.BODY) else None for each in self.all
        }
        names = {each.placeholder: each.secret.name for each in self.all}
        return StreamReplacer(values=values, names=names, kept=self.kept)

    def _header(self, name: bytes, value: bytes) -> bytes:
        if name.lower() in (b"authorization", b"proxy-authorization") and value[: len(_BASIC)].lower() == _BASIC:
            try:
                inner = base64.b64decode(value[len(_BASIC) :], validate=True)
            except (binascii.Error, ValueError):
                return value
            replaced = self._replaced(inner, SecretPlace.HEADERS)
            return value if replaced == inner else value[: len(_BASIC)] + base64.b64encode(replaced)
        return self._replaced(value, SecretPlace.HEADERS)

    def _replaced(self, data: bytes, place: SecretPlace, encode: Callable[[str], bytes] = str.encode) -> bytes:
        for each in self.all:
            if each.placeholder in data:
                if self._allows(each, place):
                    data = data.replace(each.placeholder, encode(each.secret.value))
                else:
                    self.kept.add(each.secret.name)
        return data

    def _allows(self, each: _Masked, place: SecretPlace) -> bool:
        return each in self.granted and place in each.secret.places


@dataclass(slots=True)
class StreamReplacer:
    """Replaces placeholders in a body that comes in parts. A value of None is noted and not replaced."""

    values: dict[bytes, bytes | None]
    names: dict[bytes, str]
    kept: set[str]
    carry: bytes = b""

    def feed(self, data: bytes) -> bytes:
        joined = self._replace(self.carry + data)
        # A placeholder may be cut between two parts.
        keep = max((_overlap(joined, placeholder) for placeholder in self.values), default=0)
        self.carry = joined[len(joined) - keep :]
        return joined[: len(joined) - keep]

    def rest(self) -> bytes:
        rest, self.carry = self.carry, b""
        return rest

    def _replace(self, data: bytes) -> bytes:
        for placeholder, value in self.values.items():
            if placeholder in data:
                if value is None:
                    self.kept.add(self.names[placeholder])
                else:
                    data = data.replace(placeholder, value)
        return data


def _overlap(data: bytes, placeholder: bytes) -> int:
    """Returns how many bytes at the end of the data may be the start of the placeholder."""
    longest = min(len(data), len(placeholder) - 1)
    return next((size for size in range(longest, 0, -1) if data.endswith(placeholder[:size])), 0)
