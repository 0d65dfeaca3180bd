"""Packages and releases: reading them, and the one transaction that adds a release."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from metier.errors import ConflictError, RefusedError
from metier.registry.domain.protocols import Effect, nothing
from metier.registry.domain.records import (
    AuditEvent,
    Package,
    PackageStatus,
    PackageVisibility,
    Release,
    ReleaseDraft,
    ReleaseState,
    Signature,
)
from metier.registry.domain.search_terms import document_terms, forms, spelling_words
from metier.spec import Version, is_name, newest_version

from .engine import Engine, Row, RowReader, Transaction
from .search_index import write_words

__all__ = [
    "ARCHIVES_LOCK",
    "ONLINE",
    "PACKAGE_COLUMNS",
    "RELEASE_COLUMNS",
    "PackageRows",
    "add_event",
    "bury_package",
    "enqueue_cooldown",
    "hold_package",
    "read_archives",
    "refresh_package",
    "show_newest",
    "write_spellings",
]

PACKAGE_COLUMNS = ", ".join(Package.__struct_fields__)
RELEASE_COLUMNS = ", ".join(Release.__struct_fields__)
_RELEASE_FIELDS = ("version", "description", "author", "license", "tags", "verdict", "digest", "archive", "size", "signed")
FIRST_VERSION = "0.1.0"
_BATCH = 1_000
ONLINE = "state = 'online'"
"""The one condition on a release that is served. Reads without it are in `store.reviews` only."""
ARCHIVES_LOCK = "metier-archives"
"""The lock that publishes share, and that the deletion of an archive holds alone."""


class _Undo(Exception):  # noqa: N818  # not an error: it ends a transaction that must not be committed
    def __init__(self, result: tuple[Package, Release, bool]) -> None:
        self.result = result


class PackageRows:
    engine: Engine

    async def find_package(self, kind: str, name: str) -> Package | None:
        # Nothing else can exist, and an engine may keep the names that it was asked for.
        if not is_name(name):
            return None
        row = await self.engine.find_package(PACKAGE_COLUMNS, kind, name)
        return Package(*row) if row else None

    async def release(self, package_id: int, version: str) -> Release | None:
        rows = await self.engine.rows(
            f"select {RELEASE_COLUMNS} from release where package = ? and version = ? and {ONLINE}", (package_id, version)
        )
        return Release(*rows[0]) if rows else None

    async def releases(self, package_id: int) -> list[Release]:
        rows = await self.engine.rows(f"select {RELEASE_COLUMNS} from release where package = ? and {ONLINE}", (package_id,))
        return sorted((Release(*row) for row in rows), key=lambda release: Version.parse(release.version), reverse=True)

    async def owners(self, package_id: int) -> tuple[str, ...]:
        rows = await self.engine.rows("select namespace from owner where package = ? order by place, namespace", (package_id,))
        return tuple(row[0] for row in rows)

    async def tags(self, package_id: int) -> dict[str, str]:
        rows = await self.engine.rows(
            "select t.tag, t.version from tag t join release r on r.package = t.package and r.version = t.version"
            f" where t.package = ? and r.{ONLINE} order by t.tag",
            (package_id,),
        )
        return dict(rows)

    async def signatures(self, package_id: int) -> list[Signature]:
        rows = await self.engine.rows(
            "select r.version, s.kind, s.signer, s.keyid, s.payload, s.created from signature s"
            f" join release r on r.id = s.release where r.package = ? and r.{ONLINE} order by s.id",
            (package_id,),
        )
        return [Signature(*row) for row in rows]

    async def publish(
        self, draft: ReleaseDraft, owners_of: Sequence[str] | None, *, keep_archive: Effect = nothing
    ) -> tuple[Package, Release, bool]:
        async with self.engine.transaction() as transaction:
            await self.engine.lock(transaction, ARCHIVES_LOCK, shared=True)
            return await self.publish_in(transaction, draft, owners_of, keep_archive)

    async def try_publish(self, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> tuple[Package, Release, bool]:
        try:
            async with self.engine.transaction(durable=False) as transaction:
                raise _Undo(await self.publish_in(transaction, draft, owners_of, nothing))
        except _Undo as undone:
            return undone.result

    async def publish_in(
        self, transaction: Transaction, draft: ReleaseDraft, owners_of: Sequence[str] | None, keep_archive: Effect
    ) -> tuple[Package, Release, bool]:
        """Adds a release in a transaction that holds the shared lock of archives."""
        package = await self._lock_package(transaction, draft, owners_of)
        state = draft.state or await self._demanded_state(transaction, package.id)
        rows = await transaction.rows("select version, digest, state from release where package = ?", (package.id,))
        # An upload that was never online is replaced by the next one of the same version.
        replaced = next((each for each in rows if each[0] == draft.version and _is_replaced(each, draft.digest, state)), None)
        taken: dict[str, str] = {version: digest for version, digest, _ in rows if not replaced or version != replaced[0]}
        purged: dict[str, str] = dict(
            await transaction.rows(
                "select version, digest from tombstone where kind = ? and name = ?", (draft.kind, draft.name)
            )
        )
        version = _resolve_version(draft, {**purged, **taken})
        is_new = version not in taken
        if draft.visibility and draft.visibility != package.visibility:
            await transaction.rows("update package set visibility = ? where id = ?", (draft.visibility, package.id))
            await add_event(transaction, _event(draft, "visibility", draft.visibility))
        if replaced:
            await transaction.rows("delete from release where package = ? and version = ?", (package.id, version))
        if is_new:
            await keep_archive()
            await self._add(transaction, package.id, version, draft, state)
        found = await transaction.rows(
            f"select {RELEASE_COLUMNS} from release where package = ? and version = ?", (package.id, version)
        )
        rows = await transaction.rows(f"select {PACKAGE_COLUMNS} from package where id = ?", (package.id,))
        return Package(*rows[0]), Release(*found[0]), is_new

    async def delete_archive(self, archive: str, delete: Effect) -> bool:
        async with self.engine.transaction() as transaction:
            await self.engine.lock(transaction, ARCHIVES_LOCK)
            if await transaction.rows("select 1 from release where archive = ? limit 1", (archive,)):
                return False
            await delete()
        return True

    async def _lock_package(self, transaction: Transaction, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> Package:
        """Returns the package's row, locked until the transaction ends. Creates it if there is none."""
        made = await transaction.rows(
            "insert into package (kind, name, namespace, visibility, status, created, updated, hidden)"
            " values (?, ?, ?, ?, ?, ?, ?, 1)"
            " on conflict (kind, name) do nothing returning id",
            (
                draft.kind,
                draft.name,
                draft.namespace,
                draft.visibility or PackageVisibility.PRIVATE,
                PackageStatus.ACTIVE,
                draft.at,
                draft.at,
            ),
        )
        if made:
            await _check_former_owners(transaction, draft, owners_of)
            await transaction.rows(
                "insert into owner (package, namespace, place) values (?, ?, 0)", (made[0][0], draft.namespace)
            )
        rows = await transaction.rows(
            f"select {PACKAGE_COLUMNS} from package where kind = ? and name = ?{_for_update(self.engine.dialect)}",
            (draft.kind, draft.name),
        )
        package = Package(*rows[0])
        owners = {row[0] for row in await transaction.rows("select namespace from owner where package = ?", (package.id,))}
        if owners_of is not None and owners.isdisjoint(owners_of):
            raise RefusedError(
                f"{draft.name!r} belongs to another namespace",
                rule="not-owner",
                hint="choose another name, or ask its owners to add you",
            )
        if package.status == PackageStatus.DELETED:
            raise ConflictError(f"{draft.name!r} was deleted and its name is reserved", hint="undelete it, then publish")
        return package

    async def _demanded_state(self, transaction: Transaction, package_id: int) -> str:
        rows = await transaction.rows(
            "select 1 from namespace_setting s join owner o on o.namespace = s.namespace where o.package = ? and s.review = 1"
            " limit 1",
            (package_id,),
        )
        return ReleaseState.REVIEW if rows else ReleaseState.ONLINE

    async def _add(self, transaction: Transaction, package_id: int, version: str, draft: ReleaseDraft, state: str) -> None:
        is_online = state == ReleaseState.ONLINE
        available = draft.at + draft.cooldown if is_online and draft.cooldown else 0
        await transaction.rows(
            "insert into release (package, version, digest, archive, size, description, author, license, tags, details,"
            " published, publisher, verdict, findings, provenance, state, state_reason, online, available)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (package_id, version, draft.digest, draft.archive, draft.size, draft.description, draft.author, draft.license,
             " ".join(draft.tags), draft.details, draft.at, draft.publisher, draft.verdict, draft.findings,
             draft.provenance, state, draft.reason, draft.at if is_online else None, available),
        )  # fmt: skip
        if not is_online:
            await add_event(transaction, _event(draft, "upload", f"{version} {draft.digest} {state} {draft.reason}".strip()))
            return
        if available:
            await enqueue_cooldown(transaction, f"{draft.kind}:{draft.name}", version, due=available)
        shown = await refresh_package(transaction, package_id, at=draft.at)
        if shown == version:
            await write_words(transaction, self.engine.dialect, package_id, draft.words)
            await _write_keywords(transaction, package_id, draft.tags)
            await write_spellings(transaction, package_id, draft.spellings)
        details = f"{version} {draft.digest}"
        await add_event(transaction, _event(draft, "publish", details))


def _is_replaced(present: Row, digest: str, wanted: str) -> bool:
    """Returns whether an upload takes the place of one that waits: it has other contents, or submits a draft."""
    _, known, state = present
    if state not in (ReleaseState.DRAFT, ReleaseState.REVIEW):
        return False
    return bool(known != digest or (state == ReleaseState.DRAFT and wanted != ReleaseState.DRAFT))


def _for_update(dialect: str) -> str:
    """On SQLite, the transaction already holds the only write lock."""
    return " for update" if dialect == "postgresql" else ""


async def hold_package(transaction: Transaction, dialect: str, package_id: int) -> None:
    """Locks the package's row until the transaction ends, so that other changes of it wait and see this one."""
    await transaction.rows(f"select id from package where id = ?{_for_update(dialect)}", (package_id,))


async def bury_package(transaction: Transaction, package_id: int, kind: str, name: str) -> None:
    """Keeps the versions and owners of a package that is about to be purged."""
    rows = await transaction.rows("select namespace from owner where package = ? order by place, namespace", (package_id,))
    owners = " ".join(row[0] for row in rows)
    await transaction.rows(
        "insert into tombstone (kind, name, version, digest, owners)"
        " select p.kind, p.name, r.version, r.digest, '' from release r join package p on p.id = r.package where p.id = ?"
        " on conflict (kind, name, version) do nothing",
        (package_id,),
    )
    await transaction.rows("update tombstone set owners = ? where kind = ? and name = ?", (owners, kind, name))


async def _check_former_owners(transaction: Transaction, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> None:
    """Raises RefusedError if the name belonged to another namespace and was purged."""
    rows = await transaction.rows("select owners from tombstone where kind = ? and name = ? limit 1", (draft.kind, draft.name))
    if rows and owners_of is not None and set(rows[0][0].split()).isdisjoint(owners_of):
        raise RefusedError(
            f"{draft.name!r} was deleted and is reserved for its former owners",
            rule="not-owner",
            hint="choose another name, or ask an administrator to publish it",
        )


async def read_archives(reader: RowReader) -> AsyncIterator[str]:
    """Yields the blob name of every release."""
    after = ""
    while rows := await reader.rows(
        "select distinct archive from release where archive > ? order by archive limit ?", (after, _BATCH)
    ):
        for row in rows:
            yield row[0]
        after = rows[-1][0]


async def refresh_package(transaction: Transaction, package_id: int, *, at: int) -> str:
    """Copies the newest unyanked release to the package's row. Returns its version, or an empty text if all are yanked.

    Versions in their cool-down do not count while there are others.
    """
    rows = await transaction.rows(
        f"select version, available from release where package = ? and yanked is null and {ONLINE}", (package_id,)
    )
    newest = newest_version(Version.parse(row[0]) for row in rows)
    best = newest_version(Version.parse(row[0]) for row in rows if row[1] <= at) or newest
    version, fresh = str(best or ""), str(newest or "")
    ends: dict[str, int] = dict(rows)
    available = ends.get(fresh, 0)
    online = await transaction.rows("select 1 from release where package = ? and online is not null limit 1", (package_id,))
    await transaction.rows(
        "update package set hidden = ?, fresh = ?, available = ? where id = ?",
        (0 if online else 1, fresh if available > at else "", available if available > at else 0, package_id),
    )
    if best is None:
        await transaction.rows("update package set version = '', updated = ? where id = ?", (at, package_id))
        return ""
    columns = ", ".join(_RELEASE_FIELDS)
    values = (
        await transaction.rows(f"select {columns} from release where package = ? and version = ?", (package_id, version))
    )[0]
    sets = ", ".join(f"{column} = ?" for column in _RELEASE_FIELDS)
    await transaction.rows(f"update package set {sets}, updated = ? where id = ?", (*values, at, package_id))
    return version


async def show_newest(transaction: Transaction, dialect: str, package_id: int, *, at: int) -> None:
    """Copies the newest release to the package's row after a change, and indexes it if it is another one."""
    before, subject = (await transaction.rows("select version, kind || ':' || name from package where id = ?", (package_id,)))[
        0
    ]
    shown = await refresh_package(transaction, package_id, at=at)
    if shown and shown != before:
        await reindex(transaction, dialect, package_id)
        await transaction.rows(
            "insert into job (kind, subject, due) values ('index', ?, ?) on conflict (kind, subject) do nothing", (subject, at)
        )


async def enqueue_cooldown(transaction: Transaction, subject: str, version: str, *, due: int) -> None:
    """Adds the job that shows a version when its cool-down is over."""
    await transaction.rows(
        "insert into job (kind, subject, due) values ('cooldown', ?, ?) on conflict (kind, subject) do update"
        " set due = excluded.due",
        (f"{subject}@{version}", due),
    )


async def reindex(transaction: Transaction, dialect: str, package_id: int, body: str = "") -> None:
    """Indexes the current release. Its body is indexed later, because it has to be fetched."""
    name, tags, description = (
        await transaction.rows("select name, tags, description from package where id = ?", (package_id,))
    )[0]
    await write_words(transaction, dialect, package_id, document_terms(name, tags.split(), description, body))
    await _write_keywords(transaction, package_id, tags.split())
    await write_spellings(transaction, package_id, spelling_words(name, tags, description))


async def add_event(transaction: Transaction, event: AuditEvent) -> None:
    await transaction.rows(
        "insert into audit (at, actor, action, subject, details, token, address) values (?, ?, ?, ?, ?, ?, ?)",
        (event.at, event.actor, event.action, event.subject, event.details, event.token, event.address),
    )


def _event(draft: ReleaseDraft, action: str, details: str) -> AuditEvent:
    subject = f"{draft.kind}:{draft.name}"
    return AuditEvent(draft.at, draft.publisher, action, subject, details, draft.token, draft.address)


async def _write_keywords(transaction: Transaction, package_id: int, tags: Sequence[str]) -> None:
    await transaction.rows("delete from keyword where package = ?", (package_id,))
    await transaction.execute_many(
        "insert into keyword (package, word) values (?, ?)", [(package_id, tag) for tag in dict.fromkeys(tags)]
    )


async def write_spellings(transaction: Transaction, package_id: int, spellings: Sequence[str]) -> None:
    """Replaces the words of a package. New words are sorted, so that concurrent transactions cannot deadlock."""
    await transaction.rows("delete from package_word where package = ?", (package_id,))
    if not spellings:
        return
    await transaction.execute_many(
        "insert into package_word (package, word) values (?, ?)", [(package_id, word) for word in dict.fromkeys(spellings)]
    )
    marks = ", ".join("?" * len(spellings))
    rows = await transaction.rows(f"select word from spelling where form = word and form in ({marks})", spellings)
    known = {row[0] for row in rows}
    fresh = sorted((form, word) for word in spellings if word not in known for form in set(forms(word)))
    await transaction.execute_many("insert into spelling (form, word) values (?, ?) on conflict do nothing", fresh)


def _resolve_version(draft: ReleaseDraft, taken: dict[str, str]) -> str:
    """Returns the version of a draft. `taken` has the digests of all versions, also of purged ones."""
    if draft.version is None:
        same = newest_version(Version.parse(version) for version, digest in taken.items() if digest == draft.digest)
        if same:
            return str(same)
        highest = max((Version.parse(version) for version in taken), default=None)
        return str(highest.next_patch) if highest else FIRST_VERSION
    if draft.version in taken:
        if taken[draft.version] == draft.digest:
            return draft.version
        raise ConflictError(
            f"{draft.name} {draft.version} was already published with other contents",
            hint=f"raise metadata.version, for example to {max(map(Version.parse, taken)).next_patch}",
        )
    mine = Version.parse(draft.version)
    twin = next((version for version in taken if not (Version.parse(version) < mine or mine < Version.parse(version))), None)
    if twin:
        raise ConflictError(
            f"{draft.name} {twin} was already published", hint="build metadata after + does not make a new version"
        )
    return draft.version
