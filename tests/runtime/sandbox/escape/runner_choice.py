"""The runner that the escape suite attacks: the sandbox, or containers if METIER_ESCAPE_RUNNER says so.

Standard library and metier only: callers that the suite starts import it too.
"""

from __future__ import annotations

import os
from typing import Any

from metier.runtime import ContainerRunner
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.runtime.scripts.runner import Runner

__all__ = ["IN_CONTAINERS", "runner_at"]

IN_CONTAINERS = os.environ.get("METIER_ESCAPE_RUNNER") == "container"


def runner_at(level: IsolationLevel, **options: Any) -> Runner | ContainerRunner:  # Any: the options of Runner
    if IN_CONTAINERS:
        return ContainerRunner(interpreters=options.get("interpreters"))
    return Runner(level=level, **options)
