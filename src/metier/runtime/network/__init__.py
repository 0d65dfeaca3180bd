"""The network of a run, by host: patterns, the proxy, the answers to name queries, and the run's own certificates."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .connections import Connection, ConnectionDecision, MaskedSecret, SecretPlace
    from .hosts import GrantedHosts
    from .run_network import RunNetwork

_EXPORTS = {
    "metier.runtime.network.connections": (
        "Connection",
        "ConnectionDecision",
        "MaskedSecret",
        "SecretPlace",
    ),
    "metier.runtime.network.hosts": ("GrantedHosts",),
    "metier.runtime.network.run_network": ("RunNetwork",),
}
__all__ = [
    "Connection",
    "ConnectionDecision",
    "GrantedHosts",
    "MaskedSecret",
    "RunNetwork",
    "SecretPlace",
]

if not TYPE_CHECKING:  # a type checker reads the imports above and finds a misspelled name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
