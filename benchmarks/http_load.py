"""Sends requests over kept-alive connections as fast as the server responds, in a separate process.

    python -m benchmarks.http_load HOST PORT SECONDS CONNECTIONS [RATE] < paths

With a rate, each connection sends that many requests per second, and latency counts from the time at which a request was due.
Prints one JSON object: requests per second, and the 50th and 99th percentile of the latency in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from itertools import cycle


class LoadConnection(asyncio.Protocol):
    """One connection, which sends the next request after each complete response."""

    def __init__(self, requests: list[bytes], start: int, ends: float, pause: float) -> None:
        self.requests = cycle(requests[start % len(requests) :] + requests[: start % len(requests)])
        self.ends = ends
        self.pause = pause
        self._due = time.perf_counter() + pause * random.random()
        self.times: list[float] = []
        self.failed = 0
        self.done = asyncio.get_running_loop().create_future()
        self._buffer = b""
        self._wanted = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._wait()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._wanted < 0:
            head, found, _ = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            lower = head.lower()
            self.failed += not lower.startswith(b"http/1.1 2")
            place = lower.find(b"content-length:")
            length = int(lower[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            self._wanted = len(head) + 4 + length
        if len(self._buffer) >= self._wanted:
            self.times.append(time.perf_counter() - self._sent_at)
            self._wait()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _wait(self) -> None:
        self._buffer, self._wanted = b"", -1
        now = time.perf_counter()
        if now >= self.ends:
            self._transport.close()
        elif self.pause:
            self._sent_at, self._due = self._due, self._due + self.pause
            asyncio.get_running_loop().call_later(max(0.0, self._sent_at - now), self._send)
        else:
            self._sent_at = now
            self._send()

    def _send(self) -> None:
        self._transport.write(next(self.requests))


async def main(host: str, port: int, seconds: float, count: int, paths: list[str], rate: float) -> None:
    requests = [f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() for path in paths]
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    connections = [
        LoadConnection(requests, number * 37, started + seconds, 1 / rate if rate else 0.0) for number in range(count)
    ]
    await asyncio.gather(*(loop.create_connection(lambda one=one: one, host, port) for one in connections))  # type: ignore[misc]
    await asyncio.gather(*(each.done for each in connections))
    times = sorted(latency for each in connections for latency in each.times)
    taken = time.perf_counter() - started
    print(json.dumps({
        "rps": len(times) / taken, "p50": times[len(times) // 2] * 1000, "p99": times[len(times) * 99 // 100] * 1000,
        "answers": len(times), "failed": sum(each.failed for each in connections),
    }))  # fmt: skip


if __name__ == "__main__":
    chosen = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.stdin.read().split(), chosen))
