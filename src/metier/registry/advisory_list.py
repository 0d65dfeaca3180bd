"""The signed list of advisories that a registry serves: a DSSE envelope with an Ed25519 signature.

    {"payloadType": "application/vnd.metier.advisories+json", "payload": "…",
     "signatures": [{"keyid": "…", "public": "…", "sig": "…"}]}

The payload has a number that only grows, the day of the signature and the advisories. The envelope names the public key, so
that a client can pin it at first use; afterwards only the pinned key counts.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import msgspec

from metier.errors import MetierError, RefusedError

from .ed25519 import dsse, key_id, public_key, sign_statement, verify_signature
from .wire import AdvisoryRow

__all__ = ["LARGEST_LIST", "AdvisoryList", "OpenedList", "open_list", "sign_list"]

LARGEST_LIST = 4 * 1024 * 1024
_TYPE = "application/vnd.metier.advisories+json"


class AdvisoryList(msgspec.Struct, kw_only=True, frozen=True):
    number: int
    """Grows with every change."""
    dated: str
    """The day of the signature, as 2026-11-19."""
    advisories: Sequence[AdvisoryRow] = ()


class OpenedList(msgspec.Struct, frozen=True):
    contents: AdvisoryList
    public: str
    """The key that has signed it."""


class _Signature(msgspec.Struct):
    keyid: str
    public: str
    sig: str


class _Envelope(msgspec.Struct, rename={"payload_type": "payloadType"}):
    payload_type: str
    payload: str
    signatures: list[_Signature]


def sign_list(contents: AdvisoryList, private: str) -> bytes:
    """Returns the envelope. The same list and key always give the same bytes."""
    payload, public = msgspec.json.encode(contents), public_key(private)
    signature = _Signature(key_id(public), public, sign_statement(private, dsse(_TYPE, payload)))
    return msgspec.json.encode(_Envelope(_TYPE, base64.b64encode(payload).decode(), [signature]))


def open_list(data: bytes, *, server: str, pinned: str = "") -> OpenedList:
    """Verifies an envelope by the pinned key, or by its own if there is none. Raises RefusedError; `server` is named in it."""
    damaged = RefusedError(
        f"{server} sends a list of advisories that its key has not signed", rule="advisories",
        hint="try again later, and tell the registry's administrator",
    )  # fmt: skip
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
        payload, (signature, *_) = base64.b64decode(envelope.payload, validate=True), envelope.signatures
        if envelope.payload_type != _TYPE:
            raise damaged
        if pinned and signature.public != pinned:
            raise RefusedError(
                f"{server} signs its advisories with the key {key_id(signature.public)}, and you know it by the key"
                f" {key_id(pinned)}", rule="advisories",
                hint="if its administrator replaced the key: metier registry advisory trust",
            )  # fmt: skip
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise damaged from None
    try:
        verify_signature(signature.public, signature.sig, dsse(_TYPE, payload))
    except MetierError:
        raise damaged from None
    try:
        return OpenedList(msgspec.json.decode(payload, type=AdvisoryList), signature.public)
    except (msgspec.DecodeError, RecursionError):
        raise RefusedError(
            f"{server} sends a list of advisories in another form", rule="advisories", hint="update metier"
        ) from None
