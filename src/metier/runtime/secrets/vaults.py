"""Where the values of secrets are kept: the system's keyring, or the file itself, with or without a passphrase."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from metier.errors import RefusedError, UnavailableError
from metier.extras import install_command

from .stored_secret import StoredSecret

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

__all__ = [
    "AskPassphrase",
    "KeyringVault",
    "PassphraseVault",
    "PlainVault",
    "Vault",
    "VaultKind",
    "find_keyring",
    "has_system_keyring",
]

_SERVICE = "metier"
_SALT_BYTES, _NONCE_BYTES, _KEY_BYTES = 16, 12, 32
_SYSTEM_PRIORITY = 1.0
"""The library recommends backends of this priority or more."""
_COST, _BLOCK = 1 << 15, 8

AskPassphrase = Callable[[bool], str]
"""Asks the user for the passphrase; True: for a new one, which is typed twice."""


class VaultKind(StrEnum):
    KEYRING = "keyring"
    FILE = "file"
    PASSPHRASE = "passphrase"  # noqa: S105  a kind of vault


class Vault(Protocol):
    def seal(self, secret: StoredSecret, value: str) -> str:
        """Keeps the value; returns the text that stands for it in the file."""

    def open(self, secret: StoredSecret, sealed: str) -> str: ...

    def forget(self, sealed: str) -> None: ...


class PlainVault:
    """The value is in the file, which only the user can read."""

    def seal(self, secret: StoredSecret, value: str) -> str:  # noqa: ARG002
        return base64.b64encode(value.encode()).decode()

    def open(self, secret: StoredSecret, sealed: str) -> str:
        try:
            return base64.b64decode(sealed, validate=True).decode()
        except ValueError:
            raise _changed(secret) from None

    def forget(self, sealed: str) -> None:
        pass


class KeyringVault:
    """The value is in the keyring, under a random name that the file holds."""

    def __init__(self, backend: KeyringBackend) -> None:
        self._backend = backend

    def seal(self, secret: StoredSecret, value: str) -> str:
        name = secrets.token_hex(16)
        self._do(lambda: self._backend.set_password(_SERVICE, name, json.dumps([_bound(secret), value])))
        return name

    def open(self, secret: StoredSecret, sealed: str) -> str:
        kept = self._do(lambda: self._backend.get_password(_SERVICE, sealed))
        if kept is None:
            raise UnavailableError(f"{secret.name} is not in the keyring", hint=f"run `metier secret set {secret.name}`",
                                   retryable=False)  # fmt: skip
        try:
            bound, value = json.loads(kept)
        except (ValueError, TypeError):
            raise _changed(secret) from None
        if bound != _bound(secret):
            # Otherwise a change of the file would send the value elsewhere.
            raise _changed(secret)
        return str(value)

    def forget(self, sealed: str) -> None:
        try:
            self._do(lambda: self._backend.delete_password(_SERVICE, sealed))
        except UnavailableError:
            pass  # it is gone, or the keyring is: the file no longer names it

    def _do(self, action: Callable[[], str | None]) -> str | None:
        from keyring.errors import KeyringError

        try:
            return action()
        except KeyringError as error:
            raise UnavailableError(
                f"the keyring did not answer: {error}", hint="unlock it, or run `metier config set secrets.store file`"
            ) from None


class PassphraseVault:
    """The value is in the file, encrypted by AES-GCM with a key that scrypt makes of a passphrase."""

    def __init__(self, salt: bytes, check: str, ask: AskPassphrase | None) -> None:
        if find_spec("cryptography") is None:
            hint = f"run `{install_command('secrets')}`"
            raise UnavailableError("a passphrase needs packages that are not installed", hint=hint, retryable=False)
        self.salt = salt or secrets.token_bytes(_SALT_BYTES)
        self.check = check
        """A known text, sealed: it shows whether a passphrase is right."""
        self._ask = ask
        self._key = b""

    def seal(self, secret: StoredSecret, value: str) -> str:
        return self._encrypt(value, _bound(secret))

    def open(self, secret: StoredSecret, sealed: str) -> str:
        from cryptography.exceptions import InvalidTag

        try:
            return self._decrypt(sealed, _bound(secret))
        except (InvalidTag, ValueError):
            raise _changed(secret) from None

    def forget(self, sealed: str) -> None:
        pass

    def _unlocked(self) -> bytes:
        if not self._key:
            if self._ask is None:
                raise RefusedError("the secrets are locked with a passphrase", rule="secrets",
                                   hint="run the command in a terminal, or set METIER_SECRETS_PASSPHRASE")  # fmt: skip
            self._key = self._derive(self._ask(not self.check))
            self._verify()
        return self._key

    def _verify(self) -> None:
        from cryptography.exceptions import InvalidTag

        if not self.check:
            self.check = self._encrypt(_SERVICE, "check")
        try:
            self._decrypt(self.check, "check")
        except (InvalidTag, ValueError):
            self._key = b""
            raise RefusedError("this is not the passphrase of your secrets", rule="secrets", hint="try again") from None

    def _derive(self, passphrase: str) -> bytes:
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        return Scrypt(salt=self.salt, length=_KEY_BYTES, n=_COST, r=_BLOCK, p=1).derive(passphrase.encode())

    def _encrypt(self, text: str, bound: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return base64.b64encode(nonce + AESGCM(self._unlocked()).encrypt(nonce, text.encode(), bound.encode())).decode()

    def _decrypt(self, sealed: str, bound: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        data = base64.b64decode(sealed)
        return AESGCM(self._unlocked()).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], bound.encode()).decode()


def find_keyring() -> KeyringBackend | None:
    """Returns the keyring of the system, if the library is installed and one can be used."""
    if find_spec("keyring") is None:
        return None
    import keyring
    from keyring.backends import chainer, fail, null

    backend = keyring.get_keyring()
    if isinstance(backend, fail.Keyring | null.Keyring):
        return None
    return None if isinstance(backend, chainer.ChainerBackend) and not backend.backends else backend


def has_system_keyring() -> bool:
    """Returns True for a keyring of the system. Files in clear, which some packages add to the library, do not count."""
    backend = find_keyring()
    if backend is None:
        return False
    from keyring.backends import chainer

    first = backend.backends[0] if isinstance(backend, chainer.ChainerBackend) else backend
    return float(first.priority) >= _SYSTEM_PRIORITY


def _bound(secret: StoredSecret) -> str:
    """Everything about a secret that decides where it goes."""
    return json.dumps([secret.name, secret.skill, secret.hosts, secret.places, secret.in_clear])


def _changed(secret: StoredSecret) -> RefusedError:
    return RefusedError(f"the entry of {secret.name} was changed outside metier", rule="secrets",
                        hint=f"run `metier secret set {secret.name}` again")  # fmt: skip
