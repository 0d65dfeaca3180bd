"""Fakes, builders and conformance suites that we ship: what we test our own implementations with, for yours.

A suite is a class of pytest methods. Subclass it, say how to make one of yours, and pytest does the rest:

    class TestMyStore(SessionStoreConformance):
        def new_store(self, folder): return MyStore(folder / "sessions.db")

`ModelServer` is a model that answers from a script over real HTTP.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .adapters import AdapterConformance
    from .blobs import BlobStoreConformance
    from .fakes import EventRecorder, FakeMachine, FakeRunner, TickingClock, outcome, run_now, skill_folder
    from .files import FilesConformance
    from .model import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, StreamFault, calls, fails, says
    from .registry import RegistryStoreConformance
    from .runtime import RunnerConformance
    from .stores import (
        ApprovalsConformance,
        ConversationStoreConformance,
        SessionStoreConformance,
        StoredApprovalsConformance,
    )

_EXPORTS = {
    "metier.testing.adapters": ("AdapterConformance",),
    "metier.testing.blobs": ("BlobStoreConformance",),
    "metier.testing.fakes": (
        "EventRecorder",
        "FakeMachine",
        "FakeRunner",
        "TickingClock",
        "outcome",
        "run_now",
        "skill_folder",
    ),
    "metier.testing.files": ("FilesConformance",),
    "metier.testing.model": (
        "ModelAnswer",
        "ModelRequest",
        "ModelServer",
        "ScriptedCall",
        "StreamFault",
        "calls",
        "fails",
        "says",
    ),
    "metier.testing.registry": ("RegistryStoreConformance",),
    "metier.testing.runtime": ("RunnerConformance",),
    "metier.testing.stores": (
        "ApprovalsConformance",
        "ConversationStoreConformance",
        "SessionStoreConformance",
        "StoredApprovalsConformance",
    ),
}
__all__ = [
    "AdapterConformance",
    "ApprovalsConformance",
    "BlobStoreConformance",
    "ConversationStoreConformance",
    "EventRecorder",
    "FakeMachine",
    "FakeRunner",
    "FilesConformance",
    "ModelAnswer",
    "ModelRequest",
    "ModelServer",
    "RegistryStoreConformance",
    "RunnerConformance",
    "ScriptedCall",
    "SessionStoreConformance",
    "StoredApprovalsConformance",
    "StreamFault",
    "TickingClock",
    "calls",
    "fails",
    "outcome",
    "run_now",
    "says",
    "skill_folder",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
