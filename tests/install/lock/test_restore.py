from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from install.builders import FakeFetcher, fetched, installed, prepared, snapshot, store_in
from metier.errors import NotFoundError, RefusedError
from metier.install.lock.restore import restore
from metier.install.options import InstallOptions
from metier.install.protocols import FetchedSkill
from metier.install.transaction.steps import Edits


def test_a_new_machine_gets_the_same_set_and_the_lock_stays_to_the_byte(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"), prepared("docx", called="word"), targets=("claude-code",))
    before = snapshot(tmp_path)
    shutil.rmtree(tmp_path / "home/.agents")
    shutil.rmtree(tmp_path / "home/.claude")
    restore(store_in(tmp_path), FakeFetcher(fetched("pdf"), fetched("docx")), InstallOptions())
    assert snapshot(tmp_path) == before


def test_an_intact_skill_is_not_fetched(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"), prepared("docx"))
    shutil.rmtree(tmp_path / "home/.metier/plugins/pdf")
    fetcher = FakeFetcher(fetched("pdf"))
    restore(store_in(tmp_path), fetcher, InstallOptions())
    assert fetcher.asked == ["pdf"]


def test_a_source_that_now_has_other_bytes_is_refused(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"))
    shutil.rmtree(tmp_path / "home/.metier/plugins/pdf")
    other = fetched("pdf", body="Evil.\n")
    lying = FakeFetcher()
    lying.then[fetched("pdf").digest] = other
    with pytest.raises(RefusedError, match="differs from the lock") as caught:
        restore(store_in(tmp_path), lying, InstallOptions())
    assert caught.value.rule == "digest"
    assert not (tmp_path / "home/.metier/plugins/pdf").exists()


def test_a_digest_that_lies_about_its_bytes_is_refused(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"))
    shutil.rmtree(tmp_path / "home/.metier/plugins/pdf")
    evil = fetched("pdf", body="Evil.\n")
    lying = FakeFetcher()
    right = fetched("pdf").digest
    lying.then[right] = FetchedSkill(name="pdf", files=evil.files, digest=right, origin=evil.origin)
    with pytest.raises(RefusedError, match="would differ from the lock"):
        restore(store_in(tmp_path), lying, InstallOptions())


def test_edits_survive_a_restore_and_frozen_refuses_them(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    mine = tmp_path / "home/.metier/plugins/pdf/SKILL.md"
    mine.write_text("mine")
    assert "edited here" in restore(store, FakeFetcher(), InstallOptions()).steps[0].note
    assert mine.read_text() == "mine"
    with pytest.raises(RefusedError, match="edited here"):
        restore(store, FakeFetcher(), InstallOptions(frozen=True))
    restore(store, FakeFetcher(fetched("pdf")), InstallOptions(edits=Edits.OVERWRITE, force=True))
    assert mine.read_text() != "mine"


def test_a_folder_without_a_lock_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        restore(store_in(tmp_path), FakeFetcher(), InstallOptions())
    assert "metier skill install REF" in caught.value.hint


def test_one_source_that_is_gone_stops_the_restore_before_anything_is_written(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"), prepared("docx"))
    shutil.rmtree(tmp_path / "home/.metier/plugins")
    with pytest.raises(NotFoundError, match="docx is gone"):
        restore(store_in(tmp_path), FakeFetcher(fetched("pdf")), InstallOptions())
    assert not (tmp_path / "home/.metier/plugins").exists()
