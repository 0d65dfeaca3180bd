"""The saved selection index: opened without reading a body, built anew whenever it is not good."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from builders import write_skill
from metier.catalog import Catalog
from metier.errors import UnavailableError
from metier.selection import minilm
from metier.selection.minilm import MiniLM
from metier.sources import discover
from metier.sources.selection_index import IndexedSkill, open_selector, select


def skill(folder: Path, name: str, description: str, body: str = "") -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
    os.utime(file, ns=(10**18, 10**18))
    return file


@pytest.fixture
def library(tmp_path: Path) -> Path:
    skill(tmp_path / "skills", "fill-forms", "Fills PDF forms. Use when the user has a form to fill.")
    skill(tmp_path / "skills", "deploy", "Deploys a web service. Use when it goes live.", "Rolls back a zebrafish release.")
    return tmp_path / "skills"


def names(catalog: Catalog, file: Path | None, query: str) -> list[str]:
    return [match.name for match in open_selector(catalog, str(file) if file else None).select(query, limit=2)]


def test_a_saved_index_answers_like_a_new_one(library: Path, tmp_path: Path) -> None:
    catalog, file = discover(library), tmp_path / "selection.index"
    queries = ("fill in this PDF form", "deploy the service", "zebrafish release")
    fresh = [names(catalog, None, query) for query in queries]
    assert [names(catalog, file, query) for query in queries] == fresh
    assert [names(catalog, file, query) for query in queries] == fresh
    assert file.exists()


def test_opening_a_saved_index_reads_no_body(library: Path, tmp_path: Path) -> None:
    catalog, file = discover(library), tmp_path / "selection.index"
    names(catalog, file, "deploy")
    for entry in catalog:
        Path(entry.location).unlink()
    assert names(catalog, file, "zebrafish release")[0] == "deploy"


def test_a_changed_skill_is_indexed_again_and_a_removed_one_is_gone(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "selection.index"
    names(discover(library), file, "deploy")
    changed = skill(library, "fill-forms", "Waters the plants in the office. Use when they are thirsty.")
    os.utime(changed, ns=(2 * 10**18, 2 * 10**18))
    Path(library / "deploy" / "SKILL.md").unlink()
    found = open_selector(discover(library), str(file)).select("water the plants", limit=5)
    assert [match.name for match in found] == ["fill-forms"]
    assert found.considered == 1


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"metier\x00\x01" + b"\xff" * 500])
def test_a_broken_index_is_built_anew(library: Path, tmp_path: Path, damage: bytes) -> None:
    catalog, file = discover(library), tmp_path / "selection.index"
    file.write_bytes(damage)
    assert names(catalog, file, "deploy the service")[0] == "deploy"
    assert len(file.read_bytes()) > 500


def test_an_index_cut_short_is_built_anew(library: Path, tmp_path: Path) -> None:
    catalog, file = discover(library), tmp_path / "selection.index"
    names(catalog, file, "deploy")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert names(catalog, file, "deploy the service")[0] == "deploy"
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_costs_only_time(library: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert names(discover(library), blocked / "selection.index", "deploy the service")[0] == "deploy"


def test_an_entry_offers_its_triggers_and_tags(tmp_path: Path) -> None:
    folder = tmp_path / "hello"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: hello\ndescription: d\ntags: [a, b]\ntriggers:\n  keywords: [hi]\n---\nBody\n")
    [entry] = discover(tmp_path)
    indexed = IndexedSkill(entry)
    assert indexed.tags == ("a", "b")
    assert indexed.triggers == {"keywords": ("hi",), "verbs": (), "patterns": ()}
    assert indexed.body.strip() == "Body"


needs_the_extra = pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="needs the extra `semantic`")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the texts that the sentence model read."""
    texts: list[str] = []
    encode = MiniLM.__call__

    def remembered(self: MiniLM, given: Sequence[str]) -> Any:
        texts.extend(text for text in given if "Use when" in text)
        return encode(self, given)

    monkeypatch.setattr(MiniLM, "__call__", remembered)
    return texts


@needs_the_extra
def test_meanings_are_kept_beside_the_index_and_read_once(library: Path, tmp_path: Path, read: list[str]) -> None:
    file = tmp_path / "selection.index"
    for _ in range(2):
        found = open_selector(discover(library), str(file), semantic=True).select("complete this questionnaire", limit=1)
        assert [match.name for match in found] == ["fill-forms"]
    assert len(read) == 2
    skill(library, "water-plants", "Waters the plants. Use when they are dry.")
    open_selector(discover(library), str(file), semantic=True)
    assert len(read) == 3


@needs_the_extra
def test_meanings_of_skills_that_are_gone_go_when_others_come(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "selection.index"
    open_selector(discover(library), str(file), semantic=True)
    kept = (tmp_path / "selection.index.embeddings").stat().st_size
    (library / "deploy" / "SKILL.md").unlink()
    skill(library, "water-plants", "Waters the plants. Use when they are dry.")
    open_selector(discover(library), str(file), semantic=True)
    assert (tmp_path / "selection.index.embeddings").stat().st_size == kept


@needs_the_extra
@pytest.mark.parametrize("damage", [b"", b"nonsense", b"metier\x00\x01" + b"\xff" * 500])
def test_broken_meanings_are_read_anew(library: Path, tmp_path: Path, read: list[str], damage: bytes) -> None:
    file = tmp_path / "selection.index"
    (tmp_path / "selection.index.embeddings").write_bytes(damage)
    open_selector(discover(library), str(file), semantic=True)
    open_selector(discover(library), str(file), semantic=True)
    assert len(read) == 2


def test_without_the_extra_ranking_by_meaning_is_refused(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_WHEEL", "a_wheel_that_is_not_here")
    with pytest.raises(UnavailableError, match="needs a sentence model"):
        open_selector(discover(library), None, semantic=True)


def test_select_takes_a_catalog_or_a_folder_and_leaves_out_skills_that_are_closed_to_models(tmp_path: Path) -> None:
    write_skill(tmp_path, "merge-pdf", description="Merges PDF files. Use when the user wants one PDF of several.")
    write_skill(tmp_path, "hidden-pdf", description="Merges PDF files.", head="disable-model-invocation: true")
    for skills in (tmp_path, str(tmp_path), discover(tmp_path)):
        found = select("merge these two PDF files", skills, limit=5)
        assert [match.name for match in found] == ["merge-pdf"]
    index = tmp_path / "selection.index"
    assert len(select("merge these two PDF files", tmp_path, index=str(index))) == 1
    assert index.exists()
