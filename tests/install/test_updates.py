from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from install.builders import FakeFetcher, contents, fetched, installed, prepared, snapshot, store_in
from metier.errors import ConflictError, RefusedError
from metier.install.diff import changed_files, diff_text, new_permissions
from metier.install.options import InstallOptions
from metier.install.prepare import prepare
from metier.install.protocols import FetchedSkill
from metier.install.store import SkillStore
from metier.install.transaction.steps import Edits, Verb
from metier.install.updates import UpdateState, outdated, update
from metier.scan import Capabilities, scan

NEW = fetched("pdf", body="Newer.\n", commit="d" * 40)


def test_outdated_reports_updates_and_changes_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), prepared("docx"), prepared("xlsx"))
    store.change(["docx"], lambda entry: replace(entry, pinned=True))
    before = snapshot(tmp_path)
    found = outdated(store, FakeFetcher(NEW, fetched("docx", body="Newer.\n")))
    assert {fresh.entry.name: fresh.state for fresh in found} == {
        "docx": UpdateState.PINNED,
        "pdf": UpdateState.OUTDATED,
        "xlsx": UpdateState.UNKNOWN,
    }
    assert snapshot(tmp_path) == before


def test_an_update_says_what_changed_upstream(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), targets=("claude-code",))
    (renewal,), outcome = update(store, FakeFetcher(NEW), ["pdf"], InstallOptions())
    assert renewal.changed == ("M SKILL.md",)
    assert "-Do it.\n+Newer." in renewal.diff
    assert [step.verb for step in outcome.steps] == [Verb.UPDATE, Verb.KEEP]
    assert store.lock()["pdf"].origin.commit == "d" * 40
    assert store.lock()["pdf"].targets == ("claude-code",)


def test_a_new_commit_with_the_same_files_only_moves_the_lock(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    (renewal,), outcome = update(store, FakeFetcher(fetched("pdf", commit="d" * 40)), [], InstallOptions())
    assert not renewal.is_newer
    assert [step.verb for step in outcome.steps] == [Verb.KEEP]
    assert store.lock()["pdf"].origin.commit == "d" * 40


def test_an_edited_skill_is_not_touched_and_does_not_hold_up_the_others(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), prepared("docx"))
    mine = tmp_path / "home/.metier/plugins/pdf/SKILL.md"
    mine.write_text("mine")
    newer = FakeFetcher(NEW, fetched("docx", body="Newer.\n"), locked=[fetched("pdf")])
    renewals, outcome = update(store, newer, [], InstallOptions())
    assert mine.read_text() == "mine"
    assert {step.name: step.verb for step in outcome.steps} == {"pdf": Verb.CONFLICT, "docx": Verb.UPDATE}
    assert next(renewal.edited for renewal in renewals if renewal.entry.name == "pdf") == ("M SKILL.md",)
    # Upstream changes are compared with the installed version, not with the edits.
    assert "-Do it.\n+Newer." in next(renewal.diff for renewal in renewals if renewal.entry.name == "pdf")
    with pytest.raises(ConflictError) as caught:
        update(store, newer, ["pdf"], InstallOptions())
    assert "--force" in caught.value.hint
    assert "--keep" in caught.value.hint


@pytest.mark.parametrize("edits", [Edits.OVERWRITE, Edits.KEEP])
def test_edits_are_overwritten_or_kept_on_request(edits: Edits, tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    (tmp_path / "home/.metier/plugins/pdf/SKILL.md").write_text("mine")
    update(store, FakeFetcher(NEW), ["pdf"], InstallOptions(edits=edits))
    assert "Newer." in (tmp_path / "home/.metier/plugins/pdf/SKILL.md").read_text()
    assert (tmp_path / "home/.metier/kept/pdf.orig/SKILL.md").exists() is (edits is Edits.KEEP)


def test_a_pinned_skill_is_updated_neither_by_name_nor_with_the_others(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    store.change(["pdf"], lambda entry: replace(entry, pinned=True))
    assert update(store, FakeFetcher(NEW), [], InstallOptions())[0] == ()
    with pytest.raises(RefusedError) as caught:
        update(store, FakeFetcher(NEW), ["pdf"], InstallOptions())
    assert caught.value.rule == "pinned"


def test_an_unreachable_source_is_reported_and_the_others_continue(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), prepared("docx"))
    renewals, _ = update(store, FakeFetcher(NEW), [], InstallOptions())
    assert {renewal.entry.name: bool(renewal.problem) for renewal in renewals} == {"pdf": False, "docx": True}
    assert "docx" in store.lock()


def test_a_skill_under_another_name_is_updated_under_that_name(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf", called="my-pdf"))
    update(store, FakeFetcher(NEW), [], InstallOptions())
    text = (tmp_path / "home/.metier/plugins/my-pdf/SKILL.md").read_text()
    assert "name: my-pdf" in text
    assert "Newer." in text


def test_a_dry_run_shows_the_diff_and_changes_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    before = snapshot(tmp_path)
    (renewal,), outcome = update(store, FakeFetcher(NEW), [], InstallOptions(dry_run=True))
    assert renewal.diff
    assert not outcome.done
    assert snapshot(tmp_path) == before


def test_new_tools_and_scripts_are_listed() -> None:
    before = contents("pdf", head="allowed-tools: Read")
    after = contents("pdf", head="allowed-tools: Read Bash(*)", files={"scripts/new.sh": b"curl"})
    assert new_permissions(before, after) == ("asks for more tools: Bash(*)", "new script: scripts/new.sh")


def test_a_binary_file_is_only_named_in_a_diff() -> None:
    before, after = contents("pdf", files={"a.bin": b"\0old"}), contents("pdf", files={"a.bin": b"\0new", "b.bin": b"\0"})
    assert changed_files(before, after) == ("M a.bin", "A b.bin")
    assert diff_text(before, after, "pdf").split("\n") == ["Binary or long file pdf/a.bin changed", "File pdf/b.bin added"]


def _with_network(host: str, **options: Any) -> FetchedSkill:
    script = f"import requests\nrequests.get('https://{host}/v1')\n".encode()
    return fetched("pdf", files={"scripts/get.py": script}, **options)


def _install_scanned(store: SkillStore, skill: FetchedSkill) -> None:
    store.install([prepare(skill, asked="example/skills", scan=scan)], InstallOptions())


def test_an_update_that_wants_more_is_refused_and_names_what_is_new(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    _install_scanned(store, _with_network("api.quarvex.net"))
    newer = FakeFetcher(_with_network("stats.quarvex.net", commit="d" * 40))
    (renewal,), _ = update(store, newer, [], InstallOptions(edits=Edits.MERGE), scan=scan)
    assert renewal.skill is None
    assert renewal.wider == Capabilities(hosts=("stats.quarvex.net",))
    assert "new: host stats.quarvex.net; --yes accepts it" in renewal.problem
    assert store.lock()["pdf"].origin.commit == "c" * 40


def test_an_update_that_wants_more_is_installed_if_the_user_accepts_it(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    _install_scanned(store, _with_network("api.quarvex.net"))
    asked: list[tuple[str, Capabilities]] = []

    def accept(name: str, wider: Capabilities) -> bool:
        asked.append((name, wider))
        return True

    options = InstallOptions(edits=Edits.MERGE, accept_wider=accept)
    update(store, FakeFetcher(_with_network("stats.quarvex.net", commit="d" * 40)), [], options, scan=scan)
    assert asked == [("pdf", Capabilities(hosts=("stats.quarvex.net",)))]
    assert store.lock()["pdf"].capabilities == Capabilities(hosts=("stats.quarvex.net",))


def test_an_update_that_wants_less_is_not_asked_about(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    _install_scanned(store, _with_network("api.quarvex.net"))
    update(store, FakeFetcher(fetched("pdf", commit="d" * 40)), [], InstallOptions(edits=Edits.MERGE), scan=scan)
    assert store.lock()["pdf"].capabilities == Capabilities()


def test_an_older_lock_without_a_list_is_compared_with_the_installed_files(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    _install_scanned(store, _with_network("api.quarvex.net"))
    store.change(["pdf"], lambda entry: replace(entry, capabilities=None))
    newer = FakeFetcher(_with_network("stats.quarvex.net", commit="d" * 40))
    (renewal,), _ = update(store, newer, [], InstallOptions(edits=Edits.MERGE), scan=scan)
    assert renewal.wider == Capabilities(hosts=("stats.quarvex.net",))


def test_the_same_files_keep_the_list_that_the_user_has_seen(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    _install_scanned(store, _with_network("api.quarvex.net"))
    seen = Capabilities(hosts=("seen.example",))
    store.change(["pdf"], lambda entry: replace(entry, capabilities=seen))
    update(store, FakeFetcher(_with_network("api.quarvex.net", commit="d" * 40)), [], InstallOptions(), scan=scan)
    assert (store.lock()["pdf"].origin.commit, store.lock()["pdf"].capabilities) == ("d" * 40, seen)
