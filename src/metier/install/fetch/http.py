"""The HTTP client for untrusted servers.

It follows redirects itself: the caller's headers are dropped at the first redirect to another origin; https never becomes http;
and a redirect may lead to the public internet or to the server's own kind of network, but not into ours (a host is resolved
once, checked, and connected to by the checked address). Bytes are counted as they arrive, without decoding and without trust in
Content-Length. Temporary failures are retried, after the time that the server asks for.
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

from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError, connection_problem
from metier.install.refs.forges import Address, absolute, read_address
from metier.values import dataclass, field

from .credentials import Headers, origin_of
from .destinations import Destinations
from .network import NetworkRoute, Resolve, is_loopback, literal_zone, proxy_for, resolve, route_to

if TYPE_CHECKING:
    import httpx2

__all__ = ["HttpClient", "HttpNotFoundError", "HttpRefusedError", "HttpReply", "HttpUnavailableError", "Received"]

_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_HOPS = 5
_LONGEST_WAIT = 30.0
_USER_AGENT = "metier"

Received = Callable[[int, "int | None"], None]
"""Called with the number of bytes received, and the total if the server named it."""


class HttpUnavailableError(UnavailableError):
    """The server or the network failed; `status` is None if there was no response."""

    def __init__(self, message: str, *, hint: str, status: int | None = None, retryable: bool = True) -> None:
        super().__init__(message, hint=hint, retryable=retryable)
        self.status = status


class HttpNotFoundError(NotFoundError):
    retryable = False

    def __init__(self, message: str, *, hint: str, status: int) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class HttpRefusedError(RefusedError):
    """The server denies access."""

    retryable = False

    def __init__(self, message: str, *, hint: str, status: int, challenge: str = "") -> None:
        super().__init__(message, rule="http-forbidden", hint=hint)
        self.status = status
        self.challenge = challenge
        """WWW-Authenticate of the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    status: int
    """200, or 304 if `etag` is still current."""
    url: str
    """The URL after redirects."""
    body: bytes
    etag: str | None
    content_type: str
    modified: float | None = None
    """Last-Modified, in seconds since 1970."""
    location: str = ""
    """Where an upload goes on, as an absolute URL, on the terms of a redirect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """One request; the same over redirects and retries."""

    url: str
    headers: Headers
    limit: int
    via: str | None
    etag: str | None
    received: Received
    accepts: frozenset[int] = frozenset({200})
    method: str = "GET"
    body: bytes = b""
    for_link: bool = False
    """Send the headers also to another origin than that of `via`."""


@dataclass(kw_only=True)
class HttpClient:
    """A client for one command. Safe to use from several threads."""

    insecure: bool = False
    """Also allow unencrypted http."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Read for proxies and SSL_CERT_FILE only."""
    timeout: float = 120.0
    """Seconds for a whole attempt."""
    silence: float = 10.0
    """Seconds without any byte, after which a server counts as unreachable. It is not asked again: that takes as long."""
    attempts: int = 4
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    resolve: Resolve = resolve
    destinations: Destinations = field(default_factory=Destinations)
    _clients: dict[tuple[str, str], httpx2.Client] = field(default_factory=dict, repr=False)
    _reached: dict[str, NetworkRoute] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(
        self, url: str, *, limit: int, headers: Headers = (), via: str | None = None, etag: str | None = None,
        received: Received = lambda _done, _of: None,
    ) -> HttpReply:  # fmt: skip
        """Returns the body at `url`, at most `limit` bytes. `via` is the URL of the document that links to it, if any."""
        return self._persist(_Request(url=url, headers=headers, limit=limit, via=via, etag=etag, received=received))

    def send(
        self, method: str, url: str, *, accepts: frozenset[int], headers: Headers = (), body: bytes = b"",
        via: str | None = None,
    ) -> HttpReply:  # fmt: skip
        """Sends a request that may change something on the server. A redirect of it is an error, unless it is a HEAD."""
        return self._persist(
            _Request(
                url=url, headers=headers, limit=1 << 20, via=via, etag=None, received=lambda _done, _of: None, accepts=accepts,
                method=method, body=body,
            )
        )  # fmt: skip

    def get_linked(self, url: str, *, via: str, headers: Headers, limit: int) -> HttpReply:
        """Like `get`, for headers that are meant for this URL, although the document at `via` of another origin names it."""
        request = _Request(
            url=url, headers=headers, limit=limit, via=via, etag=None, received=lambda _done, _of: None, for_link=True
        )
        return self._persist(request)

    def landing(self, url: str, *, headers: Headers = ()) -> str:
        """Returns the URL after redirects, whatever its status."""
        every = frozenset(status.value for status in HTTPStatus) - _REDIRECTS - _RETRYABLE
        request = _Request(
            url=url, headers=headers, limit=1 << 20, via=None, etag=None, received=lambda _d, _o: None, accepts=every
        )
        return self._persist(request).url

    def reach_first(self, address: Address) -> NetworkRoute:
        """Returns the route to an address that another program connects to, such as git.

        Its name is looked up only where that decides something: whether a proxy is used, and for an untrusted lock.
        """
        if self.destinations.untrusted_lock or is_loopback(address.host):
            try:
                return self._reach(address, None)
            except _RetryLaterError as later:
                raise later.error from later.__cause__
        return NetworkRoute(zone="unknown", addresses=())

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _persist(self, request: _Request) -> HttpReply:
        for attempt in range(1, self.attempts + 1):
            try:
                return self._follow(request)
            except _RetryLaterError as later:
                wait = _backoff(attempt) if later.after is None else later.after
                if attempt == self.attempts or wait > _LONGEST_WAIT:
                    raise later.error from later.__cause__
                self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _follow(self, request: _Request) -> HttpReply:
        url, headers, before = request.url, request.headers, None
        if request.via is not None:
            # The route by which that document was fetched; its name could resolve differently now.
            before = self._reached.get(origin_of(request.via)) or self._reach(_web(request.via), None)
            if not request.for_link and origin_of(url) != origin_of(request.via):
                headers = tuple(header for header in headers if header[0].lower() == "content-type")
        deadline = self.clock() + self.timeout
        for _ in range(_MOST_HOPS + 1):
            address = _web(url)
            self.destinations.rules.check(url, is_linked=True)
            here = self._reach(address, before)
            with self._send(address, here, headers, request, deadline) as response:
                self._reached.setdefault(address.origin, here)
                if response.status_code not in _REDIRECTS or request.method not in ("GET", "HEAD"):
                    return self._read(response, url, request, deadline)
                target = _target(url, response.headers.get("location", ""))
            if origin_of(target) != origin_of(url):
                headers = ()
            url, before = target, here
        raise HttpUnavailableError(
            f"{_shown_url(request.url)} redirects more than {_MOST_HOPS} times", hint="check the address", retryable=False
        )

    def _reach(self, address: Address, before: NetworkRoute | None) -> NetworkRoute:
        is_encrypted = address.scheme in ("https", "ssh")
        if proxy_for(address, self.environment):
            if not (is_encrypted or self.insecure):
                raise _not_encrypted(address)
            # The proxy resolves names and decides what may be reached; an address that was typed as a number we can judge.
            self.destinations.check_network(address.origin, address.host, literal_zone(address.host) or "proxy")
            return NetworkRoute(zone="proxy", addresses=(), proxied=True)
        try:
            here = route_to(address, before, self.resolve)
        except MetierError:
            # RefusedError is an OSError too.
            raise
        except (OSError, UnicodeError) as error:
            raise _retry_or_fail(address.origin, error) from error
        if not (is_encrypted or self.insecure or here.zone == "loopback"):
            raise _not_encrypted(address)
        if before is None:
            self.destinations.check_network(address.origin, address.host, here.zone)
        return here

    @contextmanager
    def _send(
        self, address: Address, here: NetworkRoute, headers: Headers, request: _Request, deadline: float
    ) -> Iterator[httpx2.Response]:
        import httpx2  # takes 90 ms, so only where something is downloaded

        sent = {"User-Agent": _USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity", **dict(headers)}
        if request.etag:
            sent["If-None-Match"] = request.etag
        targets = here.addresses or (address.host,)
        for place, ip in enumerate(targets):
            outgoing = httpx2.Request(
                request.method,
                httpx2.URL(address.url).copy_with(host=ip.strip("[]")),
                headers={**sent, "Host": address.host + (f":{address.port}" if address.port else "")},
                extensions={"sni_hostname": address.host.strip("[]"), "timeout": self._left(deadline)},
                content=request.body or None,
            )
            try:
                response = self._client(address, ip).send(outgoing, stream=True)
            except (httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.PoolTimeout) as error:
                raise self._silent(address.origin) from error
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if place + 1 < len(targets) and not isinstance(error.__cause__, ssl.SSLError):
                    continue
                if isinstance(error, httpx2.ConnectTimeout):
                    raise self._silent(address.origin) from error
                raise _retry_or_fail(address.origin, error) from error
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                raise _retry_or_fail(address.origin, error) from error
            break
        try:
            yield response
        except httpx2.TimeoutException as error:
            raise self._silent(address.origin) from error
        except httpx2.TransportError as error:
            raise _retry_or_fail(address.origin, error) from error
        finally:
            response.close()

    def _client(self, address: Address, ip: str) -> httpx2.Client:
        """Returns the connection pool of one host and address, so that no connection is reused for another host."""
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
        left = max(0.001, min(self.silence, deadline - self.clock()))
        return {"connect": left, "read": left, "write": left, "pool": left}

    def _silent(self, origin: str) -> HttpUnavailableError:
        return HttpUnavailableError(
            f"{origin} does not answer: nothing came for {self.silence:g} seconds",
            hint="check the network and the address, or use --offline",
        )

    def _read(self, response: httpx2.Response, url: str, request: _Request, deadline: float) -> HttpReply:
        etag, kind = response.headers.get("etag"), response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == HTTPStatus.NOT_MODIFIED and request.etag:
            return HttpReply(status=304, url=url, body=b"", etag=request.etag, content_type=kind)
        if response.status_code not in request.accepts:
            raise _failed(response.status_code, url, response.headers)
        said = response.headers.get("content-length", "")
        expected = int(said) if said.isdigit() else None
        body = bytearray()
        if expected is not None and expected > request.limit and request.method != "HEAD":
            raise _too_large(url, request.limit)
        for part in response.iter_raw():
            body += part
            if len(body) > request.limit:
                raise _too_large(url, request.limit)
            if self.clock() > deadline:
                raise HttpUnavailableError(
                    f"{_shown_url(url)} took longer than {self.timeout:g} seconds", hint="try again later"
                )
            request.received(len(body), expected)
        modified = _date(response.headers.get("last-modified"))
        place = response.headers.get("location", "")
        return HttpReply(
            status=response.status_code, url=url, body=bytes(body), etag=etag, content_type=kind, modified=modified,
            location=_target(url, place) if place and request.method not in ("GET", "HEAD") else "",
        )  # fmt: skip


class _RetryLaterError(Exception):
    """A temporary failure."""

    def __init__(self, error: MetierError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


def _backoff(attempt: int) -> float:
    """Returns the seconds before the next attempt: half a second, doubled each time, with jitter."""
    return min(8.0, 0.5 * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


def _web(url: str) -> Address:
    address = read_address(url)
    if address.scheme not in ("http", "https"):
        raise RefusedError(f"{_shown_url(url)} is not a web address", rule="https-only", hint="use an https address")
    return address


def _target(url: str, location: str) -> str:
    """Returns the URL of a redirect. Raises RefusedError if it is not allowed."""
    if not location.isprintable() or not location:
        raise HttpUnavailableError(
            f"{_shown_url(url)} redirects without a location", hint="report it to the server's operator", retryable=False
        )
    try:
        address = absolute(url, location)
    except MetierError as error:
        raise RefusedError(f"{_shown_url(url)} redirects to something that is not a web address", rule="redirect",
                      hint="report it to the server's operator") from error  # fmt: skip
    if address.scheme == "http" and url.startswith("https:"):
        raise RefusedError(
            f"{_shown_url(url)} redirects from https to http",
            rule="redirect-downgrade",
            hint="report it to the server's operator",
        )
    return address.url


def _failed(status: int, url: str, headers: Mapping[str, str]) -> Exception:
    said = f"HTTP {status} from {_shown_url(url)}"
    if status in _RETRYABLE:
        after = _seconds(headers.get("retry-after"))
        hint = f"try again in {after:.0f} seconds" if after else "try again later"
        return _RetryLaterError(HttpUnavailableError(said, hint=hint, status=status), after)
    if status in (401, 403, 407):
        return HttpRefusedError(
            said, hint="give credentials: --header, or auth in [skills.sources.NAME]", status=status,
            challenge=headers.get("www-authenticate", ""),
        )  # fmt: skip
    if status in (404, 410):
        return HttpNotFoundError(
            said, hint="check the address; a private resource may look missing without credentials", status=status
        )
    return HttpUnavailableError(said, hint="check the address", status=status, retryable=False)


def _seconds(retry_after: str | None) -> float | None:
    if not retry_after:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    then = _date(retry_after)
    return None if then is None else max(0.0, then - time.time())


def _date(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None


def _unreachable(origin: str, error: Exception) -> HttpUnavailableError:
    if isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE_VERIFY" in str(error):
        return HttpUnavailableError(f"cannot verify the certificate of {origin}: {error}", retryable=False,
                               hint="for a private certificate authority set SSL_CERT_FILE")  # fmt: skip
    why = connection_problem(error)
    return HttpUnavailableError(f"cannot reach {origin}: {why}", hint="check the network and the address, or use --offline")


def _retry_or_fail(origin: str, error: Exception) -> Exception:
    lost = _unreachable(origin, error)
    return _RetryLaterError(lost) if lost.retryable else lost


def _not_encrypted(address: Address) -> RefusedError:
    return RefusedError(f"{_shown_url(address.url)} is not encrypted", rule="https-only",
                        hint="use https, or --insecure-http to allow it")  # fmt: skip


def _too_large(url: str, limit: int) -> RefusedError:
    return RefusedError(
        f"{_shown_url(url)} is larger than {limit:,} bytes", rule="download-size", hint="name a smaller archive"
    )


def _shown_url(url: str) -> str:
    # A query may contain a signature.
    return url.partition("?")[0]
