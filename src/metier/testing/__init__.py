"""Fakes, builders and conformance suites that we ship: what we test our own implementations with, for yours.

A suite is a class of pytest methods. Subclass it, say how to make one of yours, and pytest does the rest:

    class TestMyStore(StoreConformance):
        def new_store(self, folder): return MyStore(folder / "sessions.db")

`ModelServer` is a model that answers from a script over real HTTP, for tests of whatever talks to one.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .adapters import AdapterConformance
    from .approvals import ApprovalsConformance
    from .blobs import BlobsConformance
    from .files import FilesContract
    from .machine import FakeMachine
    from .model import Call, Fault, ModelRequest, ModelServer, Said, calls, fails, says
    from .registry import RegistryStoreConformance
    from .runners import FakeRunner, RunnerConformance, run_now
    from .sessions import Recorder, Ticking, skill_folder
    from .stores import StoreConformance

_EXPORTS = {
    "metier.testing.adapters": ("AdapterConformance",),
    "metier.testing.approvals": ("ApprovalsConformance",),
    "metier.testing.blobs": ("BlobsConformance",),
    "metier.testing.files": ("FilesContract",),
    "metier.testing.machine": ("FakeMachine",),
    "metier.testing.model": ("Call", "Fault", "ModelRequest", "ModelServer", "Said", "calls", "fails", "says"),
    "metier.testing.registry": ("RegistryStoreConformance",),
    "metier.testing.runners": ("FakeRunner", "RunnerConformance", "run_now"),
    "metier.testing.sessions": ("Recorder", "Ticking", "skill_folder"),
    "metier.testing.stores": ("StoreConformance",),
}
__all__ = [
    "AdapterConformance",
    "ApprovalsConformance",
    "BlobsConformance",
    "Call",
    "FakeMachine",
    "FakeRunner",
    "Fault",
    "FilesContract",
    "ModelRequest",
    "ModelServer",
    "Recorder",
    "RegistryStoreConformance",
    "RunnerConformance",
    "Said",
    "StoreConformance",
    "Ticking",
    "calls",
    "fails",
    "run_now",
    "says",
    "skill_folder",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
