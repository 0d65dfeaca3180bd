"""Runs inside a sandbox without a network: starts a program, and carries its connections to one Unix socket outside.

Standard input is a pipe from metier. At its end this process ends, and the sandbox with all processes in it.

python -I -S relay.py PORT SOCKET PROGRAM [WORD...]

Only the standard library is imported, because the interpreter has nothing else there.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading


def main(port: int, outside: str, words: list[str]) -> int:
    threading.Thread(target=_end_with_input, daemon=True).start()
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    threading.Thread(target=_accept, args=(listener, outside), daemon=True).start()
    return subprocess.call(words, stdin=subprocess.DEVNULL)


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(128 + signal.SIGKILL)


def _accept(listener: socket.socket, outside: str) -> None:
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(outside)
        except OSError:
            near.close()
            continue
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=_carry, args=(source, target), daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    status = main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    # Not sys.exit: threads that still carry bytes must not delay the end.
    os._exit(status if status >= 0 else 128 - status)
