"""Signing keys of namespaces, and signatures of releases."""

from __future__ import annotations

from collections.abc import Callable

from metier.errors import NotFoundError, UnavailableError, UsageError
from metier.registry.ed25519 import key_id, release_statement, verify_signature
from metier.spec import is_name

from .access import Caller, PackageAccess, Right
from .protocols import RegistryStore
from .records import Millis, Package, PackageKind, Release, Signature, SigningKey

__all__ = ["LARGEST_BUNDLE", "Signatures", "verified_identity"]

LARGEST_BUNDLE = 100_000


class Signatures:
    def __init__(self, store: RegistryStore, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._access = PackageAccess(store)
        self._clock = clock

    async def keys(self, namespace: str) -> list[SigningKey]:
        """Returns all keys, also revoked ones, which clients do not trust."""
        return await self._store.keys(namespace)

    async def add_key(self, caller: Caller, namespace: str, public: str, *, note: str = "") -> SigningKey:
        if not is_name(namespace):
            raise UsageError(f"invalid namespace {namespace[:80]!r}", hint="use a-z, 0-9 and single hyphens")
        caller.require(caller.may(Right.MANAGE, namespace), f"register keys of {namespace!r}", scope=f"publish:{namespace}")
        now, keyid = self._clock(), key_id(public)
        event = caller.event(now, "key-add", f"namespace:{namespace}", keyid)
        return await self._store.add_key(SigningKey(0, namespace, keyid, public, note[:200], now, None), event=event)

    async def revoke_key(self, caller: Caller, namespace: str, keyid: str) -> None:
        caller.require(caller.may(Right.MANAGE, namespace), f"revoke keys of {namespace!r}", scope=f"publish:{namespace}")
        event = caller.event(self._clock(), "key-revoke", f"namespace:{namespace}", keyid[:64])
        if not await self._store.revoke_key(namespace, keyid, event=event):
            raise NotFoundError(f"{namespace} has no key {keyid[:64]!r}", hint="see its keys")

    async def sign(self, caller: Caller, kind: PackageKind, name: str, version: str, *, keyid: str, payload: str) -> Signature:
        """Stores a signature if an active key of an owner made it for exactly this release."""
        package, owners = await self._access.allowed(caller, Right.MANAGE, kind, name, "sign releases of")
        release = await self._release(package, version)
        keys = [key for owner in owners for key in await self._store.keys(owner) if key.revoked is None and key.keyid == keyid]
        if not keys:
            raise NotFoundError(f"no owner of {name} has the key {keyid[:64]!r}", hint="metier registry key register NAMESPACE")
        verify_signature(
            keys[0].public, payload, release_statement(kind=kind, name=name, version=release.version, digest=release.digest)
        )
        signature = Signature(release.version, "ed25519", keys[0].namespace, keyid, payload, self._clock())
        event = caller.event(signature.created, "sign", f"{kind}:{name}", f"{release.version} {keyid}")
        await self._store.sign(release.id, signature, event=event)
        return signature

    async def sign_by_bundle(self, caller: Caller, kind: PackageKind, name: str, version: str, bundle: str) -> Signature:
        """Stores a sigstore bundle if it is valid."""
        package, _ = await self._access.allowed(caller, Right.MANAGE, kind, name, "sign releases of")
        release = await self._release(package, version)
        if len(bundle) > LARGEST_BUNDLE:
            raise UsageError("the bundle is too large", hint=f"the limit is {LARGEST_BUNDLE:,} bytes")
        stated = release_statement(kind=kind, name=name, version=release.version, digest=release.digest)
        signer = verified_identity(bundle, stated)
        signature = Signature(release.version, "sigstore", signer, "sigstore", bundle, self._clock())
        event = caller.event(signature.created, "sign", f"{kind}:{name}", f"{release.version} {signer}")
        await self._store.sign(release.id, signature, event=event)
        return signature

    async def _release(self, package: Package, version: str) -> Release:
        """Returns a release also before it is online: its publisher signs it right after the upload."""
        release = await self._store.any_release(package.id, version)
        if release is None:
            raise NotFoundError(f"{package.name} has no version {version[:80]!r}", hint=f"see the versions of {package.name}")
        return release


def verified_identity(bundle: str, stated: bytes) -> str:
    """Verifies a bundle and returns its signer. Raises UnavailableError if sigstore is not installed."""
    try:
        from sigstore.models import Bundle
        from sigstore.verify import Verifier
        from sigstore.verify.policy import UnsafeNoOp
    except ImportError:
        raise UnavailableError(
            "this registry cannot verify sigstore bundles", hint="install sigstore on the server, or sign with a key",
            retryable=False,
        ) from None  # fmt: skip
    from cryptography.x509 import SubjectAlternativeName
    from sigstore.errors import Error

    try:
        parsed = Bundle.from_json(bundle)
        # The registry shows the identity; clients decide whether they trust it.
        Verifier.production(offline=True).verify_artifact(stated, parsed, UnsafeNoOp())
        names = parsed.signing_certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
        return str(next(iter(names)).value)[:200]
    except (Error, ValueError) as error:
        raise UsageError(f"invalid bundle: {str(error)[:200]}", hint="sign the statement of this release") from None
