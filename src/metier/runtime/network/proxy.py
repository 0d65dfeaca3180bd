"""The only way out of a run with network: a proxy in the process that started the run.

It listens inside the run's own, otherwise empty network namespace, on descriptors that the sandbox made there. Clients that
know proxies ask it by CONNECT or with an absolute URL; for the others every granted name is at 127.0.0.1, where it listens on
the granted ports and reads the host from the TLS ClientHello or the Host header. Names are resolved here, outside the run, and
the address that was checked is the one that is dialled.

Each connection has a thread: TLS may have to be ended, and a run has few connections.
"""

from __future__ import annotations

import ipaddress
import os
import re
import selectors
import socket
import ssl
import threading
from collections.abc import Callable, Sequence

from metier.runtime.readable import wait_readable
from metier.spec import DEFAULT_PORTS, clean_host
from metier.values import dataclass

from . import dns
from .authority import RunAuthority
from .client_hello import LONGEST_HELLO, IncompleteHello, is_tls, server_name
from .connections import Connection, ConnectionDecision
from .hosts import Address, GrantedHosts
from .http_session import HttpSession
from .placeholders import SecretPlaceholders
from .relay import ConnectionRecord, NotGrantedError, Target, Upstream, relay

__all__ = ["Listeners", "Proxy", "resolve"]

_MOST_CONNECTIONS = 64
_MOST_RECORDS = 1000
_CONNECT_SECONDS = 30.0
_JOIN_SECONDS = 2.0
_METHOD = re.compile(rb"[A-Z]{1,10}(?: |\Z)")

Resolve = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Listeners:
    """The sockets inside a run: for TCP by their port, and the one for name queries."""

    tcp: dict[int, socket.socket]
    udp: socket.socket


def resolve(host: str, port: int) -> Sequence[str]:
    """Returns the addresses of a host, as this machine finds them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found))


class Proxy:
    def __init__(
        self,
        granted: GrantedHosts,
        placeholders: SecretPlaceholders,
        *,
        authority: RunAuthority | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self.granted = granted
        self.placeholders = placeholders
        self._authority = authority
        self._resolve = resolve
        self._records: list[ConnectionRecord] = []
        self._left_off = 0
        self._names: set[str] = set()
        self._open: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._wake, self._stop = socket.socketpair()
        self._context: ssl.SSLContext | None = None
        self.is_closed = False

    def start(self, listeners: Listeners) -> None:
        thread = threading.Thread(target=self._accept, args=(listeners,), name="metier-proxy", daemon=True)
        self._threads.add(thread)
        thread.start()

    def close(self) -> tuple[Connection, ...]:
        """Ends every connection and returns all of them, in the order in which they were made."""
        with self._lock:
            self.is_closed = True
            threads, opened = list(self._threads), list(self._open)
        self._stop.close()
        for each in opened:
            _shut(each)
        for thread in threads:
            thread.join(_JOIN_SECONDS)
        self._wake.close()
        with self._lock:
            rows = [record.value() for record in self._records]
            if self._left_off:
                note = f"{self._left_off:,} more connections are not listed"
                rows.append(Connection(host="", port=0, decision=ConnectionDecision.REFUSED, note=note))
        return tuple(rows)

    def record(self, host: str, port: int, *, refused: str = "") -> ConnectionRecord:
        record = ConnectionRecord(host=host[:255], port=port, refused=refused)
        with self._lock:
            if len(self._records) < _MOST_RECORDS:
                self._records.append(record)
            else:
                self._left_off += 1
        return record

    def target(self, host: str, port: int) -> Target:
        """Returns a granted target. Raises NotGrantedError, and records that, for any other."""
        name = clean_host(host)
        if name and self.granted.covers(name, port):
            return Target(name, port)
        shown = name or host
        why = "this port is not granted" if name and self.granted.covers_name(name) else "this host is not granted"
        self.record(shown, port, refused=why)
        raise NotGrantedError(f"{shown[:255]}:{port}: {why}")

    def connect(self, target: Target, *, is_tls: bool = False) -> Upstream:
        """Connects to a granted target. Raises NotGrantedError for a private address, OSError if it cannot be reached."""
        record = self.record(target.host, target.port)
        try:
            link, address = self._dial(target)
        except NotGrantedError as error:
            record.refused = str(error)
            raise
        except OSError as error:
            record.failed = str(error)
            raise
        self.track(link)
        upstream = Upstream(link=link, target=target, record=record, is_local=address.is_loopback)
        return self.secure(upstream) if is_tls else upstream

    def secure(self, upstream: Upstream) -> Upstream:
        """Starts TLS with the host, and verifies its certificate."""
        if self._context is None:
            self._context = ssl.create_default_context()
            self._context.set_alpn_protocols(["http/1.1"])
        upstream.link.settimeout(_CONNECT_SECONDS)
        try:
            link = self._context.wrap_socket(upstream.link, server_hostname=upstream.target.host)
        except OSError as error:
            upstream.record.failed = f"TLS: {getattr(error, 'verify_message', '') or error}"
            raise
        link.settimeout(None)
        self.track(link)
        upstream.link, upstream.is_tls = link, True
        return upstream

    def tunnel(self, client: socket.socket, target: Target, *, accept: Callable[[], None]) -> None:
        """Serves CONNECT: TLS for the same host, HTTP for the same host, or, on other ports, any protocol."""
        upstream = self.connect(target)
        try:
            accept()
            self._serve_tunnel(client, upstream)
        finally:
            self.forget(upstream.link)

    def _serve_tunnel(self, client: socket.socket, upstream: Upstream) -> None:
        if client not in wait_readable([client, upstream.link]):
            relay(client, upstream)
            return
        first = client.recv(16, socket.MSG_PEEK)
        if is_tls(first):
            self._tunnel_tls(client, upstream)
        elif _METHOD.match(first):
            HttpSession(self, client, port=upstream.target.port, upstream=upstream).serve()
        elif first and upstream.target.port in DEFAULT_PORTS:
            upstream.record.refused = "neither TLS nor HTTP"
        else:
            relay(client, upstream)

    def track(self, link: socket.socket) -> None:
        with self._lock:
            self._open.add(link)
            closed = self.is_closed
        if closed:
            _shut(link)

    def forget(self, link: socket.socket) -> None:
        with self._lock:
            self._open.discard(link)
        link.close()

    def _dial(self, target: Target) -> tuple[socket.socket, Address]:
        addresses = [ipaddress.ip_address(text) for text in self._resolve(target.host, target.port)]
        allowed = [each for each in addresses if self.granted.covers_address(target.host, each, target.port)]
        if not allowed:
            shown = ", ".join(map(str, addresses[:3])) or "no address"
            raise NotGrantedError(
                f"{target.host} leads to {shown}, which is not a public address; grant that address to allow it"
            )
        problem: OSError | None = None
        for address in allowed:
            try:
                link = socket.create_connection((str(address), target.port), timeout=_CONNECT_SECONDS)
            except OSError as error:
                problem = error
            else:
                # An answer may take as long as the run: its own limit ends both.
                link.settimeout(None)
                return link, address
        assert problem is not None  # noqa: S101  the loop ran
        raise problem

    def _tunnel_tls(self, client: socket.socket, upstream: Upstream) -> None:
        target = upstream.target
        name = self._peek_name(client)
        if name is None or (name or target.host) != target.host:
            upstream.record.refused = f"TLS for {name!r} in a connection to {target.host}" if name else "no valid TLS"
            return
        if not name and not _is_address(target.host):
            upstream.record.refused = "TLS without a server name"
            return
        if self._authority and self.placeholders.has_secrets_for(target.host, target.port):
            self._intercept(client, self.secure(upstream))
        else:
            relay(client, upstream)

    def _serve_tls(self, client: socket.socket, port: int) -> None:
        """Serves a client that connected as if this were the host. The ClientHello says which."""
        name = self._peek_name(client)
        if not name:
            self.record("?", port, refused="TLS without a server name")
            return
        target = self.target(name, port)
        upstream = self.connect(target)
        try:
            self._tunnel_tls(client, upstream)
        finally:
            self.forget(upstream.link)

    def _intercept(self, client: socket.socket, upstream: Upstream) -> None:
        assert self._authority is not None  # noqa: S101  the caller checked it
        try:
            inner = self._authority.context(upstream.target.host).wrap_socket(client, server_side=True)
        except (OSError, ssl.SSLError) as error:
            upstream.record.failed = f"the script did not accept the certificate of the proxy: {error}"
            raise
        self.track(inner)
        try:
            HttpSession(self, inner, port=upstream.target.port, upstream=upstream).serve()
        finally:
            self.forget(inner)

    def _peek_name(self, client: socket.socket) -> str | None:
        """Returns the server name; empty if there is none, None if this is not TLS. The bytes stay in the socket."""
        while True:
            data = client.recv(LONGEST_HELLO, socket.MSG_PEEK)
            try:
                return clean_host(name) if (name := server_name(data)) else ""
            except IncompleteHello:
                if not data or len(data) >= LONGEST_HELLO or not _wait_for_more(client, len(data)):
                    return None
            except (ValueError, UnicodeError):
                return None

    def _accept(self, listeners: Listeners) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            selector.register(listeners.udp, selectors.EVENT_READ, 0)
            for port, listener in listeners.tcp.items():
                selector.register(listener, selectors.EVENT_READ, port)
            while not self.is_closed:
                for key, _ in selector.select():
                    if key.fileobj is listeners.udp:
                        self._answer_query(listeners.udp)
                    elif key.data:
                        self._start_connection(listeners.tcp[key.data], key.data)
        for each in (listeners.udp, *listeners.tcp.values()):
            each.close()

    def _answer_query(self, udp: socket.socket) -> None:
        try:
            query, source = udp.recvfrom(4096)
            asked = dns.question_name(query)
            granted = asked is not None and self.granted.covers_name(clean_host(asked[0]))
            udp.sendto(dns.answer(query, granted=granted), source)
        except OSError:
            return
        if asked and not granted and asked[0] not in self._names and len(self._names) < _MOST_RECORDS:
            self._names.add(asked[0])
            self.record(asked[0], 53, refused="this name is not granted")

    def _start_connection(self, listener: socket.socket, port: int) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with self._lock:
            self._threads = {thread for thread in self._threads if thread.is_alive()}
            is_full = len(self._threads) > _MOST_CONNECTIONS
        if is_full:
            self.record("?", port, refused=f"more than {_MOST_CONNECTIONS} connections at once")
            client.close()
            return
        thread = threading.Thread(target=self._serve, args=(client, port), name="metier-connection", daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def _serve(self, client: socket.socket, port: int) -> None:
        self.track(client)
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            first = client.recv(1, socket.MSG_PEEK)
            if is_tls(first):
                self._serve_tls(client, port)
            elif first:
                HttpSession(self, client, port=port).serve()
        except (OSError, NotGrantedError):
            pass  # it is in the records
        except Exception as error:  # a script sends what it likes, and must not make the caller print a traceback
            self.record("?", port, refused=f"the proxy failed: {type(error).__name__}")
        finally:
            self.forget(client)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _wait_for_more(client: socket.socket, seen: int) -> bool:
    """Waits until more than `seen` bytes can be peeked. A peek does not take them, so `select` would not wait."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, seen + 1)
    try:
        wait_readable([client], _CONNECT_SECONDS)
        return len(client.recv(LONGEST_HELLO, socket.MSG_PEEK)) > seen
    finally:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def _shut(link: socket.socket) -> None:
    try:
        # The socket below TLS too: its thread may wait in a read.
        os.fstat(link.fileno())
        socket.socket.shutdown(link, socket.SHUT_RDWR)
    except (OSError, ValueError):
        pass
