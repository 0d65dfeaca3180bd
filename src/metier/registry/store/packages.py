"""Packages and releases: reading them, and the one transaction that adds a release."""

from __future__ import annotations

from collections.abc import Sequence

from metier.errors import ConflictError, RefusedError
from metier.registry.domain.records import (
    AuditEvent,
    Package,
    PackageStatus,
    PackageVisibility,
    Release,
    ReleaseDraft,
    Signature,
)
from metier.registry.domain.search_terms import document_terms, forms
from metier.spec import Version, newest_version

from .engine import Engine, Transaction
from .search_index import write_words

__all__ = ["PACKAGE_COLUMNS", "RELEASE_COLUMNS", "PackageRows", "add_event", "refresh_package"]

PACKAGE_COLUMNS = ", ".join(Package.__struct_fields__)
RELEASE_COLUMNS = ", ".join(Release.__struct_fields__)
_SHOWN = ("version", "description", "author", "license", "tags", "verdict", "digest", "archive", "size", "signed")
FIRST_VERSION = "0.1.0"


class PackageRows:
    engine: Engine

    async def find_package(self, kind: str, name: str) -> Package | None:
        row = await self.engine.find_package(PACKAGE_COLUMNS, kind, name)
        return Package(*row) if row else None

    async def release(self, package_id: int, version: str) -> Release | None:
        rows = await self.engine.rows(
            f"select {RELEASE_COLUMNS} from release where package = ? and version = ?", (package_id, version)
        )
        return Release(*rows[0]) if rows else None

    async def releases(self, package_id: int) -> list[Release]:
        rows = await self.engine.rows(f"select {RELEASE_COLUMNS} from release where package = ?", (package_id,))
        return sorted((Release(*row) for row in rows), key=lambda release: Version.parse(release.version), reverse=True)

    async def owners(self, package_id: int) -> tuple[str, ...]:
        rows = await self.engine.rows("select namespace from owner where package = ? order by place, namespace", (package_id,))
        return tuple(row[0] for row in rows)

    async def tags(self, package_id: int) -> dict[str, str]:
        return dict(await self.engine.rows("select tag, version from tag where package = ? order by tag", (package_id,)))

    async def signatures(self, package_id: int) -> list[Signature]:
        rows = await self.engine.rows(
            "select r.version, s.kind, s.signer, s.keyid, s.payload, s.created from signature s"
            " join release r on r.id = s.release where r.package = ? order by s.id",
            (package_id,),
        )
        return [Signature(*row) for row in rows]

    async def publish(self, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> tuple[Package, Release, bool]:
        async with self.engine.writing() as work:
            package = await self._claimed(work, draft, owners_of)
            rows = await work.rows("select version, digest from release where package = ?", (package.id,))
            version, is_new = _chosen(draft, dict(rows))
            if is_new:
                await self._add(work, package.id, version, draft)
            found = await work.rows(
                f"select {RELEASE_COLUMNS} from release where package = ? and version = ?", (package.id, version)
            )
            package = Package(*(await work.rows(f"select {PACKAGE_COLUMNS} from package where id = ?", (package.id,)))[0])
        return package, Release(*found[0]), is_new

    async def _claimed(self, work: Transaction, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> Package:
        """The package's row, held until the transaction ends; made if there is none."""
        made = await work.rows(
            "insert into package (kind, name, namespace, visibility, status, created, updated) values (?, ?, ?, ?, ?, ?, ?)"
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
            await work.rows("insert into owner (package, namespace, place) values (?, ?, 0)", (made[0][0], draft.namespace))
        hold = " for update" if self.engine.dialect == "postgresql" else ""
        rows = await work.rows(
            f"select {PACKAGE_COLUMNS} from package where kind = ? and name = ?{hold}", (draft.kind, draft.name)
        )
        package = Package(*rows[0])
        owners = {row[0] for row in await work.rows("select namespace from owner where package = ?", (package.id,))}
        if owners_of is not None and owners.isdisjoint(owners_of):
            raise RefusedError(
                f"{draft.name!r} belongs to somebody else here",
                rule="not-owner",
                hint="choose another name, or ask its owners to add you",
            )
        if package.status == PackageStatus.DELETED:
            raise ConflictError(f"{draft.name!r} was deleted, and its name is reserved", hint="undelete it, then publish")
        return package

    async def _add(self, work: Transaction, package_id: int, version: str, draft: ReleaseDraft) -> None:
        await work.rows(
            "insert into release (package, version, digest, archive, size, description, author, license, tags, details,"
            " published, publisher, verdict, findings) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (package_id, version, draft.digest, draft.archive, draft.size, draft.description, draft.author, draft.license,
             " ".join(draft.tags), draft.details, draft.at, draft.publisher, draft.verdict, draft.findings),
        )  # fmt: skip
        if draft.visibility:
            await work.rows("update package set visibility = ? where id = ?", (draft.visibility, package_id))
        shown = await refresh_package(work, package_id, at=draft.at)
        if shown == version:
            await write_words(work, self.engine.dialect, package_id, draft.words)
            await _write_keywords(work, package_id, draft.tags)
            await _learn(work, draft.spellings)
        told = f"{version} {draft.digest}"
        await add_event(work, AuditEvent(draft.at, draft.publisher, "publish", f"{draft.kind}:{draft.name}", told))


async def refresh_package(work: Transaction, package_id: int, *, at: int) -> str:
    """Let the package's row show the newest release that is not yanked; its version, or nothing if all are."""
    rows = await work.rows("select version from release where package = ? and yanked is null", (package_id,))
    best = newest_version(Version.parse(row[0]) for row in rows)
    version = str(best) if best else ""
    if best is None:
        await work.rows("update package set version = '', updated = ? where id = ?", (at, package_id))
        return ""
    columns = ", ".join(_SHOWN)
    values = (await work.rows(f"select {columns} from release where package = ? and version = ?", (package_id, version)))[0]
    sets = ", ".join(f"{column} = ?" for column in _SHOWN)
    await work.rows(f"update package set {sets}, updated = ? where id = ?", (*values, at, package_id))
    return version


async def reindex(work: Transaction, dialect: str, package_id: int, body: str = "") -> None:
    """The words of whatever the package shows now. Without its body at first, for that has to be fetched."""
    name, tags, description = (await work.rows("select name, tags, description from package where id = ?", (package_id,)))[0]
    await write_words(work, dialect, package_id, document_terms(name, tags.split(), description, body))
    await _write_keywords(work, package_id, tags.split())


async def add_event(work: Transaction, event: AuditEvent) -> None:
    await work.rows(
        "insert into audit (at, actor, action, subject, details) values (?, ?, ?, ?, ?)",
        (event.at, event.actor, event.action, event.subject, event.details),
    )


async def _write_keywords(work: Transaction, package_id: int, tags: Sequence[str]) -> None:
    await work.rows("delete from keyword where package = ?", (package_id,))
    await work.many("insert into keyword (package, word) values (?, ?)", [(package_id, tag) for tag in dict.fromkeys(tags)])


async def _learn(work: Transaction, spellings: Sequence[str]) -> None:
    """Remember words nobody used before. Sorted, so that two who publish at once wait for each other and never in a ring."""
    if not spellings:
        return
    marks = ", ".join("?" * len(spellings))
    rows = await work.rows(f"select word from spelling where form = word and form in ({marks})", spellings)
    known = {row[0] for row in rows}
    fresh = sorted((form, word) for word in spellings if word not in known for form in set(forms(word)))
    await work.many("insert into spelling (form, word) values (?, ?) on conflict do nothing", fresh)


def _chosen(draft: ReleaseDraft, taken: dict[str, str]) -> tuple[str, bool]:
    """The version that a draft becomes, and whether that is a new one."""
    if draft.version is None:
        same = newest_version(Version.parse(version) for version, digest in taken.items() if digest == draft.digest)
        if same:
            return str(same), False
        highest = max((Version.parse(version) for version in taken), default=None)
        return (str(highest.next_patch) if highest else FIRST_VERSION), True
    if draft.version in taken:
        if taken[draft.version] == draft.digest:
            return draft.version, False
        raise ConflictError(
            f"{draft.name} {draft.version} is there already, with other contents",
            hint=f"a version never changes; raise metadata.version, to {max(map(Version.parse, taken)).next_patch} for example",
        )
    mine = Version.parse(draft.version)
    twin = next((version for version in taken if not (Version.parse(version) < mine or mine < Version.parse(version))), None)
    if twin:
        raise ConflictError(f"{draft.name} {twin} is there already", hint="what stands behind + makes no other version")
    return draft.version, True
