"""A network that leads nowhere: every name resolves, every address accepts, and what is sent is kept.

It uses the parts of the proxy: the run's own network namespace, the name server, the certificate authority of the run. Nothing
is forwarded. Each name has an address of its own, so that a connection without a name in it can be told apart too.
"""

from __future__ import annotations

import re
import selectors
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence

import h11

from metier.runtime.network import dns
from metier.runtime.network.authority import RunAuthority, system_certificates
from metier.runtime.network.client_hello import LONGEST_HELLO, IncompleteHello, is_tls, server_name
from metier.runtime.network.connections import Connection
from metier.runtime.network.run_network import BUNDLE, BUNDLE_NAMES
from metier.values import dataclass

from .answers import Answer, answer_request

__all__ = ["SHELL_REPLY", "Exchange", "Sinkhole"]

SINK_PORT = 3128
_PORTS = (SINK_PORT, 80, 443, 22, 21, 25, 465, 587, 143, 993, 853)
_PREFACE = b"METIER "
_MOST_BYTES = 512 * 1024
_MOST_EXCHANGES, _MOST_THREADS = 400, 48
_SECONDS = 3.0
_SILENCE = 0.25
_SHELL_PROBE = b"echo sinkhole-$((40+2))\n"
SHELL_REPLY = b"sinkhole-42"
_BANNERS = {22: b"SSH-2.0-OpenSSH_9.6\r\n", 21: b"220 ready\r\n", 25: b"220 mail ESMTP\r\n", 587: b"220 mail ESMTP\r\n"}
_LINES = (25, 465, 587, 21, 143)
_METHOD = re.compile(rb"[A-Z]{3,10}(?: |\Z)")
_FIRST_ADDRESS = 0xC6120001  # 198.18.0.1, of the range for tests of networks


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request, connection or name query that left the run."""

    host: str
    port: int
    protocol: str
    """http, https, tls, tcp or dns."""
    sent: bytes
    """The plain bytes: of a request its first line, headers and body."""
    method: str = ""
    path: str = ""
    number: int = 0
    is_code: bool = False
    """The answer was a program of ours, in place of one that is not known."""


class Sinkhole:
    """The network of one observed run. It has the form of `ScriptNetwork`."""

    takes_all = True
    listening = _PORTS

    def __init__(
        self, authority: RunAuthority, files: Mapping[str, bytes], *, links: Mapping[str, str], prefer_code: bool
    ) -> None:
        self.links = links
        self._authority = authority
        self._files = files
        self._prefer_code = prefer_code
        self._exchanges: list[Exchange] = []
        self._names: dict[str, int] = {}
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._wake, self._stop = socket.socketpair()
        self._is_closed = False
        self._numbers = 0

    @property
    def ports(self) -> tuple[int, ...]:
        return _PORTS

    @property
    def secrets(self) -> dict[str, str]:
        return {}

    @property
    def variables(self) -> dict[str, str]:
        return {}

    @property
    def files(self) -> list[tuple[str, bytes]]:
        return [
            ("/etc/resolv.conf", b"nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"),
            ("/etc/hosts", b"127.0.0.1 localhost workstation skill\n"),
            ("/etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\nservices: files\n"),
            ("/etc/passwd", b"root:x:0:0:root:/root:/bin/bash\nalex:x:1000:1000:Alex:/home/alex:/bin/bash\n"),
            (BUNDLE, system_certificates().rstrip(b"\n") + b"\n" + self._authority.certificate),
            *self._files.items(),
        ]

    @staticmethod
    def trust_variables() -> dict[str, str]:
        """Returns the variables that make programs trust the certificates of the sinkhole."""
        return dict.fromkeys(BUNDLE_NAMES, BUNDLE)

    def start(self, descriptors: Sequence[int]) -> None:
        *tcp, udp = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        thread = threading.Thread(target=self._accept, args=(tcp, udp), name="metier-sinkhole", daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> tuple[Connection, ...]:
        with self._lock:
            self._is_closed = True
            threads, opened = list(self._threads), list(self._open)
        self._stop.close()
        for each in opened:
            try:
                socket.socket.shutdown(each, socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in threads:
            thread.join(_SECONDS)
        self._wake.close()
        return ()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        with self._lock:
            return tuple(self._exchanges)

    @property
    def names(self) -> dict[str, str]:
        """Returns the names that were resolved, by their addresses."""
        with self._lock:
            return {socket.inet_ntoa((_FIRST_ADDRESS + at).to_bytes(4, "big")): name for name, at in self._names.items()}

    def host_at(self, address: str) -> str:
        """Returns the name that has this address, or the address itself."""
        try:
            number = int.from_bytes(socket.inet_aton(address), "big") - _FIRST_ADDRESS
        except OSError:
            return address
        return next((name for name, at in self._names.items() if at == number), address)

    def _accept(self, tcp: Sequence[socket.socket], udp: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            for each in (*tcp, udp):
                selector.register(each, selectors.EVENT_READ, each)
            while not self._is_closed:
                for key, _ in selector.select():
                    if key.data is udp:
                        self._answer_query(udp)
                    elif key.data is not None:
                        self._start_connection(key.data)
        for each in (*tcp, udp):
            each.close()

    def _answer_query(self, udp: socket.socket) -> None:
        try:
            query, source = udp.recvfrom(4096)
            asked = dns.question_name(query)
            name = asked[0] if asked else ""
            with self._lock:
                is_new = name not in self._names
                number = self._names.setdefault(name, len(self._names))
            address = (_FIRST_ADDRESS + number).to_bytes(4, "big")
            udp.sendto(dns.answer(query, granted=bool(name), address=address), source)
        except OSError:
            return
        if is_new and name:
            self._keep(Exchange(host=name, port=53, protocol="dns", sent=name.encode("latin-1")))

    def _keep(self, exchange: Exchange) -> None:
        with self._lock:
            if len(self._exchanges) < _MOST_EXCHANGES:
                self._exchanges.append(exchange)

    def _start_connection(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
            address, port = client.getsockname()[:2]
        except OSError:
            return
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) > _MOST_THREADS or self._is_closed:
                client.close()
                return
            thread = threading.Thread(target=self._serve, args=(client, address, port), name="metier-sinkhole", daemon=True)
            self._threads.append(thread)
            self._open.add(client)
        thread.start()

    def _serve(self, client: socket.socket, address: str, port: int) -> None:
        link = client
        try:
            client.settimeout(_SECONDS)
            if port == SINK_PORT:
                address, port = _read_preface(client)
            first = self._first_bytes(client, port)
            host = self.host_at(address)
            if is_tls(first):
                link, host = self._end_tls(client, host, port)
            self._serve_plain(link, host, port, tls=link is not client)
        except (OSError, ValueError):
            pass  # what arrived is in the records
        except Exception as error:  # a script sends what it likes, and must not make the caller print a traceback
            self._keep(Exchange(host=self.host_at(address), port=port, protocol="tcp", sent=repr(error)[:200].encode()))
        finally:
            with self._lock:
                self._open.discard(client)
            link.close()
            client.close()

    def _first_bytes(self, client: socket.socket, port: int) -> bytes:
        """Waits a moment for the client, then speaks first, as a mail server or the other end of a remote shell does."""
        client.settimeout(_SILENCE)
        try:
            return client.recv(16, socket.MSG_PEEK)
        except TimeoutError:
            client.sendall(_BANNERS.get(port, _SHELL_PROBE))
        finally:
            client.settimeout(_SECONDS)
        return client.recv(16, socket.MSG_PEEK)

    def _end_tls(self, client: socket.socket, host: str, port: int) -> tuple[ssl.SSLSocket, str]:
        hello = client.recv(LONGEST_HELLO, socket.MSG_PEEK)
        try:
            name = server_name(hello)
        except (ValueError, IncompleteHello, UnicodeError):
            name = ""
        host = name or host
        try:
            return self._authority.context(host).wrap_socket(client, server_side=True), host
        except OSError:
            self._keep(Exchange(host=host, port=port, protocol="tls", sent=b""))
            raise

    def _serve_plain(self, link: socket.socket, host: str, port: int, *, tls: bool) -> None:
        first = link.recv(16, socket.MSG_PEEK) if not tls else b""
        if first and not _METHOD.match(first):
            self._talk(link, b"", host, port, tls=tls)
            return
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 16)
        raw = b""
        try:
            while True:
                request, body, raw = self._read_request(link, parser)
                if request is None:
                    break
                self._answer(link, parser, request, body, (host, port), tls=tls)
                raw = b""
                if parser.our_state is not h11.DONE or parser.their_state is not h11.DONE:
                    return
                parser.start_next_cycle()
        except h11.ProtocolError:
            raw = raw or parser.trailing_data[0]
        if raw:
            self._talk(link, raw, host, port, tls=tls)

    def _read_request(self, link: socket.socket, parser: h11.Connection) -> tuple[h11.Request | None, bytes, bytes]:
        raw, body, request = bytearray(), bytearray(), None
        while True:
            try:
                event = parser.next_event()
            except h11.ProtocolError:
                return None, b"", bytes(raw)
            if event is h11.NEED_DATA:
                if parser.they_are_waiting_for_100_continue:
                    link.sendall(parser.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
                try:
                    data = link.recv(65536)
                except TimeoutError:
                    return None, b"", bytes(raw)
                raw += data if len(raw) < _MOST_BYTES else b""
                parser.receive_data(data)
                if not data and request is None:
                    return None, b"", bytes(raw)
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data if len(body) < _MOST_BYTES else b""
            elif isinstance(event, h11.EndOfMessage):
                return request, bytes(body), bytes(raw)
            else:
                return None, b"", bytes(raw)

    def _answer(
        self,
        link: socket.socket,
        parser: h11.Connection,
        request: h11.Request,
        body: bytes,
        target: tuple[str, int],
        *,
        tls: bool,
    ) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
        method, path = request.method.decode("latin-1"), request.target.decode("latin-1")
        host = headers.get("host", "").rpartition("@")[2].partition(":")[0] or target[0]
        with self._lock:
            self._numbers += 1
            number = self._numbers
        answer = answer_request(number, method, host, path, headers, prefer_code=self._prefer_code)
        head = f"{method} {path}\n" + "".join(f"{name}: {value}\n" for name, value in headers.items())
        self._keep(
            Exchange(
                host=target[0] if target[0].strip("0123456789.") else host, port=target[1], protocol="https" if tls else "http",
                sent=head.encode("latin-1", "replace") + b"\n" + body, method=method, path=path, number=number,
                is_code=answer.is_code,
            )
        )  # fmt: skip
        link.sendall(_response(parser, request, answer))

    def _talk(self, link: socket.socket, raw: bytes, host: str, port: int, *, tls: bool) -> None:
        """Keeps the bytes of another protocol. It agrees with every line as a mail server does, or tries a command."""
        data = bytearray(raw)
        try:
            link.sendall(b"250 ok\r\n" if port in _LINES else _SHELL_PROBE)
            while len(data) < _MOST_BYTES:
                part = link.recv(65536)
                if not part:
                    break
                data += part
                if port in _LINES:
                    link.sendall(b"354 go on\r\n" if part.upper().startswith(b"DATA") else b"250 ok\r\n")
        except OSError:
            pass
        self._keep(Exchange(host=host, port=port, protocol="tls" if tls else "tcp", sent=bytes(data)))


def _response(parser: h11.Connection, request: h11.Request, answer: Answer) -> bytes:
    headers = [("content-type", answer.content_type), ("content-length", str(len(answer.body))), ("server", "nginx")]
    data = parser.send(h11.Response(status_code=answer.status, headers=headers)) or b""
    if request.method != b"HEAD":
        data += parser.send(h11.Data(data=answer.body)) or b""
    return data + (parser.send(h11.EndOfMessage()) or b"")


def _read_preface(client: socket.socket) -> tuple[str, int]:
    """Reads the line by which the run's own end says where a connection was meant to go."""
    line = b""
    while not line.endswith(b"\n") and len(line) < 100:
        part = client.recv(1)
        if not part:
            raise ValueError("no preface")
        line += part
    if not line.startswith(_PREFACE):
        raise ValueError("no preface")
    _, address, port = line.decode("ascii").split()
    return address, int(port)
