"""Ed25519 signatures of releases and of lists of advisories, in the DSSE encoding.

The statement of a release contains kind, name, version and digest of the contents, so that a signature is valid for one release
only. The type in the encoding separates releases from lists.
"""

from __future__ import annotations

import base64
import hashlib
import json

from metier.errors import RefusedError, UsageError

__all__ = ["dsse", "key_id", "new_signing_key", "public_key", "release_statement", "sign_statement", "verify_signature"]

_TYPE = "application/vnd.metier.release+json"
_PRIME = 2**255 - 19
_SMALL_ORDER = (
    0,
    1,
    _PRIME - 1,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
)
"""The y coordinates of the eight points of small order. With such a key, one signature is valid for many messages."""


def release_statement(*, kind: str, name: str, version: str, digest: str) -> bytes:
    """Returns the signed bytes: the DSSE pre-authentication encoding of the release."""
    body = json.dumps({"digest": digest, "kind": kind, "name": name, "version": version}, sort_keys=True, separators=(",", ":"))
    return dsse(_TYPE, body.encode())


def dsse(kind: str, body: bytes) -> bytes:
    """Returns the DSSE pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(body), body)


def key_id(public: str) -> str:
    return hashlib.sha256(_public_raw(public)).hexdigest()[:16]


def new_signing_key() -> tuple[str, str]:
    """Returns a private and a public key in base64."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    secret = base64.b64encode(private.private_bytes_raw()).decode()
    return secret, public_key(secret)


def public_key(private: str) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(_raw(private, 32, "key"))
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def sign_statement(private: str, message: bytes) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return base64.b64encode(Ed25519PrivateKey.from_private_bytes(_raw(private, 32, "key")).sign(message)).decode()


def verify_signature(public: str, signature: str, message: bytes) -> None:
    """Raises RefusedError if the signature is not valid for these bytes and this key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(_public_raw(public)).verify(_raw(signature, 64, "signature"), message)
    except (InvalidSignature, ValueError):
        raise RefusedError("the signature does not match this release", rule="signature",
                      hint="sign its kind, name, version and digest with the registered key") from None  # fmt: skip


def _public_raw(text: str) -> bytes:
    """Returns the 32 bytes of a public key. Raises UsageError for a point of small order or a second encoding of a point."""
    raw = _raw(text, 32, "key")
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _PRIME or y in _SMALL_ORDER:
        raise UsageError("the Ed25519 key is not secure", hint="make a new one with `metier registry key new`")
    return raw


def _raw(text: str, size: int, what: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    if len(data) != size:
        raise UsageError(f"invalid Ed25519 {what}", hint=f"use {size} bytes in base64")
    return data
