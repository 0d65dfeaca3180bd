"""Rendered responses for callers without a token, kept until what they show changes.

A response about one package is found again until that package changes, and a list until anything changes, by this process or
another: a release that is yanked, quarantined, deleted or made private is gone with the commit that says so. Callers with a
token or a cookie get none of them and leave none, so that nothing crosses from one user to another.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Hashable

from starlette.types import ASGIApp

from metier.registry.domain.protocols import RegistryStore
from metier.values import dataclass, field

from .responses import Headers, HttpResponse
from .routing import Endpoint, RegistryRequest, Route

__all__ = ["PageCache"]

_KEPT_BYTES = 24 * 1024 * 1024
_LARGEST = 512 * 1024
_COMPRESSED_FROM = 2_048
_ROW_BYTES = 600
"""Estimated overhead of one response."""
_MILLIS_OF_CLOCK = 60_000
"""Pages show days and hours, so a response lives for a minute at most."""
_PRIVATE_HEADERS = frozenset((b"authorization", b"cookie"))
_Key = tuple[str, str, bytes, bool]
_Subject = tuple[str, str] | None
"""Kind and name of the package that a response shows; None for a list."""


@dataclass(slots=True)
class _InWork:
    """A response that is being made; later requests for the same one wait for it."""

    subject: _Subject
    is_stale: bool = False
    """What it shows has changed since it was begun."""
    done: asyncio.Future[_Kept | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True, slots=True)
class _Kept:
    subject: _Subject
    body: bytes
    is_compressed: bool
    content_type: bytes
    headers: Headers
    tag: bytes

    @property
    def size(self) -> int:
        return len(self.body) + _ROW_BYTES

    def response(self) -> HttpResponse:
        body = zlib.decompress(self.body) if self.is_compressed else self.body
        return HttpResponse(body, content_type=self.content_type, headers=self.headers, tag=self.tag)


class PageCache:
    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._keys: dict[_Subject, set[_Key]] = {}
        self._size = 0
        self._in_work: dict[_Key, _InWork] = {}
        self._minute = -1
        self._generation: Hashable = None
        self._mark: Hashable = None
        self._reads = 0
        self._reading = asyncio.Lock()

    async def respond(self, request: RegistryRequest, route: Route) -> ASGIApp:
        """Returns the kept response, or calls the endpoint and keeps what it returns."""
        scope = request.scope
        if request.caller.token is not None or any(name in _PRIVATE_HEADERS for name, _ in scope["headers"]):
            return await route.endpoint(request)
        # Read before the response is made: a commit in between ends the life of that response.
        await self._discard_changed(request.registry.store)
        minute = request.registry.clock() // _MILLIS_OF_CLOCK
        if minute != self._minute:
            self._discard(set(self._keys))
            self._minute = minute
        is_part = any(name == b"hx-request" for name, _ in scope["headers"])
        key = (request.base, scope["path"], scope["query_string"], is_part)
        kept = self._kept.get(key)
        if kept is None:
            in_work = self._in_work.get(key)
            kept = await asyncio.shield(in_work.done) if in_work and not in_work.is_stale else None
        else:
            self._kept.move_to_end(key)
        if kept is not None:
            return kept.response()
        subject = (route.subject, request.params["name"]) if route.subject else None
        return await self._make(key, subject, route.endpoint, request)

    async def _make(self, key: _Key, subject: _Subject, endpoint: Endpoint, request: RegistryRequest) -> ASGIApp:
        made = None
        work = self._in_work[key] = _InWork(subject)
        try:
            response = await endpoint(request)
            if type(response) is HttpResponse and response.status == 200 and len(response.body) <= _LARGEST:
                made = _kept_from(response, subject)
                if not work.is_stale:
                    self._keep(key, made)
            return response
        finally:
            if self._in_work.get(key) is work:
                del self._in_work[key]
            work.done.set_result(made)

    async def _discard_changed(self, store: RegistryStore) -> None:
        """Discards what is no longer true. Requests that wait at the same time share one read of the changes."""
        if await store.generation() == self._generation:
            return
        before = self._reads
        async with self._reading:
            if self._reads > before:
                return  # a read that began after this request has ended
            self._reads += 1
            changes = await store.changes(self._mark)
            self._discard(set(self._keys) if changes.packages is None else {None, *changes.packages})
            self._generation, self._mark = changes.generation, changes.mark

    def _discard(self, subjects: set[_Subject]) -> None:
        for subject in subjects:
            for key in self._keys.pop(subject, ()):
                self._size -= self._kept.pop(key).size
        for work in self._in_work.values():
            work.is_stale = work.is_stale or work.subject in subjects

    def _keep(self, key: _Key, made: _Kept) -> None:
        self._forget(key)
        self._size += made.size
        self._kept[key] = made
        self._keys.setdefault(made.subject, set()).add(key)
        while self._size > _KEPT_BYTES:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: _Key) -> None:
        former = self._kept.pop(key, None)
        if former is None:
            return
        self._size -= former.size
        keys = self._keys[former.subject]
        keys.discard(key)
        if not keys:
            del self._keys[former.subject]


def _kept_from(response: HttpResponse, subject: _Subject) -> _Kept:
    if not response.tag:
        response.tag = b'"%s"' % hashlib.blake2b(response.body, digest_size=12).hexdigest().encode()
    is_compressed = len(response.body) > _COMPRESSED_FROM
    body = zlib.compress(response.body, 1) if is_compressed else response.body
    return _Kept(subject, body, is_compressed, response.content_type, response.headers, response.tag)
