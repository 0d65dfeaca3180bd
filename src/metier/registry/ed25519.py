"""Ed25519 signatures of releases.

The signed statement contains kind, name, version and digest of the contents in the DSSE encoding, so that a signature is valid
for one release only.
"""

from __future__ import annotations

import base64
import hashlib
import json

from metier.errors import RefusedError, UsageError

__all__ = ["key_id", "new_signing_key", "public_key", "release_statement", "sign_statement", "verify_signature"]

_TYPE = "application/vnd.metier.release+json"


def release_statement(*, kind: str, name: str, version: str, digest: str) -> bytes:
    """Returns the signed bytes: the DSSE pre-authentication encoding of the release."""
    body = json.dumps({"digest": digest, "kind": kind, "name": name, "version": version}, sort_keys=True, separators=(",", ":"))
    return b"DSSEv1 %d %s %d %s" % (len(_TYPE), _TYPE.encode(), len(body.encode()), body.encode())


def key_id(public: str) -> str:
    return hashlib.sha256(_raw(public, 32, "key")).hexdigest()[:16]


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
        Ed25519PublicKey.from_public_bytes(_raw(public, 32, "key")).verify(_raw(signature, 64, "signature"), message)
    except (InvalidSignature, ValueError):
        raise RefusedError("the signature does not match this release", rule="signature",
                      hint="sign its kind, name, version and digest with the registered key") from None  # fmt: skip


def _raw(text: str, size: int, what: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    if len(data) != size:
        raise UsageError(f"invalid Ed25519 {what}", hint=f"use {size} bytes in base64")
    return data
