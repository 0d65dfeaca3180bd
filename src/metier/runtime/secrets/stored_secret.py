"""A stored secret without its value, and where a session gets secrets from."""

from __future__ import annotations

from typing import Protocol

from metier.runtime.network.connections import SecretPlace
from metier.values import dataclass

__all__ = ["MemorySecrets", "SecretSource", "StoredSecret"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class StoredSecret:
    name: str
    skill: str = ""
    """The skill that it is for; empty for every skill that the user allows it for."""
    hosts: tuple[str, ...] = ()
    """Hosts that it may be sent to; empty for those that the run may reach."""
    places: tuple[SecretPlace, ...] = (SecretPlace.HEADERS,)
    in_clear: bool = False
    """Give the value itself to scripts, in the environment variable, instead of masking it."""


class SecretSource(Protocol):
    """`SecretStore` implements it."""

    def find(self, skill: str, name: str) -> StoredSecret | None:
        """Returns the secret for this skill, else the one for all skills. Asks for nothing."""

    def value(self, secret: StoredSecret) -> str: ...


class MemorySecrets:
    """Secrets that are not stored, for programs that keep them elsewhere."""

    def __init__(self, *secrets: tuple[StoredSecret, str]) -> None:
        self._values = dict(secrets)

    def __repr__(self) -> str:
        return f"MemorySecrets({len(self._values)})"

    def find(self, skill: str, name: str) -> StoredSecret | None:
        named = {each.skill: each for each in self._values if each.name == name}
        return named.get(skill) or named.get("")

    def value(self, secret: StoredSecret) -> str:
        return self._values[secret]
