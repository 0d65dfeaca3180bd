"""The servers that a fetch may ask: one decision for every request of every kind of ref.

- A header of the user goes to one origin (scheme, host and port). `header_origin` finds it, and refuses to guess.
- The user and the administrator may allow and deny sources.
- The lock of a project that the user does not trust must not make requests into the user's own network.
"""

from __future__ import annotations

from collections.abc import Iterable

from metier.errors import RefusedError, UsageError
from metier.install.refs.source_rules import SourceRules
from metier.values import dataclass

from .credentials import origin_of

__all__ = ["Destinations", "header_origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    rules: SourceRules = SourceRules()
    """The sources that the user and the administrator allow and deny."""
    untrusted_lock: str = ""
    """The lock file that names the sources, if it is that of a project that the user does not trust."""
    known: frozenset[str] = frozenset()
    """Origins that the user's own configuration names; they may be in an internal network."""

    def check_network(self, origin: str, host: str, zone: str) -> None:
        """Raises RefusedError if an untrusted lock leads into an internal network."""
        if self.untrusted_lock and zone not in ("public", "proxy") and origin not in self.known:
            raise RefusedError(
                f"{self.untrusted_lock} names {host}, which is in a {zone} network, and the project is not trusted",
                rule="untrusted-lock", hint="read the lock, then run `metier trust` in its folder",
            )  # fmt: skip


def header_origin(urls: Iterable[str], *, untrusted_lock: str = "", is_typed: bool = False) -> str:
    """Returns the one origin that the headers of a command are for.

    Raises UsageError if there is none or more than one, and RefusedError if only an untrusted lock names it.
    """
    origins = tuple(dict.fromkeys(origin for url in urls if (origin := origin_of(url)).startswith("http")))
    if not origins:
        raise UsageError("--header is sent to a web address, and there is none", hint="leave out --header")
    if len(origins) > 1:
        hint = "run one command for each" if is_typed else "name skills of one of them, or write auth in [skills.sources.NAME]"
        raise UsageError(f"--header is for one origin, and there are {len(origins)}: {', '.join(origins[:5])}", hint=hint)
    if untrusted_lock:
        raise RefusedError(
            f"--header would be sent to {origins[0]}, which only {untrusted_lock} names, and the project is not trusted",
            rule="untrusted-lock", hint="read the lock, then run `metier trust` in its folder",
        )  # fmt: skip
    return origins[0]
