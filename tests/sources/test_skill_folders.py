"""Discovery of skills below a folder: bounded, in order, and never through a link out of it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from builders import as_another_user, write_skill
from metier.sources.skill_folders import SKIPPED_NAMES, FolderSearch, find_skill_folders


def names(result: FolderSearch) -> list[str]:
    return [os.path.basename(folder) for folder, _, _ in result.found]


def invalid(result: FolderSearch) -> list[tuple[str, str, str]]:
    return [(os.path.basename(folder), code, message) for folder, code, message in result.invalid]


def test_a_folder_of_skills_gives_each_with_its_time_and_size_sorted_by_folder(tmp_path: Path) -> None:
    for name in ("zip", "abc", "mid"):
        write_skill(tmp_path, name)
    files = [tmp_path / name / "SKILL.md" for name in ("abc", "mid", "zip")]
    assert find_skill_folders(str(tmp_path)).found == [(str(f.parent), f.stat().st_mtime_ns, f.stat().st_size) for f in files]


def test_loose_files_beside_skills_are_not_skills(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf-processing")
    (tmp_path / "pdf-processing/scripts").mkdir()
    (tmp_path / "pdf-processing/scripts/extract.py").write_text("")
    write_skill(tmp_path, "data-analysis")
    (tmp_path / "README.md").write_text("# Skills")
    result = find_skill_folders(str(tmp_path))
    assert (names(result), result.invalid, result.warnings) == (["data-analysis", "pdf-processing"], [], [])


def test_nested_skills_are_found(tmp_path: Path) -> None:
    write_skill(tmp_path / "team/docs", "pdf")
    write_skill(tmp_path / "team", "git")
    assert names(find_skill_folders(str(tmp_path))) == ["pdf", "git"]


def test_the_search_stops_below_a_skill(tmp_path: Path) -> None:
    write_skill(write_skill(tmp_path, "outer"), "inner")
    assert names(find_skill_folders(str(tmp_path))) == ["outer"]


def test_a_root_that_is_a_skill_itself_is_the_one_skill(tmp_path: Path) -> None:
    root = write_skill(tmp_path, "only")
    write_skill(root, "inner")
    assert find_skill_folders(str(root)).found[0][0] == str(root)
    assert names(find_skill_folders(str(root))) == ["only"]


def test_a_root_that_does_not_exist_is_an_empty_place(tmp_path: Path) -> None:
    result = find_skill_folders(str(tmp_path / "nothing"))
    assert (result.found, result.invalid, result.warnings) == ([], [], [])


def test_a_root_that_is_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert find_skill_folders(str(tmp_path / "file")).warnings == [f"{tmp_path}/file cannot be searched: not a directory"]


def test_a_root_reached_through_a_link_is_searched_where_it_really_is(tmp_path: Path) -> None:
    write_skill(tmp_path / "real", "pdf")
    (tmp_path / "link").symlink_to("real")
    assert [folder for folder, _, _ in find_skill_folders(str(tmp_path / "link")).found] == [str(tmp_path / "real/pdf")]


@pytest.mark.parametrize(
    ("root", "reason"),
    [("loop", "too many levels of symbolic links"), ("x" * 300, "file name too long"), ("a\0b", "embedded null")],
)
def test_a_root_that_no_system_call_likes_is_reported_and_not_raised(tmp_path: Path, root: str, reason: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (cut,) = find_skill_folders(f"{tmp_path}/{root}").warnings
    assert reason in cut.partition(" cannot be searched: ")[2]


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_skills_are_found_down_to_the_depth_and_what_is_deeper_is_named(tmp_path: Path) -> None:
    write_skill(tmp_path / "1/2/3/4/5", "sixth")
    write_skill(tmp_path / "1/2/3/4/5/6", "seventh")
    result = find_skill_folders(str(tmp_path))
    assert names(result) == ["sixth"]
    (cut,) = result.warnings
    assert cut == (
        f"{tmp_path}: 1 folder deeper than 6 levels not searched, such as {tmp_path}/1/2/3/4/5/6; "
        "raise skills.max_depth to see them"
    )


def test_a_larger_depth_sees_the_rest(tmp_path: Path) -> None:
    write_skill(tmp_path / "1/2/3/4/5/6", "seventh")
    result = find_skill_folders(str(tmp_path), depth=7)
    assert (names(result), result.warnings) == (["seventh"], [])


def test_a_search_stops_at_the_folder_limit_and_says_where(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"empty{number}").mkdir()
    result = find_skill_folders(str(tmp_path), directories=5)
    (cut,) = result.warnings
    assert cut.startswith(f"{tmp_path}: stopped after 5 folders, at {tmp_path}/empty")
    assert cut.endswith("; raise skills.max_directories to see the rest")


def test_skills_found_before_the_limit_are_kept_in_order(tmp_path: Path) -> None:
    for name in ("c", "a", "b"):
        write_skill(tmp_path, name)
        (tmp_path / f"empty-{name}").mkdir()
    result = find_skill_folders(str(tmp_path), directories=1)
    assert (names(result), len(result.warnings)) == (["a", "b", "c"], 1)


def test_three_thousand_flat_skills_are_all_found_because_only_other_folders_count(tmp_path: Path) -> None:
    for number in range(3000):
        folder = tmp_path / f"s{number}"
        folder.mkdir()
        (folder / "SKILL.md").touch()
    result = find_skill_folders(str(tmp_path), directories=2000)
    assert (len(result.found), result.warnings) == (3000, [])


@pytest.mark.parametrize("name", sorted(SKIPPED_NAMES))
def test_folders_that_never_hold_skills_are_not_searched(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path / name / "deeper", "hidden")
    assert (names(find_skill_folders(str(tmp_path))), find_skill_folders(str(tmp_path)).warnings) == ([], [])


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_link_to_a_skill_outside_is_reported_and_never_followed(tmp_path: Path) -> None:
    outside = write_skill(tmp_path / "outside", "pdf")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/pdf").symlink_to(outside)
    result = find_skill_folders(str(tmp_path / "root"))
    assert result.found == []
    assert invalid(result) == [("pdf", "SK017", f"it is a link out of the searched folder, to {outside}")]


def test_a_link_to_a_folder_full_of_skills_outside_is_never_followed(tmp_path: Path) -> None:
    write_skill(tmp_path / "outside", "pdf")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/all").symlink_to(tmp_path / "outside")
    assert find_skill_folders(str(tmp_path / "root")).found == []


def test_a_sibling_whose_name_starts_like_the_root_is_outside(tmp_path: Path) -> None:
    outside = write_skill(tmp_path / "root-2", "pdf")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/pdf").symlink_to(outside)
    assert [code for _, code, _ in find_skill_folders(str(tmp_path / "root")).invalid] == ["SK017"]


def test_a_link_inside_the_root_adds_no_second_copy(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf")
    (tmp_path / "again").symlink_to("pdf")
    result = find_skill_folders(str(tmp_path))
    assert (names(result), result.invalid) == (["pdf"], [])


def test_loops_of_links_end(tmp_path: Path) -> None:
    write_skill(tmp_path / "sub", "pdf")
    (tmp_path / "sub/up").symlink_to("..")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert (names(find_skill_folders(str(tmp_path))), find_skill_folders(str(tmp_path)).invalid) == (["pdf"], [])


# --- what stands where SKILL.md should ------------------------------------------------------------------------------


def folder_in(tmp_path: Path) -> Path:
    folder = tmp_path / "root/pdf"
    folder.mkdir(parents=True)
    return folder


def test_a_folder_called_skill_md_is_not_a_skill(tmp_path: Path) -> None:
    (folder_in(tmp_path) / "SKILL.md").mkdir()
    assert invalid(find_skill_folders(str(tmp_path / "root"))) == [("pdf", "SK002", "SKILL.md is not a file")]


def test_a_pipe_called_skill_md_is_not_a_skill(tmp_path: Path) -> None:
    os.mkfifo(folder_in(tmp_path) / "SKILL.md")
    assert invalid(find_skill_folders(str(tmp_path / "root"))) == [("pdf", "SK002", "SKILL.md is not a file")]


def test_a_skill_md_that_links_inside_its_skill_is_the_file_it_links_to(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    (folder / "real.md").write_text("twelve bytes")
    (folder / "SKILL.md").symlink_to("real.md")
    result = find_skill_folders(str(tmp_path / "root"))
    assert ([size for _, _, size in result.found], result.invalid) == ([12], [])


def test_a_skill_md_that_links_to_a_folder_of_its_skill_is_not_a_skill(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    (folder / "scripts").mkdir()
    (folder / "SKILL.md").symlink_to("scripts")
    assert invalid(find_skill_folders(str(tmp_path / "root"))) == [("pdf", "SK002", "SKILL.md is not a file")]


def test_a_skill_md_that_links_out_of_its_skill_is_refused_even_inside_the_root(tmp_path: Path) -> None:
    other = write_skill(tmp_path / "root", "other") / "SKILL.md"
    (folder_in(tmp_path) / "SKILL.md").symlink_to(other)
    result = find_skill_folders(str(tmp_path / "root"))
    assert names(result) == ["other"]
    assert invalid(result) == [("pdf", "SK017", f"SKILL.md is a link out of the skill, to {other}")]


def test_a_dangling_skill_md_is_reported(tmp_path: Path) -> None:
    (folder_in(tmp_path) / "SKILL.md").symlink_to("nothing")
    assert invalid(find_skill_folders(str(tmp_path / "root"))) == [("pdf", "SK015", "SKILL.md is a broken link")]


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_file_that_is_nearly_called_skill_md_is_reported(tmp_path: Path, name: str) -> None:
    (folder_in(tmp_path) / name).write_text("")
    assert invalid(find_skill_folders(str(tmp_path / "root"))) == [
        ("pdf", "SK013", f"the file is named {name} instead of SKILL.md")
    ]


def test_both_spellings_side_by_side_are_one_good_skill(tmp_path: Path) -> None:
    (write_skill(tmp_path, "pdf") / "skill.md").write_text("")
    assert (names(find_skill_folders(str(tmp_path))), find_skill_folders(str(tmp_path)).invalid) == (["pdf"], [])


def test_names_that_are_not_utf_8_are_found(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/SKILL.md", "wb"):
        pass
    assert names(find_skill_folders(str(tmp_path))) == ["caf\udce9"]


# --- folders that cannot be read, or are not there any more ---------------------------------------------------------


def test_a_folder_that_may_not_be_read_is_named_and_hides_no_other(open_path: Path) -> None:
    write_skill(open_path, "good")
    (open_path / "closed/x").mkdir(parents=True)
    (open_path / "closed").chmod(0)
    if os.getuid() == 0:
        os.chown(open_path / "closed", 0, 0)
    result = as_another_user(open_path, "r = find_skill_folders(folder); print(json.dumps([r.found, r.warnings]))")
    assert [os.path.basename(folder) for folder, _, _ in result[0]] == ["good"]
    assert result[1] == [f"{open_path}/closed cannot be searched: permission denied"]


def test_a_root_that_may_not_be_read_says_so(open_path: Path) -> None:
    (open_path / "closed").mkdir(mode=0)
    cut = as_another_user(open_path / "closed", "print(json.dumps(find_skill_folders(folder).warnings))")
    assert cut == [f"{open_path}/closed cannot be searched: permission denied"]


def test_a_skill_in_a_folder_that_may_be_listed_but_not_entered_is_called_unreadable(open_path: Path) -> None:
    write_skill(open_path, "half").chmod(0o744 if os.getuid() == 0 else 0o600)
    result = as_another_user(open_path, "print(json.dumps(find_skill_folders(folder).invalid))")
    assert result == [[f"{open_path}/half", "SK015", "SKILL.md cannot be read: permission denied"]]


def test_a_path_that_grows_too_long_is_named_and_hides_no_other(tmp_path: Path) -> None:
    root = str(tmp_path)
    while len(root) < 3800:
        root = os.path.join(root, "d" * min(200, 3801 - len(root)))
        os.mkdir(root)
    for name in ("a" * 250, "z" * 250):
        here = os.open(root, os.O_RDONLY)
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.mkdir("y" * 100, dir_fd=inner)
        os.close(inner)
        os.close(here)
    write_skill(Path(root), "good")
    result = find_skill_folders(root)
    assert names(result) == ["good"]
    assert [cut.rpartition(": ")[2] for cut in result.warnings] == ["file name too long"] * 2


def test_a_folder_that_vanishes_during_the_search_hides_no_other(tmp_path: Path) -> None:
    for number in range(30):
        write_skill(tmp_path / f"group{number}", f"s{number}")
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            for number in range(20):
                (tmp_path / f"flicker{number}").mkdir()
            for number in range(20):
                (tmp_path / f"flicker{number}").rmdir()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        results = [find_skill_folders(str(tmp_path)) for _ in range(150)]
    finally:
        stop.set()
        thread.join()
    assert {len(result.found) for result in results} == {30}
    assert {cut for result in results for cut in result.warnings} == set()
