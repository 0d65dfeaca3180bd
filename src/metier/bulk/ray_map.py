"""Bulk work on a Ray cluster. Every node needs the same versions of metier and Python.

Ray itself repeats the tasks of a node that died; see docs/adr/0025-bulk-work.md for why there is no scheduler of our own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from metier.errors import MetierError, UnavailableError
from metier.extras import MissingExtraError

from .bulk_map import ItemFailure

__all__ = ["RayMap"]

T = TypeVar("T")
R = TypeVar("R")
_RETRIES = 5
_WAITING_PER_CORE = 3


class RayMap:
    def __init__(self, address: str, *, jobs: int | None = None) -> None:
        self.address = address
        self._jobs = jobs

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R | ItemFailure]]:
        ray = _driver()
        with self._connected(ray):
            task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_call)
            running: dict[Any, int] = {}  # Any: a reference to a result
            left = iter(enumerate(items))
            most = self._jobs or _WAITING_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
            try:
                while True:
                    # A few items at a time: the cluster does not have to hold all of them.
                    while len(running) < most and (entry := next(left, None)) is not None:
                        running[task.remote(function, entry[1])] = entry[0]
                    if not running:
                        return
                    ready, _ = ray.wait(list(running), num_returns=1)
                    for reference in ready:
                        yield running.pop(reference), _result(ray, reference)
            except ConnectionError:
                running.clear()
                raise UnavailableError(
                    f"the Ray cluster at {self.address} has gone", hint="start it again; a journal has the results so far"
                ) from None
            finally:
                for reference in running:
                    with contextlib.suppress(ray.exceptions.RayError, ConnectionError):
                        ray.cancel(reference, force=True)

    @contextlib.contextmanager
    def _connected(self, ray: Any) -> Iterator[None]:  # Any: the module
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._check_server()
        try:
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
            why = " ".join(str(error).split())[:200]
            raise UnavailableError(
                f"cannot use the Ray cluster at {self.address}: {why}", hint="start it, or check the address"
            ) from None
        try:
            self._check_versions(ray)
            yield
        finally:
            ray.shutdown()

    def _check_server(self) -> None:
        """Raises UnavailableError if nothing listens there: Ray would try for a minute, and then end the process."""
        host, _, port = self.address.removeprefix("ray://").rpartition(":")
        if not host:
            return
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError as error:
            raise UnavailableError(
                f"cannot use the Ray cluster at {self.address}: {(error.strerror or str(error)).lower()}",
                hint="start it with `ray start --head`, or check the address",
            ) from None

    def _check_versions(self, ray: Any) -> None:  # Any: the module
        try:
            there = ray.get(ray.remote(max_retries=_RETRIES)(_versions).remote())
        except ray.exceptions.RayError as error:
            why = " ".join(str(error).split())[-200:]
            raise UnavailableError(
                f"the Ray cluster at {self.address} cannot run metier: {why}", hint="install the same metier on every node"
            ) from None  # fmt: skip
        if there != _versions():
            raise UnavailableError(
                f"the Ray cluster at {self.address} has {' and '.join(there)}, this machine {' and '.join(_versions())}",
                hint="install the same versions on every node", retryable=False,
            )  # fmt: skip


def _call(function: Callable[[Any], Any], item: Any) -> tuple[bool, Any]:  # Any: depends on the function
    try:
        return True, function(item)
    except MetierError as error:
        return False, f"{error}; {error.hint}"
    except Exception as error:  # other people's function; reported by the caller
        return False, f"{type(error).__name__}: {error}"


def _result(ray: Any, reference: Any) -> Any:  # Any: depends on the function
    try:
        is_done, value = ray.get(reference)
    except ray.exceptions.RayError as error:
        return ItemFailure(f"its worker ended {_RETRIES + 1} times: {str(error).strip().splitlines()[0]}")
    return value if is_done else ItemFailure(value)


def _versions() -> tuple[str, str]:
    # Imported here: it is the version of the node that is asked for.
    from metier import __version__

    return f"metier {__version__}", f"Python {sys.version_info.major}.{sys.version_info.minor}"


def _driver() -> Any:  # Any: the module
    try:
        import ray
    except ImportError:
        raise MissingExtraError("a Ray cluster needs a package that is not installed", extra="ray") from None
    return ray
