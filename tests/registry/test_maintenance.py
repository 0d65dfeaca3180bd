"""A registry moves to other engines and back completely; a backup is a registry; unreferenced blobs are collected."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

import pytest

from metier.errors import ConflictError, NotFoundError, UnavailableError
from metier.registry import RegistryLocation
from metier.registry.blobs import open_blobs
from metier.registry.copies import backup, changes_since, copy_registry, restore
from metier.registry.domain.access import local_caller
from metier.registry.domain.admission import Admission, admit
from metier.registry.domain.protocols import BlobStore, RegistryStore
from metier.registry.domain.publish import Publisher, PublishOutcome, PublishRequest
from metier.registry.domain.records import PackageKind
from metier.registry.domain.registry import now_millis
from metier.registry.domain.turns import UploadTurns
from metier.registry.maintenance import delete_unused_archives
from metier.registry.store import SqlStore, open_store
from metier.registry.store.row_copy import rows_digest
from metier.testing.registry import draft
from registry.builders import archive, site
from registry.servers import ObjectStore, Postgres

Place = tuple[SqlStore, BlobStore]


@asynccontextmanager
async def opened(db: str, blobs: str) -> AsyncIterator[Place]:
    store = await open_store(db)
    yield store, open_blobs(blobs)
    await store.close()


def embedded(folder: Path) -> tuple[str, str]:
    return f"sqlite://{folder}/registry.sqlite", f"file://{folder}/blobs"


def filled(folder: Path, count: int = 6) -> tuple[str, str]:
    """A registry in which everything was done once."""
    with site(folder) as here:
        own = here.token("acme", "publish:acme", "yank")
        for n in range(count):
            about = f"Does thing number {n}, mit Umlaut ü."
            here.publish(f"skill-{n}", "1.0.0", token=own, description=about, metadata={"tags": "a b"})
        here.publish("skill-0", "1.1.0", token=own, body="Other words: kubernetes.\n")
        here.post("/skills/skill-0/versions/1.1.0/yank", token=own, json={"reason": "r"})
        here.send("PUT", "/skills/skill-1/tags/beta", token=own, json={"version": "1.0.0"})
        here.post("/skills/skill-1/report", json={"reason": "spam"})
        here.send("DELETE", "/skills/skill-2", token=own)
        here.get("/skills/skill-3/download")
        here.call(here.registry.downloads.flush)
    return embedded(folder)


def test_a_registry_moves_to_postgresql_and_s3_and_back(tmp_path: Path, postgres: Postgres, object_store: ObjectStore) -> None:
    source = filled(tmp_path / "one")

    async def move() -> None:
        with postgres.database() as url:
            scaled = (url, object_store.url(f"metier/{token_hex(4)}"))
            async with opened(*source) as one, opened(*scaled) as two, opened(*embedded(tmp_path / "three")) as three:
                there = await copy_registry(one, two)
                assert (there.blobs, there.known) == (7, 0)
                assert (await copy_registry(one, two)).known == 7
                back = await copy_registry(two, three)
                assert back.rows == there.rows
                assert await rows_digest(one[0]) == await rows_digest(two[0]) == await rows_digest(three[0])
                again = await two[0].publish(draft("another"), None)
                assert again[0].id > 6

    asyncio.run(move())
    with site(tmp_path / "three") as here:
        found = here.get("/skills?q=umlaut&sort=name").json()["skills"]
        assert [skill["name"] for skill in found] == ["skill-0", "skill-1", "skill-3", "skill-4", "skill-5"]
        assert here.get("/skills/skill-3").json()["downloads"] == 1
        assert here.get("/skills/skill-1/1.0.0.zip").status_code == 200


def test_an_interrupted_copy_leaves_the_target_unchanged_and_can_be_resumed(tmp_path: Path) -> None:
    source = filled(tmp_path / "one")

    class Breaking:
        def __init__(self, blobs: BlobStore) -> None:
            self.blobs, self.left = blobs, 3

        async def get(self, name: str) -> bytes:
            return await self.blobs.get(name)

        async def put(self, name: str, data: bytes) -> None:
            self.left -= 1
            if self.left < 0:
                raise UnavailableError("the network has gone", hint="")
            await self.blobs.put(name, data)

    async def move() -> None:
        async with opened(*source) as one, opened(*embedded(tmp_path / "two")) as two:
            with pytest.raises(UnavailableError):
                await copy_registry(one, (two[0], Breaking(two[1])))  # type: ignore[arg-type]  # only what copying uses
            assert (await two[0].totals())["packages"] == 0
            done = await copy_registry(one, two)
            assert (done.known, done.blobs) == (3, 4)

    asyncio.run(move())


def test_a_damaged_archive_is_not_copied(tmp_path: Path) -> None:
    source = filled(tmp_path / "one", 1)
    for file in (tmp_path / "one/blobs").rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")

    async def move() -> None:
        async with opened(*source) as one, opened(*embedded(tmp_path / "two")) as two:
            with pytest.raises(UnavailableError, match="damaged"):
                await copy_registry(one, two)

    asyncio.run(move())


def test_another_registry_is_not_written_over(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one", 1), filled(tmp_path / "two", 1)

    async def move() -> None:
        async with opened(*one) as source, opened(*two) as target:
            before = await rows_digest(target[0])
            with pytest.raises(ConflictError):
                await copy_registry(source, target)
            assert await rows_digest(target[0]) == before

    asyncio.run(move())


@pytest.fixture(params=["embedded", "scaled"])
def addresses(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """SQLite and files, then PostgreSQL and an object store."""
    if request.param == "embedded":
        yield embedded(tmp_path / "registry")
        return
    postgres, objects = request.getfixturevalue("postgres"), request.getfixturevalue("object_store")
    with postgres.database() as url:
        yield url, objects.url(f"metier/{token_hex(4)}")


def publisher_of(store: RegistryStore, blobs: BlobStore) -> Publisher:
    """A publisher that checks uploads in this process."""

    async def check(data: bytes, kind: PackageKind, version: str | None) -> Admission:
        return admit(data, kind=kind, scanner=None, version=version)

    return Publisher(store, blobs, now_millis, check, UploadTurns(4, most=100, most_per_token=100))


async def publish_archive(publisher: Publisher, data: bytes) -> PublishOutcome:
    return await publisher.publish(local_caller("test"), lambda: data, PublishRequest())


class Interrupted:
    """Blobs with a moment at which something else happens: after the list of names was read, or after a write."""

    def __init__(self, blobs: BlobStore, *, after: str, do: Callable[[], Awaitable[object]]) -> None:
        self._blobs, self._after, self._do = blobs, after, do

    def __getattr__(self, name: str) -> Any:  # Any: the methods that nothing interrupts
        return getattr(self._blobs, name)

    async def names(self) -> AsyncIterator[tuple[str, int, int]]:
        rows = [row async for row in self._blobs.names()]
        if self._after == "names":
            await self._do()
        for row in rows:
            yield row

    async def put(self, name: str, data: bytes) -> None:
        await self._blobs.put(name, data)
        if self._after == "put":
            self._after = ""
            await self._do()


def test_a_copy_of_a_registry_in_use_has_every_archive_that_its_rows_name(addresses: tuple[str, str], tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(*addresses) as (store, blobs), opened(*embedded(tmp_path / "copy")) as (rows, archives):
            publisher = publisher_of(store, blobs)
            for number in range(3):
                await publish_archive(publisher, archive(f"skill-{number}", "1.0.0"))

            async def publish() -> None:
                await publish_archive(publisher, archive("aaa-late", "1.0.0"))

            done = await copy_registry(
                (store, blobs), (rows, cast("BlobStore", Interrupted(archives, after="put", do=publish)))
            )
            assert done.blobs == 3
            names = [name async for name in rows.archives()]
            assert len(names) == 3
            for name in names:
                await archives.get(name)
            assert (await copy_registry((store, blobs), (rows, archives))).blobs == 1

    asyncio.run(work())


@pytest.mark.parametrize("damage", [None, b"damaged"], ids=["missing", "damaged"])
def test_a_backup_without_an_archive_fails_and_leaves_what_was_there(tmp_path: Path, damage: bytes | None) -> None:
    filled(tmp_path / "one", 2)
    source, folder = RegistryLocation.in_folder(str(tmp_path / "one")), str(tmp_path / "backup")
    file = max(path for path in (tmp_path / "one/blobs").rglob("*") if path.is_file())
    data = file.read_bytes()

    def break_archive() -> None:
        file.unlink() if damage is None else file.write_bytes(damage)

    break_archive()
    with pytest.raises(UnavailableError, match=f"archive {file.name} .*is (missing|damaged)"):
        asyncio.run(backup(source, folder))
    with pytest.raises(NotFoundError, match="no backup in"):
        asyncio.run(restore(folder, RegistryLocation.in_folder(str(tmp_path / "two"))))

    file.write_bytes(data)
    asyncio.run(backup(source, folder))
    with site(tmp_path / "one") as here:
        here.publish("later", "1.0.0")
    copied = next((tmp_path / "backup").rglob(file.name))
    copied.write_bytes(b"damaged in the backup")
    before = (tmp_path / "backup/registry.sqlite").read_bytes()
    break_archive()
    with pytest.raises(UnavailableError):
        asyncio.run(backup(source, folder))
    assert (tmp_path / "backup/registry.sqlite").read_bytes() == before

    file.write_bytes(data)
    asyncio.run(backup(source, folder))
    assert copied.read_bytes() == data
    assert asyncio.run(restore(folder, RegistryLocation.in_folder(str(tmp_path / "two")))).known == 0


def test_an_older_backup_is_restored_into_the_registry_it_was_made_from(addresses: tuple[str, str], tmp_path: Path) -> None:
    """The audit log is append-only, so the registry keeps the later entries."""
    location, folder = RegistryLocation(*addresses), str(tmp_path / "backup")

    async def work() -> None:
        async with location.open() as (store, blobs):
            publisher = publisher_of(store, blobs)
            await publish_archive(publisher, archive("pdf", "1.0.0"))
        await backup(location, folder)
        async with location.open() as (store, blobs):
            publisher = publisher_of(store, blobs)
            await publish_archive(publisher, archive("pdf", "2.0.0"))
        assert await changes_since(folder, location) == 1
        await restore(folder, location)
        async with location.open() as (store, blobs):
            package = await store.find_package("skill", "pdf")
            assert package is not None
            assert [release.version for release in await store.releases(package.id)] == ["1.0.0"]
            assert [event.details.split()[0] for _, event in await store.events()] == ["2.0.0", "1.0.0"]

    asyncio.run(work())


LATER = 4_000_000_000_000
"""A time after which every blob is old."""


def test_a_publish_of_bytes_that_garbage_collection_is_about_to_delete_keeps_its_archive(addresses: tuple[str, str]) -> None:
    async def work() -> None:
        async with opened(*addresses) as (store, blobs):
            data = archive("pdf", "1.0.0")
            admitted = admit(data, kind=PackageKind.SKILL, scanner=None)
            await blobs.put(admitted.archive_name, admitted.archive)

            async def publish() -> None:
                publisher = publisher_of(store, blobs)
                await publish_archive(publisher, data)

            racing = Interrupted(blobs, after="names", do=publish)
            done = await delete_unused_archives(store, cast("BlobStore", racing), now=LATER)
            assert (done.deleted, done.kept) == (0, 1)
            assert [await blobs.has(name) async for name in store.archives()] == [True]

    asyncio.run(work())


def test_garbage_collection_between_the_archive_and_its_rows_costs_no_archive(addresses: tuple[str, str]) -> None:
    async def work() -> None:
        async with opened(*addresses) as (store, blobs):
            collect = partial(delete_unused_archives, store, blobs, now=LATER)
            publisher = publisher_of(store, cast("BlobStore", Interrupted(blobs, after="put", do=collect)))
            outcome = await publish_archive(publisher, archive("pdf", "1.0.0"))
            assert outcome.created
            assert [await blobs.has(name) async for name in store.archives()] == [True]

    asyncio.run(work())


def test_publishes_and_garbage_collection_at_once_lose_no_archive(addresses: tuple[str, str]) -> None:
    async def work() -> None:
        async with opened(*addresses) as (store, blobs):
            publisher = publisher_of(store, blobs)
            packed = [archive(f"skill-{number}", "1.0.0") for number in range(12)]
            for data in packed:
                admitted = admit(data, kind=PackageKind.SKILL, scanner=None)
                await blobs.put(admitted.archive_name, admitted.archive)
            await asyncio.gather(
                *(publish_archive(publisher, data) for data in packed),
                *(delete_unused_archives(store, blobs, now=LATER) for _ in range(4)),
            )
            names = [name async for name in store.archives()]
            assert len(names) == len(packed)
            for name in names:
                await blobs.get(name)

    asyncio.run(work())


def test_only_old_unreferenced_blobs_are_collected(tmp_path: Path) -> None:
    source = filled(tmp_path, 2)

    async def work() -> None:
        async with opened(*source) as (store, blobs):
            names = [hashlib.sha256(data).hexdigest() for data in (b"old", b"young")]
            await blobs.put(names[0], b"old")
            await blobs.put(names[1], b"young")
            old = next((tmp_path / "blobs").rglob(names[0]))
            os.utime(old, (1, 1))
            named = [name async for name in store.archives()]
            for name in named:
                os.utime(next((tmp_path / "blobs").rglob(name)), (1, 1))
            now = int(next((tmp_path / "blobs").rglob(names[1])).stat().st_mtime * 1000) + 1000
            assert (await delete_unused_archives(store, blobs, now=now, dry_run=True)).deleted == 1
            assert await blobs.has(names[0])
            assert (await delete_unused_archives(store, blobs, now=now)).deleted == 1
            assert not await blobs.has(names[0])
            assert await blobs.has(names[1])
            for name in named:
                await blobs.get(name)
            with pytest.raises(NotFoundError):
                await blobs.get(names[0])

    asyncio.run(work())
