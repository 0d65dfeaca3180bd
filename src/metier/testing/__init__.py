"""Fakes, builders and conformance suites that we ship: what we test our own implementations with, for yours.

A suite is a class of pytest methods. Subclass it, say how to make one of yours, and pytest does the rest:

    class TestMyStore(StoreConformance):
        def new_store(self, folder): return MyStore(folder / "sessions.db")
"""

from .approvals import ApprovalsConformance
from .files import FilesContract
from .machine import FakeMachine
from .runners import FakeRunner, RunnerConformance, run_now
from .sessions import Recorder, Ticking, skill_folder
from .stores import StoreConformance

__all__ = [
    "ApprovalsConformance",
    "FakeMachine",
    "FakeRunner",
    "FilesContract",
    "Recorder",
    "RunnerConformance",
    "StoreConformance",
    "Ticking",
    "run_now",
    "skill_folder",
]
