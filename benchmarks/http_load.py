"""Sends requests over kept-alive connections as fast as the server responds, in a separate process.

    python -m benchmarks.http_load HOST PORT SECONDS CONNECTIONS < paths

Prints one JSON object: requests per second, and the 50th and 99th percentile of the latency in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle


class LoadConnection(asyncio.Protocol):
    """One connection, which sends the next request after each complete response."""

    def __init__(self, requests: list[bytes], start: int, ends: float) -> None:
        self.requests = cycle(requests[start % len(requests) :] + requests[: start % len(requests)])
        self.ends = ends
        self.times: list[float] = []
        self.failed = 0
        self.done = asyncio.get_running_loop().create_future()
        self._buffer = b""
        self._wanted = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

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
            self._send()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._buffer, self._wanted = b"", -1
        self._sent_at = time.perf_counter()
        if self._sent_at >= self.ends:
            self._transport.close()
            return
        self._transport.write(next(self.requests))


async def main(host: str, port: int, seconds: float, count: int, paths: list[str]) -> None:
    requests = [f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() for path in paths]
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    connections = [LoadConnection(requests, number * 37, started + seconds) for number in range(count)]
    await asyncio.gather(*(loop.create_connection(lambda one=one: one, host, port) for one in connections))  # type: ignore[misc]
    await asyncio.gather(*(each.done for each in connections))
    times = sorted(latency for each in connections for latency in each.times)
    taken = time.perf_counter() - started
    print(json.dumps({
        "rps": len(times) / taken, "p50": times[len(times) // 2] * 1000, "p99": times[len(times) * 99 // 100] * 1000,
        "answers": len(times), "failed": sum(each.failed for each in connections),
    }))  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.stdin.read().split()))
