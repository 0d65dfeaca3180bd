"""Checks the signatures of releases, for sources that require them, before their bytes are fetched.

Keys in the user's configuration prove more than keys from the registry: a registry that lies about its releases can lie about
its keys too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.parse import quote

from metier.errors import RefusedError
from metier.extras import MissingExtraError
from metier.install.fetch.credentials import RegistrySource
from metier.registry import key_id, registry_url, release_statement, verify_signature

__all__ = ["Signed", "check_signature"]

Ask = Callable[[str], Mapping[str, Any]]  # Any: untrusted JSON


class Signed(Protocol):
    @property
    def version(self) -> str: ...

    @property
    def digest(self) -> str: ...


def check_signature(name: str, release: Signed, source: RegistrySource, ask: Ask, base: str) -> str:
    """Returns the namespace whose signature is valid. Raises RefusedError if the source requires another, or none is valid."""
    if find_spec("cryptography") is None:
        raise MissingExtraError(
            f"{source.name} requires signatures, and the package to check them is not installed", extra="registry"
        )
    stated = release_statement(kind="skill", name=name, version=release.version, digest=release.digest)
    rows = ask(f"{base}/versions/{quote(release.version, safe='')}").get("signatures")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("kind") == "ed25519" and release.digest:
            signer = str(row.get("signer"))
            if any(_holds(key, row, stated) for key in source.keys or _registered(signer, base, ask)):
                return signer
    wanted = "by a key that skills.sources names" if source.keys else "by a key of its namespace"
    raise RefusedError(f"{name} {release.version} is not signed {wanted}", rule="unsigned",
                  hint=f"ask its author to sign it, or change [skills.sources.{source.name}]")  # fmt: skip


def _holds(key: str, row: Mapping[str, Any], stated: bytes) -> bool:
    if key_id(key) != row.get("keyid"):
        return False
    try:
        verify_signature(key, str(row.get("payload")), stated)
    except RefusedError:
        return False
    return True


def _registered(signer: str, base: str, ask: Ask) -> list[str]:
    site = registry_url(base.rpartition("/")[0])
    keys = ask(f"{site}/namespaces/{quote(signer, safe='')}/keys").get("keys")
    rows = keys if isinstance(keys, list) else []
    return [str(row.get("public")) for row in rows if isinstance(row, dict) and not row.get("revoked")]
