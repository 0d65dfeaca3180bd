"""Opens sockets inside the network namespace of a run, which is otherwise empty.

A short-lived child joins the namespace: first the user namespace that owns it, in which we have all capabilities, unless it is
our own, then the namespace itself. It sends the sockets back and ends. The child has no other thread, as the kernel demands.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct

from .kernel import system_call

__all__ = ["open_listeners"]

_SETNS = {"x86_64": 308, "aarch64": 268}
_NS_GET_USERNS = 0xB701
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_BACKLOG = 64
_NAMES = 53
_ADDRESS = "127.0.0.1"
_MOST = 64
_NEW_ROUTE, _ROUTE_FLAGS = 24, 0x605  # REQUEST, ACK, CREATE, EXCL
_TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL, _OUTPUT_INTERFACE = 255, 3, 254, 2, 4


def open_listeners(inside: int, ports: list[int], *, takes_all: bool = False) -> list[int]:
    """Returns descriptors of sockets in the namespace of the process: one for each TCP port, then one for name queries.

    With `takes_all`, every IPv4 and IPv6 address is one of this namespace, and its processes may listen on every port.
    """
    ours, theirs = socket.socketpair()
    with ours:
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                _send_listeners(inside, ports, theirs, takes_all=takes_all)
            finally:
                os._exit(0)
        theirs.close()
        message, descriptors, _, _ = socket.recv_fds(ours, 2000, _MOST)
        _reap(pid)
    if len(descriptors) != len(ports) + 1:
        for descriptor in descriptors:
            os.close(descriptor)
        raise OSError(f"the network of the run was not set up: {message.decode(errors='replace')}")
    return descriptors


def _send_listeners(inside: int, ports: list[int], link: socket.socket, *, takes_all: bool) -> None:
    try:
        _join(inside)
        if takes_all:
            _take_all_addresses()
        sockets = [_listen(port, "0.0.0.0" if takes_all else _ADDRESS) for port in ports]  # noqa: S104  its own namespace
        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names.bind((_ADDRESS, _NAMES))
        socket.send_fds(link, [b"+"], [each.fileno() for each in (*sockets, names)])
    except OSError as error:
        link.sendall(str(error).encode(errors="replace")[:2000])


def _join(inside: int) -> None:
    number = _SETNS[os.uname().machine]
    network = os.open(f"/proc/{inside}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    if os.fstat(owner).st_ino != os.stat("/proc/self/ns/user").st_ino:
        system_call(number, owner, _NEW_USER)
    system_call(number, network, _NEW_NETWORK)


def _take_all_addresses() -> None:
    """Adds local routes for all addresses on the loopback interface, and lets every port be bound without rights."""
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w", encoding="ascii") as file:
        file.write("0")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        for family in (socket.AF_INET, socket.AF_INET6):
            message = struct.pack("=BBBBBBBBI", family, 0, 0, 0, _TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL, 0)
            message += struct.pack("=HHI", 8, _OUTPUT_INTERFACE, socket.if_nametoindex("lo"))
            link.send(struct.pack("=IHHII", 16 + len(message), _NEW_ROUTE, _ROUTE_FLAGS, 1, 0) + message)
            error = struct.unpack("=i", link.recv(4096)[16:20])[0]
            if error and family == socket.AF_INET:  # a kernel without IPv6 has no addresses to take
                raise OSError(-error, os.strerror(-error))


def _listen(port: int, address: str) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(_BACKLOG)
    return listener


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
