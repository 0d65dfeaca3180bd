"""The signers that a source demands: `[skills.sources.NAME.signature]`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from metier.errors import ConfigError
from metier.values import dataclass

__all__ = ["SignaturePolicy", "read_signature_policy"]

_LISTS = ("keys", "certificates", "identities")
_TEXTS = ("issuer", "trusted_root")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignaturePolicy:
    """A skill must have a signature of one of these signers."""

    source: str
    """The name of the source, for messages."""
    keys: tuple[str, ...] = ()
    """PEM files of public keys."""
    public: tuple[str, ...] = ()
    """Ed25519 keys in base64, from `keys` of the source."""
    certificates: tuple[str, ...] = ()
    """PEM files of certificate authorities."""
    identities: tuple[str, ...] = ()
    """Of Sigstore certificates: addresses of people or workflows. `*` stands for any text."""
    issuer: str = ""
    """The service that has confirmed these identities."""
    trusted_root: str = ""
    """A file with the certificates and logs of a Sigstore instance; without it, those of the public one count."""

    @property
    def table(self) -> str:
        return f"[skills.sources.{self.source}{'.signature' if self.keys or self.certificates or self.identities else ''}]"

    @property
    def key(self) -> str:
        """A text that changes with the policy, for what was remembered under it."""
        return "|".join((*self.keys, *self.public, *self.certificates, *self.identities, self.issuer, self.trusted_root))

    def accepts(self, identity: str) -> bool:
        return any(re.fullmatch(".*".join(map(re.escape, text.split("*"))), identity) for text in self.identities)


def read_signature_policy(value: object, source: str) -> SignaturePolicy | None:
    """Reads the table. Raises ConfigError."""
    if value is None:
        return None
    where = f"skills.sources.{source}.signature"
    table: Mapping[str, object] = value if isinstance(value, dict) else {"": value}
    if unknown := [name for name in table if name not in (*_LISTS, *_TEXTS)]:
        known = ", ".join((*_LISTS, *_TEXTS))
        raise ConfigError(f"unknown key {unknown[0]!r}", file=where, hint=f"it has {known}")
    lists = {name: table.get(name, []) for name in _LISTS}
    texts = {name: table.get(name, "") for name in _TEXTS}
    if not all(isinstance(one, list) and all(isinstance(text, str) and text for text in one) for one in lists.values()):
        raise ConfigError("keys, certificates and identities must be lists of texts", file=where, hint='keys = ["~/acme.pem"]')
    if not all(isinstance(one, str) for one in texts.values()) or not any(lists.values()):
        raise ConfigError("a signature needs keys, certificates or identities", file=where, hint='keys = ["~/acme.pem"]')
    if bool(lists["identities"]) != bool(texts["issuer"]):
        hint = 'issuer = "https://token.actions.githubusercontent.com" and identities = ["https://github.com/acme/*"]'
        raise ConfigError("identities need an issuer, and an issuer needs identities", file=where, hint=hint)
    for name in (*lists["keys"], *lists["certificates"], texts["trusted_root"]):  # type: ignore[misc]
        if name and not str(name).startswith(("/", "~/")):
            raise ConfigError(f"{name!r} is not an absolute path", file=where, hint="write /path/to/FILE or ~/FILE")
    return SignaturePolicy(
        source=source, **{name: tuple(one) for name, one in lists.items()}, **texts  # type: ignore[arg-type]
    )  # fmt: skip
