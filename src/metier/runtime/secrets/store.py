"""The user's secrets: a private file with their names, hosts and skills; the values are in a vault."""

from __future__ import annotations

import base64
import json
import os
import stat
from typing import Any

from metier.errors import ConfigError, NotFoundError, UnavailableError
from metier.extras import install_command
from metier.runtime.network.connections import SecretPlace
from metier.sources import file_lock, read_regular, replace_text
from metier.spec import parse_host
from metier.values import dataclass, field, replace

from .names import check_secret_name
from .stored_secret import StoredSecret
from .vaults import AskPassphrase, KeyringVault, PassphraseVault, PlainVault, Vault, VaultKind, find_keyring, has_system_keyring

__all__ = ["SecretStore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    secret: StoredSecret
    vault: VaultKind
    sealed: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    rows: tuple[_Row, ...] = ()
    salt: bytes = b""
    check: str = ""


class SecretStore:
    """`kind` is the vault of new values; None takes the keyring if there is one, else the file."""

    def __init__(self, file: str, *, kind: VaultKind | None = None, ask: AskPassphrase | None = None) -> None:
        self.file = file
        self._kind = kind
        self._ask = ask
        self._vaults: dict[VaultKind, Vault] = {}

    def all(self) -> tuple[tuple[StoredSecret, VaultKind], ...]:
        """Returns every secret without its value, and its vault. Asks for nothing."""
        return tuple((row.secret, row.vault) for row in self._read().rows)

    def find(self, skill: str, name: str) -> StoredSecret | None:
        named = {row.secret.skill: row.secret for row in self._read().rows if row.secret.name == name}
        return named.get(skill) or named.get("")

    def value(self, secret: StoredSecret) -> str:
        contents = self._read()
        for row in contents.rows:
            if row.secret == secret:
                return self._vault(row.vault, contents).open(secret, row.sealed)
        raise NotFoundError(f"no secret is named {secret.name}", hint=f"run `metier secret set {secret.name}`")

    def set(self, secret: StoredSecret, value: str) -> VaultKind:
        """Stores a secret in the place of one with the same name and skill. Returns the vault that holds the value."""
        check_secret_name(secret.name)
        hosts = tuple(sorted({str(parse_host(host)) for host in secret.hosts}))
        secret = replace(secret, hosts=hosts)
        with file_lock(self.file):
            contents = self._read()
            kind = self._kind or (VaultKind.KEYRING if has_system_keyring() else VaultKind.FILE)
            vault = self._vault(kind, contents)
            row = _Row(secret=secret, vault=kind, sealed=vault.seal(secret, value))
            old = [each for each in contents.rows if _key(each.secret) == _key(secret)]
            kept = tuple(each for each in contents.rows if each not in old)
            self._write(replace(contents, rows=(*kept, row)))
            for each in old:
                self._forget(each, contents)
        return kind

    def remove(self, name: str, skill: str | None = None) -> tuple[StoredSecret, ...]:
        """Removes the secrets of this name, or only the one for a skill; returns them."""
        with file_lock(self.file):
            contents = self._read()
            gone = [row for row in contents.rows if row.secret.name == name and skill in (None, row.secret.skill)]
            if gone:
                self._write(replace(contents, rows=tuple(row for row in contents.rows if row not in gone)))
            for row in gone:
                self._forget(row, contents)
        return tuple(row.secret for row in gone)

    def _forget(self, row: _Row, contents: _Contents) -> None:
        if row.vault is VaultKind.KEYRING and find_keyring():
            self._vault(row.vault, contents).forget(row.sealed)

    def _vault(self, kind: VaultKind, contents: _Contents) -> Vault:
        if kind not in self._vaults:
            self._vaults[kind] = self._new_vault(kind, contents)
        return self._vaults[kind]

    def _new_vault(self, kind: VaultKind, contents: _Contents) -> Vault:
        if kind is VaultKind.FILE:
            return PlainVault()
        if kind is VaultKind.PASSPHRASE:
            return PassphraseVault(contents.salt, contents.check, self._ask)
        backend = find_keyring()
        if backend is None:
            raise UnavailableError(
                "this machine has no keyring that can be used",
                hint=f"run `{install_command('secrets')}`, or `metier config set secrets.store file`",
                retryable=False,
            )
        return KeyringVault(backend)

    def _read(self) -> _Contents:
        try:
            if stat.S_IMODE(os.stat(self.file).st_mode) & 0o077:
                raise ConfigError("other users can read it", file=self.file, hint=f"run `chmod 600 {self.file}`")
            data: dict[str, Any] = json.loads(read_regular(self.file))
            rows, salt = tuple(map(_row, data["secrets"])), base64.b64decode(data.get("salt", ""), validate=True)
            return _Contents(rows=rows, salt=salt, check=str(data.get("check", "")))
        except FileNotFoundError:
            return _Contents()
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, ConfigError):
                raise
            # Without the text of the error: it may quote the file.
            raise ConfigError("the list of secrets is damaged", file=self.file,
                              hint="delete the file and set your secrets again") from None  # fmt: skip

    def _write(self, contents: _Contents) -> None:
        vault = self._vaults.get(VaultKind.PASSPHRASE)
        salt, check = contents.salt, contents.check
        if isinstance(vault, PassphraseVault) and vault.check:
            salt, check = vault.salt, vault.check
        rows = [
            {
                "name": row.secret.name, "skill": row.secret.skill, "hosts": row.secret.hosts, "places": row.secret.places,
                "in_clear": row.secret.in_clear, "vault": row.vault, "sealed": row.sealed,
            }
            for row in sorted(contents.rows, key=lambda row: _key(row.secret))
        ]  # fmt: skip
        document = {"version": 1, "salt": base64.b64encode(salt).decode(), "check": check, "secrets": rows}
        replace_text(self.file, json.dumps(document, indent=2) + "\n")


def _row(data: dict[str, Any]) -> _Row:
    secret = StoredSecret(
        name=str(data["name"]), skill=str(data["skill"]), hosts=tuple(map(str, data["hosts"])),
        places=tuple(map(SecretPlace, data["places"])), in_clear=bool(data["in_clear"]),
    )  # fmt: skip
    return _Row(secret=secret, vault=VaultKind(data["vault"]), sealed=str(data["sealed"]))


def _key(secret: StoredSecret) -> tuple[str, str]:
    return secret.name, secret.skill
