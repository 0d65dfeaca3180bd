"""A Ray cluster of two nodes on this machine, of which one can be killed."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["RayCluster"]


class RayCluster:
    def __init__(self, *, cores: int = 1) -> None:
        # Workers import the functions of the tests by name.
        root = Path(__file__).parents[2]
        os.environ["PYTHONPATH"] = os.pathsep.join((str(root / "tests"), str(root)))
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        from ray.cluster_utils import Cluster

        # The items are small.
        self._options = {"num_cpus": cores, "object_store_memory": 100 * 1024**2}
        self._cluster: Any = Cluster(initialize_head=True, head_node_args={**self._options, "include_dashboard": False})
        self._second: Any = None
        self.address: str = self._cluster.address

    def add_node(self) -> None:
        self._second = self._cluster.add_node(**self._options)
        self._cluster.wait_for_nodes()

    def kill_node(self) -> None:
        """Kills the raylet and the workers of the second node without a word to the first one."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def __enter__(self) -> Self:
        self.add_node()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._cluster.shutdown()
