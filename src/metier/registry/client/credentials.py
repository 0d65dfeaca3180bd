"""Tokens that a person has logged in with, one for each registry, in a file that only they can read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from urllib.parse import urlsplit

from metier.errors import ConfigError
from metier.sources import file_lock, replace_text

__all__ = ["Logins"]


@dataclass(frozen=True, slots=True)
class Logins:
    file: str

    def token(self, url: str) -> str:
        """The token for the registry at this address; empty if there is none."""
        return self._read().get(_origin(url), "")

    def origins(self) -> tuple[str, ...]:
        return tuple(sorted(self._read()))

    def add(self, url: str, token: str) -> None:
        with file_lock(self.file):
            self._write({**self._read(), _origin(url): token})

    def remove(self, url: str) -> bool:
        with file_lock(self.file):
            known = self._read()
            if known.pop(_origin(url), None) is None:
                return False
            self._write(known)
        return True

    def _read(self) -> dict[str, str]:
        try:
            with open(self.file, "rb") as stream:
                table = tomllib.load(stream).get("tokens", {})
        except FileNotFoundError:
            return {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"this file is damaged: {error}", file=self.file, hint="delete it and log in again") from None
        return {str(origin): str(token) for origin, token in table.items()} if isinstance(table, dict) else {}

    def _write(self, tokens: dict[str, str]) -> None:
        # Origins and tokens have no quotes or backslashes, so each is its own TOML string.
        lines = [f'"{origin}" = "{token}"' for origin, token in sorted(tokens.items())]
        replace_text(self.file, "\n".join(["# Written by metier login.", "[tokens]", *lines]) + "\n")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
