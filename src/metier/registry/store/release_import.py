"""Adds releases from elsewhere with their keys and signatures, all in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from metier.errors import RefusedError
from metier.registry.domain.access import Caller
from metier.registry.domain.protocols import Effect
from metier.registry.domain.records import Millis, ReleaseDraft, Signature, SigningKey
from metier.values import dataclass

from .accounts import read_keys, write_key
from .engine import Transaction
from .moderation import write_signature
from .packages import ARCHIVES_LOCK
from .sql_store import SqlStore

__all__ = ["ImportedRelease", "import_releases"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRelease:
    draft: ReleaseDraft
    signatures: tuple[Signature, ...]
    """Verified."""
    keep_archive: Effect
    """Writes the archive if it is not stored; see `PackageStore.publish`."""


class _Undo(Exception):  # noqa: N818  # not an error: it ends a transaction that must not be committed
    pass


async def import_releases(
    store: SqlStore, caller: Caller, releases: Sequence[ImportedRelease], keys: Sequence[SigningKey],
    *, accept_keys: bool, at: Millis, dry_run: bool,
) -> tuple[list[bool], list[SigningKey]]:  # fmt: skip
    """Returns which releases are new, and the keys that are. A dry run raises the same errors and changes nothing.

    Raises ConflictError for a version with other contents, and RefusedError for a name of another namespace, and for a key
    that is revoked here or, unless `accept_keys`, comes to a namespace that has other keys.
    """
    try:
        async with store.engine.transaction(durable=not dry_run) as transaction:
            await store.engine.lock(transaction, ARCHIVES_LOCK, shared=True)
            new_keys = [key for key in keys if await _is_new(transaction, key, accept_keys=accept_keys)]
            for key in new_keys:
                await write_key(transaction, key, event=caller.event(at, "key-add", f"namespace:{key.namespace}", key.keyid))
            created = [await _add(store, transaction, caller, release, at) for release in releases]
            if dry_run:
                raise _Undo
    except _Undo:
        pass
    return created, new_keys


async def _is_new(transaction: Transaction, key: SigningKey, *, accept_keys: bool) -> bool:
    present = await read_keys(transaction, key.namespace)
    if same := next((each for each in present if each.keyid == key.keyid), None):
        if same.revoked is not None:
            raise RefusedError(
                f"the key {key.keyid} of {key.namespace} is revoked in this registry", rule="key-revoked",
                hint="ask for a bundle that is signed with a newer key",
            )  # fmt: skip
        return False
    if not accept_keys and any(each.revoked is None for each in present):
        raise RefusedError(
            f"{key.namespace} has other keys in this registry than {key.keyid}", rule="unknown-key",
            hint="ask its owners whether the key is theirs; then use --accept-keys, or --namespace for another namespace",
        )  # fmt: skip
    return True


async def _add(store: SqlStore, transaction: Transaction, caller: Caller, release: ImportedRelease, at: Millis) -> bool:
    draft = release.draft
    package, stored, created = await store.publish_in(transaction, draft, (draft.namespace,), release.keep_archive)
    for signature in release.signatures:
        known = await transaction.rows(
            "select 1 from signature where release = ? and kind = ? and keyid = ? and payload = ?",
            (stored.id, signature.kind, signature.keyid, signature.payload),
        )
        if not known:
            event = caller.event(at, "sign", f"{draft.kind}:{draft.name}", f"{stored.version} {signature.keyid}")
            await write_signature(transaction, package.id, stored.id, signature, event=event)
    return created
