"""Skills by name, one tier at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import FakeMachine, place, skill_text, write_skill
from metier.catalog import CatalogFilters, Source
from metier.errors import InvalidSkillError, NotFoundError, RefusedError, UnavailableError
from metier.sources import SkillLoader, build_catalog, load_folder


def loader_of(tmp_path: Path, *, filters: CatalogFilters | None = None, trusted: bool = True) -> SkillLoader:
    return SkillLoader(build_catalog([place(tmp_path, trusted=trusted)], filters=filters, machine=FakeMachine()))


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(tmp_path, "pdf", head="license: MIT", body="# How\n\nDo it.\n")
    (folder / "scripts").mkdir()
    (folder / "scripts/run.py").write_bytes(b"print(1)\n")
    return folder


@pytest.mark.usefixtures("skill")
def test_metadata_is_the_frontmatter(tmp_path: Path) -> None:
    manifest = loader_of(tmp_path).load_metadata("pdf")
    assert (manifest.name, manifest.license) == ("pdf", "MIT")


def test_metadata_needs_no_file_any_more(tmp_path: Path, skill: Path) -> None:
    loader = loader_of(tmp_path)
    (skill / "SKILL.md").unlink()
    assert loader.load_metadata("pdf").description == "Does it. Use when asked."


@pytest.mark.usefixtures("skill")
def test_full_is_the_instructions_and_the_list_of_files(tmp_path: Path) -> None:
    loaded = loader_of(tmp_path).load_full("pdf")
    assert (loaded.instructions, [entry.path for entry in loaded.resources()]) == ("# How\n\nDo it.", ["scripts/run.py"])


def test_an_edit_since_discovery_is_seen(tmp_path: Path, skill: Path) -> None:
    loader = loader_of(tmp_path)
    loader.load_full("pdf")
    (skill / "SKILL.md").write_text(skill_text("pdf", description="New.", body="New body."))
    loaded = loader.load_full("pdf")
    assert (loaded.description, loaded.instructions) == ("New.", "New body.")


@pytest.mark.usefixtures("skill")
def test_a_resource_is_its_bytes(tmp_path: Path) -> None:
    assert loader_of(tmp_path).load_resource("pdf", "scripts/run.py") == b"print(1)\n"


@pytest.mark.parametrize(
    ("path", "rule"),
    [("../x", "path-check"), ("/etc/passwd", "path-check"), ("out", "link-leaves-skill"), ("scripts", "not-a-file")],
)
def test_a_resource_outside_the_skill_is_refused(tmp_path: Path, skill: Path, path: str, rule: str) -> None:
    (skill / "out").symlink_to("/etc/passwd")
    with pytest.raises(RefusedError) as raised:
        loader_of(tmp_path).load_resource("pdf", path)
    assert raised.value.rule == rule


@pytest.mark.usefixtures("skill")
def test_a_resource_over_the_callers_cap_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as raised:
        loader_of(tmp_path).load_resource("pdf", "scripts/run.py", limit=3)
    assert raised.value.rule == "resource-size"


@pytest.mark.usefixtures("skill")
def test_a_resource_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"the skill has no file 'x\.md'"):
        loader_of(tmp_path).load_resource("pdf", "x.md")


def test_a_skill_that_vanished_since_discovery_is_invalid(tmp_path: Path, skill: Path) -> None:
    loader = loader_of(tmp_path)
    (skill / "SKILL.md").unlink()
    with pytest.raises(InvalidSkillError, match=r"SKILL\.md is missing"):
        loader.load_full("pdf")


# --- what the catalog says may not be used ----------------------------------------------------------------------------


def every_tier(loader: SkillLoader) -> list[type[Exception]]:
    """Returns the error that each of the three tiers raises."""
    raised: list[type[Exception]] = []
    for load in (loader.load_metadata, loader.load_full, lambda name: loader.load_resource(name, "SKILL.md")):
        with pytest.raises(Exception) as caught:
            load("pdf")
        raised.append(caught.type)
    return raised


@pytest.mark.usefixtures("skill")
def test_a_disabled_skill_is_refused_at_every_tier_with_the_reason(tmp_path: Path) -> None:
    loader = loader_of(tmp_path, filters=CatalogFilters(disabled=frozenset({"pdf"})))
    assert every_tier(loader) == [RefusedError] * 3
    with pytest.raises(RefusedError, match="pdf is disabled: disabled in the configuration") as raised:
        loader.load_full("pdf")
    assert raised.value.rule == "skill-disabled"


def test_an_unavailable_skill_says_what_is_missing_and_that_trying_again_is_no_use(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf", head="metadata:\n  requires: qpdf")
    loader = loader_of(tmp_path)
    assert every_tier(loader) == [UnavailableError] * 3
    with pytest.raises(UnavailableError, match="pdf cannot be used here: missing commands: qpdf") as raised:
        loader.load_full("pdf")
    assert raised.value.retryable is False


@pytest.mark.usefixtures("skill")
def test_an_untrusted_skill_is_refused(tmp_path: Path) -> None:
    assert every_tier(loader_of(tmp_path, trusted=False)) == [RefusedError] * 3


def test_an_invalid_skill_is_refused_with_its_problems(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf", data=b"nothing")
    assert every_tier(loader_of(tmp_path)) == [InvalidSkillError] * 3


def test_of_two_skills_of_one_name_the_winner_is_loaded(tmp_path: Path) -> None:
    write_skill(tmp_path / "user", "pdf", body="user")
    write_skill(tmp_path / "project", "pdf", body="project")
    places = [place(tmp_path / "user", Source.USER), place(tmp_path / "project")]
    assert SkillLoader(build_catalog(places, machine=FakeMachine())).load_full("pdf").instructions == "project"


# --- one folder -------------------------------------------------------------------------------------------------------


def test_a_folder_is_loaded_whatever_catalog_there_is(skill: Path) -> None:
    assert load_folder(skill).name == "pdf"
    assert load_folder(str(skill) + "/").manifest.license == "MIT"


def test_a_linked_folder_is_loaded_under_its_own_name(tmp_path: Path, skill: Path) -> None:
    (tmp_path / "alias").symlink_to(skill)
    assert load_folder(tmp_path / "alias").name == "pdf"


def test_a_folder_without_a_name_in_it_is_called_after_itself(tmp_path: Path) -> None:
    write_skill(tmp_path, "nameless", data=b"---\ndescription: Does it.\n---\n")
    assert load_folder(tmp_path / "nameless").name == "nameless"


@pytest.mark.parametrize("what", ["missing", "file", "empty"])
def test_a_folder_without_a_skill_is_invalid(tmp_path: Path, what: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidSkillError):
        load_folder(tmp_path / what)


def test_a_loaded_skill_knows_its_folder_and_its_source(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf")
    alone, listed = load_folder(folder), loader_of(tmp_path).load_full("pdf")
    assert (alone.folder, alone.source, alone.source_ref) == (str(folder), "local", str(folder))
    assert (listed.folder, listed.source, listed.source_ref) == (str(folder), "project", str(folder / "SKILL.md"))
