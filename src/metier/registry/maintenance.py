"""Maintenance of a registry: garbage collection, statistics, tokens and users.

These functions work on the database and the archives directly, without a server.
"""

from __future__ import annotations

import getpass
import os
import socket
from functools import partial

from metier.errors import NotFoundError, plural
from metier.values import dataclass, replace

from .client.credentials import SigningKeyFile
from .domain.access import Caller, local_caller
from .domain.advisories import replace_key
from .domain.invitations import Invitations
from .domain.protocols import BlobStore, RegistryStore
from .domain.records import Millis, RegistryToken, RegistryUser
from .domain.registry import now_millis
from .domain.tokens import Tokens
from .domain.users import Users
from .ed25519 import key_id, public_key
from .location import RegistryLocation
from .server.views import token as token_row
from .wire import TokenRow

__all__ = [
    "GarbageResult",
    "advisory_key",
    "collect_garbage",
    "create_token",
    "delete_expired",
    "delete_unused_archives",
    "invite",
    "list_tokens",
    "list_users",
    "revoke_token",
    "set_user_disabled",
    "shell_user",
    "statistics",
]

GRACE_MS = 24 * 3_600_000
"""Archives are written before the rows that name them, so younger ones are never collected."""
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageResult:
    deleted: int
    bytes: int
    kept: int
    expired: tuple[str, ...] = ()
    """Drafts and yanked prereleases that were deleted, as NAME@VERSION."""


async def collect_garbage(
    location: RegistryLocation, *, dry_run: bool = False, draft_days: int = 0, prerelease_days: int = 0
) -> GarbageResult:
    """Deletes archives that no release names and that were written more than a day ago.

    Before that, deletes drafts that are older than `draft_days`, and prereleases that were yanked more than `prerelease_days`
    ago; 0 keeps them. Other versions are never deleted: a lock may name them.
    """
    async with location.open() as (store, blobs):
        now = now_millis()
        expired = await delete_expired(store, now=now, draft_days=draft_days, prerelease_days=prerelease_days, dry_run=dry_run)
        done = replace(await delete_unused_archives(store, blobs, now=now, dry_run=dry_run), expired=expired)
        if done.deleted and not dry_run:
            details = f"{plural(done.deleted, 'archive')}, {plural(done.bytes, 'byte')}"
            await store.add_event(shell_user().event(now, "gc", "archives", details))
        return done


async def delete_expired(
    store: RegistryStore, *, now: Millis, draft_days: int, prerelease_days: int, dry_run: bool = False
) -> tuple[str, ...]:
    """Returns the releases that are past their time, as NAME@VERSION, and deletes them unless it is a dry run."""
    pairs = await store.expired(
        drafts_before=now - draft_days * _DAY_MS if draft_days else 0,
        yanked_before=now - prerelease_days * _DAY_MS if prerelease_days else 0,
    )
    found = []
    for package, release in pairs:
        event = shell_user().event(now, "expire", f"{package.kind}:{package.name}", f"{release.version} {release.digest}")
        if dry_run or await store.remove_release(release, event=event):
            found.append(f"{package.name}@{release.version}")
    return tuple(found)


async def delete_unused_archives(
    store: RegistryStore, blobs: BlobStore, *, now: Millis, dry_run: bool = False
) -> GarbageResult:
    newest = now - GRACE_MS
    named = {bytes.fromhex(name) async for name in store.archives()}
    deleted = freed = kept = 0
    async for name, written, size in blobs.names():
        unused = bytes.fromhex(name) not in named and written <= newest
        # A publish of the same bytes may have committed since the names were read, so that is checked again.
        if unused and (dry_run or await store.delete_archive(name, partial(blobs.delete, name))):
            deleted, freed = deleted + 1, freed + size
        else:
            kept += 1
    return GarbageResult(deleted=deleted, bytes=freed, kept=kept)


async def statistics(location: RegistryLocation) -> dict[str, int]:
    """Returns the number of packages, releases, downloads and bytes."""
    async with location.open() as (store, _):
        return await store.totals()


async def create_token(
    location: RegistryLocation, holder: str, scopes: tuple[str, ...], *, note: str = "", days: int | None = None
) -> tuple[str, RegistryToken]:
    """Returns the text of a new token, which is not stored, and its record."""
    async with location.open() as (store, _):
        now = now_millis()
        expires = now + days * _DAY_MS if days else None
        return await Tokens(store).create(shell_user(), holder=holder, scopes=scopes, note=note, expires=expires, now=now)


async def list_tokens(location: RegistryLocation) -> list[TokenRow]:
    async with location.open() as (store, _):
        return [token_row(row) for row in await store.tokens()]


async def revoke_token(location: RegistryLocation, number: int) -> int:
    """Revokes a token and the tokens created with it. Returns their number."""
    async with location.open() as (store, _):
        revoked = await Tokens(store).revoke(shell_user(), number, now=now_millis())
        if not revoked:
            raise NotFoundError(f"no active token {number}", hint="see `metier registry token list`")
        return revoked


async def invite(location: RegistryLocation, scopes: tuple[str, ...], *, days: int, note: str = "") -> str:
    """Returns the text of an invitation, which ends the address of its page."""
    async with location.open() as (store, _):
        return await Invitations(store, Tokens(store)).create(shell_user(), scopes, days=days, note=note, now=now_millis())


async def list_users(location: RegistryLocation) -> list[RegistryUser]:
    """Returns all users by name."""
    async with location.open() as (store, _):
        found: list[RegistryUser] = []
        while rows := await Users(store).list(shell_user(), after=found[-1].name if found else ""):
            found += rows
        return found


async def advisory_key(location: RegistryLocation, file: str, *, is_replaced: bool = False) -> tuple[str, str, bool]:
    """Returns the id of the former key, if it was replaced, the id of the key, and whether the file has it."""
    async with location.open() as (store, _):
        if is_replaced:
            return (*await replace_key(store, file, at=now_millis()), True)
        public, private = await store.advisory_key(), SigningKeyFile(file).read()
        return "", key_id(public) if public else "", private is not None and public_key(private) == public


async def set_user_disabled(location: RegistryLocation, name: str, *, disabled: bool) -> int:
    """Returns the number of tokens that were revoked with the user."""
    async with location.open() as (store, _):
        return await Users(store).set_disabled(shell_user(), name, disabled=disabled, now=now_millis())


def shell_user() -> Caller:
    """Returns the caller of a command, as the audit log names it: `cli:USER@HOST`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return local_caller(f"cli:{user}@{socket.gethostname()}")
