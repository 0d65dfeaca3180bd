"""Containers make the promises of the conformance suite, with the system folders of this machine and with an image."""

from __future__ import annotations

import pytest

from metier.runtime import ScriptRunner
from metier.runtime.containers import ContainerRunner
from metier.testing import RunnerConformance

BEST = ContainerRunner().best()


@pytest.mark.skipif(BEST is None, reason="this machine has no container engine that works")
class TestContainerRunner(RunnerConformance):
    def new_runner(self) -> ScriptRunner:
        return ContainerRunner()
