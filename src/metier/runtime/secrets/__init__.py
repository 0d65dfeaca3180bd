"""Secrets of skills: stores, what a skill needs, and the removal of values from output."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .names import check_secret_name, is_secret_name
    from .needs import NeededVariable, needed_variables
    from .redaction import redact
    from .store import SecretStore
    from .stored_secret import MemorySecrets, SecretSource, StoredSecret
    from .vaults import VaultKind

_EXPORTS = {
    "metier.runtime.secrets.names": ("check_secret_name", "is_secret_name"),
    "metier.runtime.secrets.needs": ("NeededVariable", "needed_variables"),
    "metier.runtime.secrets.redaction": ("redact",),
    "metier.runtime.secrets.store": ("SecretStore",),
    "metier.runtime.secrets.stored_secret": ("MemorySecrets", "SecretSource", "StoredSecret"),
    "metier.runtime.secrets.vaults": ("VaultKind",),
}
__all__ = [
    "MemorySecrets",
    "NeededVariable",
    "SecretSource",
    "SecretStore",
    "StoredSecret",
    "VaultKind",
    "check_secret_name",
    "is_secret_name",
    "needed_variables",
    "redact",
]

if not TYPE_CHECKING:  # a type checker reads the imports above and finds a misspelled name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
