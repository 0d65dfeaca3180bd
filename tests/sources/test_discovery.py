"""Disk to catalog: which heads are read, and that one bad skill never hides a good one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import metier
from builders import FakeMachine, as_another_user, place, skill_text, write_skill
from metier.catalog import Catalog, Entry, Offer, Source, State
from metier.errors import InvalidSkillError, NotFoundError, UsageError
from metier.sources import DiscoveryLimits, MetadataCache, SkillLoader, build_catalog, discover


def only(catalog: Catalog) -> Entry:
    (entry,) = catalog.entries
    return entry


def found_with(tmp_path: Path, data: bytes) -> Entry:
    write_skill(tmp_path, "x", data=data)
    return only(discover(tmp_path))


def test_discover_gives_the_skills_of_a_folder(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf", description="Fills forms. Use when asked.")
    entry = discover(tmp_path)["pdf"]
    assert (entry.description, entry.state, entry.folder) == (
        "Fills forms. Use when asked.",
        State.ENABLED,
        str(tmp_path / "pdf"),
    )


def test_the_package_offers_discover_at_its_top(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf")
    assert metier.discover(str(tmp_path)).names == ("pdf",)


def test_of_several_folders_the_later_wins(tmp_path: Path) -> None:
    for place_name in ("one", "two"):
        write_skill(tmp_path / place_name, "pdf", description=place_name)
    assert discover(tmp_path / "one", tmp_path / "two")["pdf"].description == "two"


def test_naming_no_folder_finds_nothing() -> None:
    assert discover().entries == ()


def test_allow_and_deny_are_globs(tmp_path: Path) -> None:
    for name in ("pdf-a", "pdf-b", "git"):
        write_skill(tmp_path, name)
    assert discover(tmp_path, allow=["pdf-*"], deny=["*-b"]).names == ("pdf-a",)


@pytest.mark.parametrize("name", ["nosuch", "", "a-file"])
def test_a_named_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").touch()
    with pytest.raises(NotFoundError, match=f"no such folder: '{name}'"):
        discover(name)


def test_one_text_is_no_list_of_globs(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf")
    with pytest.raises(UsageError, match=r"allow is the text 'csv-\*' instead of a list"):
        discover(tmp_path, allow="csv-*")
    with pytest.raises(UsageError, match=r"deny is the text 'csv-\*' instead of a list"):
        discover(tmp_path, deny="csv-*")


def test_limits_are_the_callers_to_choose(tmp_path: Path) -> None:
    write_skill(tmp_path / "1", "deep")
    catalog = discover(tmp_path, limits=DiscoveryLimits(depth=1))
    assert (catalog.names, len(catalog.warnings)) == ((), 1)


BAD = {
    "no-head": b"# Just text\n",
    "unclosed": b"---\nname: unclosed\n",
    "bad-yaml": b"---\nname: [bad\n---\n",
    "a-list": b"---\n- a\n---\n",
    "no-description": b"---\nname: no-description\n---\n",
    "latin-1": b"---\nname: latin-1\ndescription: caf\xe9\n---\n",
    "nul": b"---\nname: nul\ndescription: a\0b\n---\n",
    "empty": b"",
    "one-byte": b"-",
    "anchors": b"---\nname: anchors\ndescription: &a x\nb: *a\n---\n",
    "twice": b"---\nname: twice\nname: twice\ndescription: x\n---\n",
    "huge-head": b"---\nname: huge-head\ndescription: x\nnote: " + b"a" * 70_000 + b"\n---\n",
    "endless-head": b"---\nname: endless-head\n" + "é: 漢\n".encode() * 20_000,
    "one-long-line": b"---" + b"a" * 100_000,
}


def test_bad_skills_are_skipped_each_with_its_reason_and_hide_no_good_one(tmp_path: Path) -> None:
    for name, data in BAD.items():
        write_skill(tmp_path, name, data=data)
    write_skill(tmp_path, "good")
    catalog = discover(tmp_path)
    assert catalog.names == ("good",)
    assert {entry.name: entry.reason for entry in catalog.skipped} == {
        "no-head": "there is no frontmatter",
        "unclosed": "the frontmatter that opens on line 1 is never closed",
        "bad-yaml": only(discover(tmp_path / "bad-yaml")).reason,
        "a-list": "the frontmatter is not a list of `key: value` lines",
        "no-description": only(discover(tmp_path / "no-description")).reason,
        "latin-1": "byte 0xe9 is not UTF-8",
        "nul": "holds a NUL byte, so it is not text",
        "empty": "there is no frontmatter",
        "one-byte": "there is no frontmatter",
        "anchors": only(discover(tmp_path / "anchors")).reason,
        "twice": only(discover(tmp_path / "twice")).reason,
        "huge-head": "the frontmatter is larger than 64 KiB",
        "endless-head": "the frontmatter that opens on line 1 is never closed",
        "one-long-line": only(discover(tmp_path / "one-long-line")).reason,
    }


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_skipped_skill_has_the_report_that_validation_would_give(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path, name, data=BAD[name])
    entry = only(discover(tmp_path))
    assert (entry.state, bool(entry.reason), entry.report.ok) == (State.SKIPPED, True, False)


def test_a_head_longer_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    entry = found_with(tmp_path, skill_text("x", head="note: " + "long " * 4000 + "\nlicense: MIT").encode())
    assert (entry.state, entry.manifest.license) == (State.ENABLED, "MIT")


@pytest.mark.parametrize("shift", range(-6, 7))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_head_may_end_anywhere_around_the_first_read(tmp_path: Path, shift: int, line_end: str) -> None:
    start = line_end.join(["---", "name: x", "description: Does it.", "note: "])
    filler = "a" * (8192 + shift - len(start) - len(line_end))
    entry = found_with(tmp_path, line_end.join([start + filler, "---", "Body.", ""]).encode())
    assert (entry.state, entry.report.ok, entry.manifest.extra) == (State.ENABLED, True, {"note": filler})


def test_a_line_that_only_begins_with_hyphens_at_the_edge_of_a_read_is_no_end(tmp_path: Path) -> None:
    start = "---\nname: x\ndescription: Does it.\nnote: "
    data = start + "a" * (8192 - 4 - len(start)) + "\n---not the end: 1\n---\nBody.\n"
    assert data[8188:8192] == "\n---"
    assert found_with(tmp_path, data.encode()).manifest.extra == {"note": "a" * (8192 - 4 - len(start)), "---not the end": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"---\r\nname: x\r\ndescription: Does it.\r\n---\r\nBody\r\n",
        b"---\rname: x\rdescription: Does it.\r---\rBody\r" + b"text " * 30_000,
        b"\xef\xbb\xbf---\nname: x\ndescription: Does it.\n---\nBody\n",
        b"---\nname: x\ndescription: Does it.\n---",
        b"---\nname: x\ndescription: Does it.\n---\n",
        b"---  \nname: x\ndescription: Does it.\n---\t \nBody\n",
        b"---\r\nname: x\r\ndescription: Does it.\r\n---",
        b"---\nname: x\ndescription: Does it.\n---\n" + b"x" * 200_000,
    ],
    ids=["crlf", "cr-and-long", "bom", "closed-at-eof", "no-body", "spaces", "crlf-at-eof", "long-body"],
)
def test_files_as_editors_leave_them_are_listed(tmp_path: Path, data: bytes) -> None:
    entry = found_with(tmp_path, data)
    assert (entry.state, entry.name, entry.description) == (State.ENABLED, "x", "Does it.")
    assert entry.manifest.description == "Does it."


def test_a_delimiter_with_spaces_ends_the_head_before_a_later_clean_one(tmp_path: Path) -> None:
    entry = found_with(tmp_path, b"---\nname: x\ndescription: Does it.\n--- \nBody: yes\n\n---\nMore\n")
    assert (entry.description, entry.offer.fields) == ("Does it.", "")


def test_a_body_that_is_not_utf_8_is_listed_and_reported_when_it_is_loaded(tmp_path: Path) -> None:
    write_skill(tmp_path, "x", data=skill_text("x").encode() + b"caf\xe9\n")
    catalog = discover(tmp_path)
    assert catalog.names == ("x",)
    with pytest.raises(InvalidSkillError, match="byte 0xe9 is not UTF-8"):
        SkillLoader(catalog).load_full("x")


def test_a_skill_file_over_one_mebibyte_is_skipped(tmp_path: Path) -> None:
    entry = found_with(tmp_path, skill_text("x", body="a" * (1 << 20)).encode())
    assert (entry.state, entry.reason) == (State.SKIPPED, "SKILL.md is larger than 1,048,576 bytes")


def test_a_skill_file_of_exactly_one_mebibyte_is_listed(tmp_path: Path) -> None:
    entry = found_with(tmp_path, skill_text("x", body="").encode().ljust(1 << 20, b"a"))
    assert entry.state is State.ENABLED


class Between(MetadataCache):
    """A cache that does something to the disk after the search and before the reading."""

    def __init__(self, file: Path, act: object) -> None:
        super().__init__(str(file))
        self.act = act

    def load(self, root: str) -> list[Offer]:
        assert callable(self.act)
        self.act()
        return super().load(root)


def test_a_file_that_vanishes_between_search_and_reading_is_skipped_and_hides_no_other(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    for name in ("gone", "stays"):
        write_skill(root, name)
    cache = Between(tmp_path / "cache.sqlite", (root / "gone/SKILL.md").unlink)
    catalog = build_catalog([place(root)], machine=FakeMachine(), cache=cache)
    assert catalog.names == ("stays",)
    assert [(entry.name, entry.reason) for entry in catalog.skipped] == [
        ("gone", "SKILL.md cannot be read: no such file or directory")
    ]


def test_a_file_that_comes_back_unchanged_after_it_vanished_is_listed_again(tmp_path: Path) -> None:
    file, aside = write_skill(tmp_path / "skills", "x") / "SKILL.md", tmp_path / "aside"
    cache = tmp_path / "cache.sqlite"
    build_catalog([place(tmp_path / "skills")], machine=FakeMachine(), cache=Between(cache, lambda: file.rename(aside)))
    aside.rename(file)
    assert discover(tmp_path / "skills", cache=cache).names == ("x",)


def test_a_pipe_put_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    file = write_skill(tmp_path / "skills", "x") / "SKILL.md"

    def swap() -> None:
        file.unlink()
        os.mkfifo(file)

    catalog = build_catalog([place(tmp_path / "skills")], machine=FakeMachine(), cache=Between(tmp_path / "c", swap))
    assert only(catalog).state is State.SKIPPED


def test_a_skill_in_a_folder_whose_name_is_not_utf_8_is_listed(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    write_skill(folder.parent, "cafe", folder=folder.name)
    entry = discover(tmp_path, cache=tmp_path / "cache.sqlite")["cafe"]
    assert (entry.state, entry.report.ok, entry.folder.encode("utf-8", "surrogateescape")[-4:]) == (
        State.ENABLED,
        True,
        b"caf\xe9",
    )


def test_a_file_that_may_not_be_read_is_skipped_with_the_reason_and_seen_once_it_may(open_path: Path) -> None:
    file = write_skill(open_path / "skills", "x") / "SKILL.md"
    (open_path / "cache").mkdir()
    (open_path / "cache").chmod(0o777)
    file.chmod(0)
    look = "print(json.dumps([(e.state, e.reason) for e in discover(folder + '/skills', cache=folder + '/cache/c').entries]))"
    if os.getuid() != 0:
        file.chmod(0o200)
    assert as_another_user(open_path, look) == [["skipped", "SKILL.md cannot be read: permission denied"]]
    file.chmod(0o644)
    assert as_another_user(open_path, look) == [["enabled", ""]]


# --- rows of the conformance table that are about discovery ---------------------------------------------------------


def test_row_60_two_skills_and_a_readme_are_two_skills(tmp_path: Path) -> None:
    (write_skill(tmp_path, "pdf-processing") / "extract.py").write_text("")
    write_skill(tmp_path, "data-analysis")
    (tmp_path / "README.md").write_text("# Skills\n")
    assert [entry.name for entry in discover(tmp_path).entries] == ["data-analysis", "pdf-processing"]


def test_row_62_the_project_skill_wins_over_the_user_skill_and_the_other_is_named(tmp_path: Path) -> None:
    user, project = write_skill(tmp_path / "user", "pdf"), write_skill(tmp_path / "project", "pdf")
    catalog = build_catalog([place(user.parent, Source.USER), place(project.parent)], machine=FakeMachine())
    assert catalog["pdf"].folder == str(project)
    assert (catalog.entries[1].folder, catalog.entries[1].reason) == (
        str(user),
        f"hidden by the project skill in {project}",
    )


def test_row_63_an_untrusted_folder_is_not_loaded_until_it_is_trusted(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf")
    untrusted, trusted = (build_catalog([place(tmp_path, trusted=t)], machine=FakeMachine()) for t in (False, True))
    assert (untrusted.names, only(untrusted).state, trusted.names) == ((), State.UNTRUSTED, ("pdf",))


def test_row_66_a_skill_hidden_from_models_is_in_the_catalog_for_people_only(tmp_path: Path) -> None:
    write_skill(tmp_path, "deploy", head="disable-model-invocation: true")
    catalog = discover(tmp_path)
    assert [entry.name for entry in catalog if entry.is_for_models] == []
    assert SkillLoader(catalog).load_full("deploy").instructions == "Do it."
