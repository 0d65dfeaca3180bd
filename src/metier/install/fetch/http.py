"""One way to GET, in which the server decides nothing that is ours to decide.

Redirects are followed by hand: every header that the caller gave is dropped at the first hop to another origin, for
good; https never becomes http; and a server may send us to the public internet or to its own kind of network, but not
into ours (an address is resolved once, judged, and connected to as judged). Bytes are counted while they arrive, as
they arrive: no decoding, no trust in Content-Length. What may succeed later is tried again, as patiently as the server
asks.
"""

from __future__ import annotations

import email.utils
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError
from metier.install.refs.forges import Address, absolute, read_address
from metier.values import dataclass, field

from .credentials import Headers, origin_of
from .network import NetworkRoute, Resolve, proxy_for, resolve, route_to

if TYPE_CHECKING:
    import httpx2

__all__ = ["HttpClient", "HttpNotFoundError", "HttpRefusedError", "HttpReply", "HttpUnavailableError", "Received"]

_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_HOPS = 5
_LONGEST_WAIT = 30.0
_USER_AGENT = "metier"

Received = Callable[[int, "int | None"], None]
"""Told how many bytes have come, and of how many if the server said."""


class HttpUnavailableError(UnavailableError):
    """The server or the way to it failed; `status` is None when it never answered."""

    def __init__(self, message: str, *, hint: str, status: int | None = None, retryable: bool = True) -> None:
        super().__init__(message, hint=hint, retryable=retryable)
        self.status = status


class HttpNotFoundError(NotFoundError):
    retryable = False

    def __init__(self, message: str, *, hint: str, status: int) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class HttpRefusedError(RefusedError):
    """The server does not let us in."""

    retryable = False

    def __init__(self, message: str, *, hint: str, status: int) -> None:
        super().__init__(message, rule="http-forbidden", hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    status: int
    """200, or 304 when `etag` still names what the server has."""
    url: str
    """Where the bytes came from in the end."""
    body: bytes
    etag: str | None
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """One GET with everything that stays the same over hops and attempts."""

    url: str
    headers: Headers
    limit: int
    via: str | None
    etag: str | None
    received: Received
    accepts: frozenset[int] = frozenset({200})


@dataclass(kw_only=True)
class HttpClient:
    """A client for one command. Safe to use from several threads."""

    insecure: bool = False
    """Also http, for the whole chain of redirects that begins with it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Read for proxies and SSL_CERT_FILE only."""
    timeout: float = 120.0
    """Seconds for one attempt as a whole; ten without a byte are too many in any case."""
    attempts: int = 4
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    resolve: Resolve = resolve
    _clients: dict[tuple[str, str], httpx2.Client] = field(default_factory=dict, repr=False)
    _reached: dict[str, NetworkRoute] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(
        self, url: str, *, limit: int, headers: Headers = (), via: str | None = None, etag: str | None = None,
        received: Received = lambda _done, _of: None,
    ) -> HttpReply:  # fmt: skip
        """The body at `url`, at most `limit` bytes. `via` is the address of the document that named it, if no person did."""
        return self._persist(_Asking(url=url, headers=headers, limit=limit, via=via, etag=etag, received=received))

    def landing(self, url: str, *, headers: Headers = ()) -> str:
        """Where redirects from here lead, whatever is there."""
        every = frozenset(status.value for status in HTTPStatus) - _REDIRECTS - _RETRYABLE
        asking = _Asking(
            url=url, headers=headers, limit=1 << 20, via=None, etag=None, received=lambda _d, _o: None, accepts=every
        )
        return self._persist(asking).url

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _persist(self, asking: _Asking) -> HttpReply:
        for attempt in range(1, self.attempts + 1):
            try:
                return self._follow(asking)
            except _RetryLaterError as later:
                wait = _patience(attempt) if later.after is None else later.after
                if attempt == self.attempts or wait > _LONGEST_WAIT:
                    raise later.error from later.__cause__
                self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _follow(self, asking: _Asking) -> HttpReply:
        url, headers, before = asking.url, asking.headers, None
        if asking.via is not None:
            # Where that document came from when it came: a second answer of its name server may be another.
            before = self._reached.get(origin_of(asking.via)) or self._reach(_web(asking.via), None)
            headers = headers if origin_of(url) == origin_of(asking.via) else ()
        deadline = self.clock() + self.timeout
        for _ in range(_MOST_HOPS + 1):
            address = _web(url)
            here = self._reach(address, before)
            with self._asked(address, here, headers, asking, deadline) as response:
                self._reached.setdefault(address.origin, here)
                if response.status_code not in _REDIRECTS:
                    return self._read(response, url, asking, deadline)
                target = _target(url, response.headers.get("location", ""))
            if origin_of(target) != origin_of(url):
                headers = ()
            url, before = target, here
        raise HttpUnavailableError(f"{_shown(asking.url)} redirects more than {_MOST_HOPS} times", hint="check the address",
                              retryable=False)  # fmt: skip

    def _reach(self, address: Address, before: NetworkRoute | None) -> NetworkRoute:
        if proxy_for(address, self.environment):
            # The proxy resolves names, and it decides what may be reached.
            return NetworkRoute(zone="proxy", addresses=(), proxied=True)
        try:
            here = route_to(address, before, self.resolve)
        except MetierError:
            # A refusal is an OSError as well.
            raise
        except (OSError, UnicodeError) as error:
            raise _lost(address.origin, error) from error
        if address.scheme != "https" and not (self.insecure or here.zone == "loopback"):
            raise RefusedError(f"{_shown(address.url)} is not encrypted", rule="https-only",
                          hint="use https, or --insecure-http if you accept what anybody on the way may send")  # fmt: skip
        return here

    @contextmanager
    def _asked(
        self, address: Address, here: NetworkRoute, headers: Headers, asking: _Asking, deadline: float
    ) -> Iterator[httpx2.Response]:
        import httpx2  # 90 ms that only a download should cost

        sent = {"User-Agent": _USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity", **dict(headers)}
        if asking.etag:
            sent["If-None-Match"] = asking.etag
        targets = here.addresses or (address.host,)
        for place, ip in enumerate(targets):
            request = httpx2.Request(
                "GET",
                httpx2.URL(address.url).copy_with(host=ip.strip("[]")),
                headers={**sent, "Host": address.host + (f":{address.port}" if address.port else "")},
                extensions={"sni_hostname": address.host.strip("[]"), "timeout": self._left(deadline)},
            )
            try:
                response = self._client(address, ip).send(request, stream=True)
            except httpx2.ConnectError as error:
                if place + 1 < len(targets) and not isinstance(error.__cause__, ssl.SSLError):
                    continue
                raise _lost(address.origin, error) from error
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                raise _lost(address.origin, error) from error
            break
        try:
            yield response
        except httpx2.TransportError as error:
            raise _lost(address.origin, error) from error
        finally:
            response.close()

    def _client(self, address: Address, ip: str) -> httpx2.Client:
        """One pool for each name and address: a connection that was checked for one name is never lent to another."""
        import httpx2

        key = (address.origin, ip)
        with self._lock:
            if key not in self._clients:
                proxy = proxy_for(address, self.environment) or None
                self._clients[key] = httpx2.Client(trust_env=False, follow_redirects=False, verify=self._trust, proxy=proxy)
            return self._clients[key]

    @cached_property
    def _trust(self) -> ssl.SSLContext | bool:
        file = self.environment.get("SSL_CERT_FILE")
        return ssl.create_default_context(cafile=file) if file else True

    def _left(self, deadline: float) -> dict[str, float]:
        left = max(0.001, min(10.0, deadline - self.clock()))
        return {"connect": left, "read": left, "write": left, "pool": left}

    def _read(self, response: httpx2.Response, url: str, asking: _Asking, deadline: float) -> HttpReply:
        etag, kind = response.headers.get("etag"), response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == HTTPStatus.NOT_MODIFIED and asking.etag:
            return HttpReply(status=304, url=url, body=b"", etag=asking.etag, content_type=kind)
        if response.status_code not in asking.accepts:
            raise _failed(response.status_code, url, response.headers.get("retry-after"))
        said = response.headers.get("content-length", "")
        expected = int(said) if said.isdigit() else None
        body = bytearray()
        if expected is not None and expected > asking.limit:
            raise _too_large(url, asking.limit)
        for part in response.iter_raw():
            body += part
            if len(body) > asking.limit:
                raise _too_large(url, asking.limit)
            if self.clock() > deadline:
                raise HttpUnavailableError(f"{_shown(url)} took longer than {self.timeout:g} seconds", hint="try again later")
            asking.received(len(body), expected)
        return HttpReply(status=response.status_code, url=url, body=bytes(body), etag=etag, content_type=kind)


class _RetryLaterError(Exception):
    """An attempt that failed in a way that may pass."""

    def __init__(self, error: MetierError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


def _patience(attempt: int) -> float:
    """Half a second, then twice as long each time; not quite, so that many clients do not come back together."""
    return min(8.0, 0.5 * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311  # a wait is no secret


def _web(url: str) -> Address:
    address = read_address(url)
    if address.scheme not in ("http", "https"):
        raise RefusedError(f"{_shown(url)} is no web address", rule="https-only", hint="use an https address")
    return address


def _target(url: str, location: str) -> str:
    """Where a redirect leads; Refused if that is nowhere we go."""
    if not location.isprintable() or not location:
        raise HttpUnavailableError(f"{_shown(url)} redirects to nowhere", hint="tell whoever runs the server", retryable=False)
    try:
        address = absolute(url, location)
    except MetierError as error:
        raise RefusedError(f"{_shown(url)} redirects to something that is no web address", rule="redirect",
                      hint="tell whoever runs the server") from error  # fmt: skip
    if address.scheme == "http" and url.startswith("https:"):
        raise RefusedError(
            f"{_shown(url)} redirects from https to http", rule="redirect-downgrade", hint="tell whoever runs the server"
        )
    return address.url


def _failed(status: int, url: str, retry_after: str | None) -> Exception:
    said = f"HTTP {status} from {_shown(url)}"
    if status in _RETRYABLE:
        after = _seconds(retry_after)
        hint = f"try again in {after:.0f} seconds" if after else "try again later"
        return _RetryLaterError(HttpUnavailableError(said, hint=hint, status=status), after)
    if status in (401, 403, 407):
        return HttpRefusedError(said, hint="give credentials: --header, or auth in [skills.sources.NAME]", status=status)
    if status in (404, 410):
        return HttpNotFoundError(
            said, hint="check the address; what is private often looks absent without credentials", status=status
        )
    return HttpUnavailableError(said, hint="check the address", status=status, retryable=False)


def _seconds(retry_after: str | None) -> float | None:
    if not retry_after:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        then = email.utils.parsedate_to_datetime(retry_after).timestamp()
    except (ValueError, TypeError):
        return None
    return max(0.0, then - time.time())


def _unreachable(origin: str, error: Exception) -> HttpUnavailableError:
    if isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE_VERIFY" in str(error):
        return HttpUnavailableError(f"{origin} cannot prove who it is: {error}", retryable=False,
                               hint="set SSL_CERT_FILE for an authority of your own")  # fmt: skip
    why = str(error) or type(error).__name__
    return HttpUnavailableError(
        f"{origin} cannot be reached: {why}", hint="check the network and the address, or use --offline"
    )


def _lost(origin: str, error: Exception) -> Exception:
    lost = _unreachable(origin, error)
    return _RetryLaterError(lost) if lost.retryable else lost


def _too_large(url: str, limit: int) -> RefusedError:
    return RefusedError(f"{_shown(url)} is larger than {limit:,} bytes", rule="download-size", hint="no skill needs that much")


def _shown(url: str) -> str:
    # A query may be a signature.
    return url.partition("?")[0]
