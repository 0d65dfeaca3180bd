"""Rendered responses for callers without a token, kept while the database does not change.

A response is found again only if nothing was committed since it was made, by this process or another: a release that is yanked,
quarantined, deleted or made private is gone with the commit that says so. Callers with a token or a cookie get none of them and
leave none, so that nothing crosses from one user to another.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Hashable

from starlette.types import ASGIApp

from metier.values import dataclass

from .responses import Headers, HttpResponse
from .routing import Endpoint, RegistryRequest

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


@dataclass(frozen=True, slots=True)
class _Kept:
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
        self._size = 0
        self._generation: Hashable = None

    async def respond(self, request: RegistryRequest, endpoint: Endpoint) -> ASGIApp:
        """Returns the kept response, or calls the endpoint and keeps what it returns."""
        scope = request.scope
        if request.caller.token is not None or any(name in _PRIVATE_HEADERS for name, _ in scope["headers"]):
            return await endpoint(request)
        registry = request.registry
        # Read before the response is made: a commit in between ends the life of that response.
        generation = (await registry.store.generation(), registry.clock() // _MILLIS_OF_CLOCK)
        if generation != self._generation:
            self._kept.clear()
            self._size, self._generation = 0, generation
        is_part = any(name == b"hx-request" for name, _ in scope["headers"])
        key = (request.base, scope["path"], scope["query_string"], is_part)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept.response()
        response = await endpoint(request)
        if type(response) is HttpResponse and response.status == 200 and len(response.body) <= _LARGEST:
            if not response.tag:
                response.tag = b'"%s"' % hashlib.blake2b(response.body, digest_size=12).hexdigest().encode()
            if generation == self._generation:
                self._keep(key, response)
        return response

    def _keep(self, key: _Key, response: HttpResponse) -> None:
        is_compressed = len(response.body) > _COMPRESSED_FROM
        body = zlib.compress(response.body, 1) if is_compressed else response.body
        made = _Kept(body, is_compressed, response.content_type, response.headers, response.tag)
        former = self._kept.pop(key, None)
        self._size += made.size - (former.size if former else 0)
        self._kept[key] = made
        while self._size > _KEPT_BYTES:
            self._size -= self._kept.popitem(last=False)[1].size
