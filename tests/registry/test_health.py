"""`check_registry` finds what is wrong with a registry, and says what to type."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from metier.registry import RegistryLocation, check_registry
from metier.registry.domain.registry import now_millis
from metier.testing import run_now
from registry.builders import site
from registry.servers import ObjectStore, Postgres


def filled(folder: Path, count: int = 3) -> RegistryLocation:
    with site(folder) as here:
        for number in range(count):
            here.publish(f"skill-{number}", "1.0.0")
    return RegistryLocation.in_folder(str(folder))


def checks(location: RegistryLocation, *, ahead: int = 0, all_archives: bool = True) -> dict[str, tuple[str, str, str]]:
    """The worst check of each name: level, text and hint."""

    async def run() -> dict[str, tuple[str, str, str]]:
        found: dict[str, tuple[str, str, str]] = {}
        order = ("ok", "warning", "error")
        async for one in check_registry(location, all_archives=all_archives, clock=lambda: now_millis() + ahead):
            if order.index(one.level) >= order.index(found.get(one.name, ("ok", "", ""))[0]):
                found[one.name] = one.level, one.text, one.hint
        return found

    return run_now(run())


def blob_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "blobs").rglob("*") if path.is_file())


def test_a_whole_registry_passes_every_check(tmp_path: Path) -> None:
    found = checks(filled(tmp_path))
    assert {name: level for name, (level, _, _) in found.items()} == {
        "registry": "ok", "archives": "ok", "clock": "ok", "disk": "ok",
    }  # fmt: skip
    assert found["registry"][1] == f"packages: 3, releases: 3 in {tmp_path}/registry.sqlite"
    assert found["archives"][1] == "3 of 3 match their digests"


def test_postgresql_and_an_object_store_pass_too(tmp_path: Path, postgres: Postgres, object_store: ObjectStore) -> None:
    with postgres.database() as url:
        location = RegistryLocation(url, object_store.url(f"metier/{tmp_path.name}"))
        with site(tmp_path, db=location.db, blobs=location.blobs) as here:
            here.publish("pdf", "1.0.0")
        found = checks(location)
        assert {name: level for name, (level, _, _) in found.items()} == {"registry": "ok", "archives": "ok", "clock": "ok"}
        assert checks(location, ahead=60_000)["clock"][1] in {
            f"the clock of the {place} is {seconds} s behind" for place in ("archives", "database") for seconds in (60, 61)
        }


def test_a_damaged_database_is_an_error_with_a_hint(tmp_path: Path) -> None:
    location = filled(tmp_path, 30)
    file = tmp_path / "registry.sqlite"
    data = bytearray(file.read_bytes())
    for page in range(3, len(data) // 4096 - 1, 2):
        data[page * 4096 : page * 4096 + 200] = os.urandom(200)
    file.write_bytes(bytes(data))
    level, text, hint = checks(location)["registry"]
    assert level == "error"
    assert "damaged" in text
    assert "metier registry restore" in hint


def test_a_database_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    level, text, _ = checks(RegistryLocation.in_folder(str(tmp_path / "none")))["registry"]
    assert (level, text) == ("error", f"{tmp_path}/none/registry.sqlite does not exist")
    assert not (tmp_path / "none").exists()


def test_rows_without_archives_and_archives_without_rows_are_counted(tmp_path: Path) -> None:
    location = filled(tmp_path)
    (first, *_) = blob_files(tmp_path)
    first.unlink()
    name = hashlib.sha256(b"unused").hexdigest()
    unused = tmp_path / "blobs/sha256" / name[:2] / name[2:4] / name
    unused.parent.mkdir(parents=True, exist_ok=True)
    unused.write_bytes(b"unused")
    level, text, hint = checks(location)["archives"]
    assert (level, text) == ("error", f"missing: 1, such as {first.name}")
    assert "metier registry restore" in hint
    first.write_bytes(b"")
    assert checks(location)["archives"][:2] == ("error", f"damaged: 1, such as {first.name}")
    first.unlink()
    os.utime(unused, (1, 1))
    found = [one for one in run_all(location) if one[0] == "warning"]
    assert found == [("warning", "not used by any release: 1", "`metier registry gc` deletes them")]


def run_all(location: RegistryLocation) -> list[tuple[str, str, str]]:
    async def run() -> list[tuple[str, str, str]]:
        return [(one.level, one.text, one.hint) async for one in check_registry(location)]

    return run_now(run())


def test_a_skewed_clock_is_a_warning(tmp_path: Path) -> None:
    level, text, hint = checks(filled(tmp_path, 1), ahead=-90_000)["clock"]
    assert (level, text) == ("warning", "the clock of the archives is 90 s ahead")
    assert "timedatectl" in hint
