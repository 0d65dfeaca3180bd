"""Lists of advisories of the registries that the user works with: fetched, verified, pinned and kept.

Each registry has one file, with its key as it was seen first, the newest list and the time of the last request. A list that the
key has not signed, or with a lower number than the last one, is refused; the last good list then counts on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from importlib.util import find_spec

import msgspec

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.extras import MissingExtraError
from metier.registry.advisory_list import LARGEST_LIST, AdvisoryList, open_list
from metier.registry.ed25519 import key_id
from metier.scan import Advisory, advisories_of
from metier.sources import open_regular, replace_bytes
from metier.values import dataclass

from .http_client import RegistryClient

__all__ = ["AdvisoryLists", "KnownList"]

_FRESH_SECONDS = 3_600
_RETRY_SECONDS = 300
_OLD_DAYS = 14
_LARGEST_FILE = 2 * LARGEST_LIST
_PATIENCE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownList:
    """The newest list of one registry."""

    registry: str
    number: int = 0
    dated: str = ""
    keyid: str = ""
    advisories: tuple[Advisory, ...] = ()
    note: str = ""
    """A problem that the user should know of; empty without one."""


class _Kept(msgspec.Struct, kw_only=True):
    registry: str
    public: str = ""
    contents: AdvisoryList | None = None
    """The newest list, whose signature was checked when it came."""
    asked: int = 0
    """The time of the last request, in seconds."""
    failed: bool = False


class AdvisoryLists:
    """`folder` has the files; `now` returns seconds since 1970."""

    def __init__(self, folder: str, now: Callable[[], float]) -> None:
        self._folder = folder
        self._now = now

    def read(self, client: RegistryClient) -> KnownList:
        """Returns the newest list, which is fetched at most once an hour. Problems are its note."""
        kept = self._find(client.url)
        age = self._now() - kept.asked
        if client.offline or 0 <= age < (_RETRY_SECONDS if kept.failed else _FRESH_SECONDS):
            return self._known(kept)
        try:
            return self.fetch(client)
        except NotFoundError:
            # An older registry has no advisories.
            self._store(msgspec.structs.replace(kept, asked=int(self._now()), failed=False))
            return self._known(kept)
        except (MetierError, OSError) as error:
            self._store(msgspec.structs.replace(kept, asked=int(self._now()), failed=True))
            return self._known(kept, f"the advisories of {client.url} were not updated: {error}")

    def fetch(self, client: RegistryClient, *, trust: bool = False) -> KnownList:
        """Fetches, verifies and keeps the list. `trust` accepts another key than the known one, and an older list."""
        kept = _Kept(registry=client.url) if trust else self._find(client.url)
        if find_spec("cryptography") is None:
            raise MissingExtraError("the package that checks signatures is not installed", extra="registry")
        data = client.advisories(patience=_PATIENCE, limit=LARGEST_LIST)
        opened = open_list(data, server=client.url, pinned=kept.public)
        newest = kept.contents.number if kept.contents else 0
        if opened.contents.number < newest:
            raise RefusedError(
                f"{client.url} sends an older list of advisories than before ({opened.contents.number}, not {newest})",
                rule="advisories", hint="if its administrator restored a backup: metier registry advisory trust",
            )  # fmt: skip
        fresh = _Kept(registry=client.url, public=opened.public, contents=opened.contents, asked=int(self._now()))
        known = self._known(fresh)
        self._store(fresh)
        return known

    def key(self, client: RegistryClient) -> str:
        """Returns the id of the key that is known for a registry; empty if there is none."""
        public = self._find(client.url).public
        return key_id(public) if public else ""

    def _known(self, kept: _Kept, note: str = "") -> KnownList:
        contents = kept.contents
        if contents is None:
            return KnownList(registry=kept.registry, note=note)
        source = kept.registry.partition("://")[2]
        rows = [msgspec.to_builtins(row) for row in contents.advisories]
        return KnownList(
            registry=kept.registry, number=contents.number, dated=contents.dated, keyid=key_id(kept.public),
            advisories=advisories_of(rows, file=f"the advisories of {kept.registry}", source=source),
            note=note or self._age_note(kept.registry, contents.dated),
        )  # fmt: skip

    def _age_note(self, registry: str, dated: str) -> str:
        """A registry signs its list every day, so an old one is held back, or the registry was not reached."""
        try:
            days = (datetime.fromtimestamp(self._now(), UTC).date() - date.fromisoformat(dated)).days
        except ValueError:
            days = _OLD_DAYS + 1
        return f"the advisories of {registry} are from {dated[:10]}" if days > _OLD_DAYS else ""

    def _find(self, url: str) -> _Kept:
        try:
            with os.fdopen(open_regular(self._file(url)), "rb") as stream:
                kept = msgspec.json.decode(stream.read(_LARGEST_FILE), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return _Kept(registry=url)
        return kept if kept.registry == url else _Kept(registry=url)

    def _store(self, kept: _Kept) -> None:
        replace_bytes(self._file(kept.registry), msgspec.json.encode(kept))

    def _file(self, url: str) -> str:
        return os.path.join(self._folder, f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json")
