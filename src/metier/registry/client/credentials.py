"""Secrets of a user: one token for each registry, and the key that signs releases. Only the user can read the files."""

from __future__ import annotations

import tomllib
from urllib.parse import urlsplit

from metier.errors import ConfigError
from metier.sources import file_lock, read_regular, replace_text
from metier.values import dataclass

__all__ = ["Logins", "SigningKeyFile"]


@dataclass(frozen=True, slots=True)
class Logins:
    """The tokens that `metier login` stored, by the origin of their registry."""

    file: str

    def token(self, url: str) -> str:
        """Returns the token for the registry at this address, or an empty text."""
        return self._read().get(_origin(url), "")

    def origins(self) -> tuple[str, ...]:
        return tuple(sorted(self._read()))

    def add(self, url: str, token: str) -> None:
        with file_lock(self.file):
            self._write({**self._read(), _origin(url): token})

    def remove(self, url: str) -> bool:
        """Returns False if there was no token for this registry."""
        with file_lock(self.file):
            tokens = self._read()
            if tokens.pop(_origin(url), None) is None:
                return False
            self._write(tokens)
        return True

    def _read(self) -> dict[str, str]:
        try:
            table = tomllib.loads(read_regular(self.file).decode()).get("tokens", {})
        except FileNotFoundError:
            return {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"damaged file: {error}", file=self.file, hint="delete it and log in again") from None
        return {str(origin): str(token) for origin, token in table.items()} if isinstance(table, dict) else {}

    def _write(self, tokens: dict[str, str]) -> None:
        # Origins and tokens contain no quotes or backslashes, so they need no escaping in TOML.
        lines = [f'"{origin}" = "{token}"' for origin, token in sorted(tokens.items())]
        replace_text(self.file, "\n".join(["# Written by metier login.", "[tokens]", *lines]) + "\n")


@dataclass(frozen=True, slots=True)
class SigningKeyFile:
    """The private Ed25519 key that signs releases, in base64."""

    file: str

    def read(self) -> str | None:
        try:
            return read_regular(self.file).decode("ascii").strip()
        except FileNotFoundError:
            return None

    def write(self, private: str) -> None:
        replace_text(self.file, f"{private}\n")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
