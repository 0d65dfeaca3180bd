"""A skill's files on disk: nothing outside the folder is ever read, not even through a link swapped in meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from builders import as_another_user
from metier.errors import NotFoundError, RefusedError
from metier.sources import DiskFiles
from metier.spec import OwnFiles

LIMIT = 1 << 20
CANARY = b"canary: must not be read"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A skill with a file and a folder; the canary lies beside it."""
    folder = tmp_path / "skill"
    (folder / "references").mkdir(parents=True)
    (folder / "references/guide.md").write_bytes(b"guide")
    (folder / "SKILL.md").write_bytes(b"---\n")
    (tmp_path / "secret.txt").write_bytes(CANARY)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/guide.md").write_bytes(CANARY)
    return folder


def read(skill: Path, path: str, limit: int = LIMIT) -> bytes:
    return DiskFiles(skill).read(path, limit=limit)


def refused(skill: Path, path: str, limit: int = LIMIT) -> tuple[str, str]:
    with pytest.raises(RefusedError) as raised:
        read(skill, path, limit)
    return raised.value.rule, str(raised.value)


@pytest.mark.parametrize("path", ["references/guide.md", "./references/guide.md", "references//guide.md"])
def test_a_file_of_the_skill_is_read(skill: Path, path: str) -> None:
    assert read(skill, path) == b"guide"


@pytest.mark.parametrize("path", ["nothing.md", "references/nothing.md", "nothing/guide.md"])
def test_a_file_that_is_not_there_is_not_found(skill: Path, path: str) -> None:
    with pytest.raises(NotFoundError, match="the skill has no file"):
        read(skill, path)


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "references/../../secret.txt", "..", "", ".", "/", "~/x", "a\0b", "a\\..\\b", "C:/x", "references/.."],
)
def test_paths_that_leave_the_skill_are_refused_before_the_disk_is_asked(skill: Path, path: str) -> None:
    assert refused(skill, path)[0] == "path-check"


def test_an_absolute_path_is_refused_even_to_a_file_inside(skill: Path) -> None:
    assert refused(skill, str(skill / "references/guide.md"))[0] == "path-check"


def test_the_skill_may_be_reached_through_a_link(skill: Path) -> None:
    (skill.parent / "alias").symlink_to("skill")
    assert read(skill.parent / "alias", "references/guide.md") == b"guide"


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target", ["references/guide.md", "./references/../references/guide.md", "{skill}/references/guide.md"]
)
def test_a_link_that_stays_inside_is_followed(skill: Path, target: str) -> None:
    (skill / "link.md").symlink_to(target.format(skill=skill))
    assert read(skill, "link.md") == b"guide"


def test_a_link_to_a_folder_inside_is_followed(skill: Path) -> None:
    (skill / "docs").symlink_to("references")
    assert read(skill, "docs/guide.md") == b"guide"


def test_a_link_in_a_subfolder_is_relative_to_it(skill: Path) -> None:
    (skill / "references/top.md").symlink_to("../SKILL.md")
    assert read(skill, "references/top.md") == b"---\n"


@pytest.mark.parametrize(
    "target",
    [
        "../secret.txt",
        "/etc/passwd",
        "{outside}/secret.txt",
        "references/../../secret.txt",
        "..",
        ".",
        "{skill}-2/x",
        "{skill}",
    ],
)
def test_a_link_out_of_the_skill_is_refused(skill: Path, target: str) -> None:
    (skill / "link.md").symlink_to(target.format(outside=skill.parent, skill=skill))
    assert refused(skill, "link.md") == ("link-leaves-skill", "'link.md' is a link out of the skill")


@pytest.mark.parametrize("target", ["../secrets", "{outside}/secrets"])
def test_a_link_to_a_folder_outside_is_refused(skill: Path, target: str) -> None:
    (skill / "docs").symlink_to(target.format(outside=skill.parent))
    assert refused(skill, "docs/guide.md") == ("link-leaves-skill", "'docs/guide.md' is a link out of the skill")


def test_a_link_through_another_link_cannot_climb_out(skill: Path) -> None:
    (skill / "a").symlink_to("references")
    (skill / "b").symlink_to("a/../../secret.txt")
    assert refused(skill, "b")[0] == "link-leaves-skill"


def test_links_that_run_in_a_circle_are_refused(skill: Path) -> None:
    (skill / "a").symlink_to("b")
    (skill / "b").symlink_to("a")
    assert refused(skill, "a")[0] == "link-leaves-skill"


def test_a_link_to_nothing_is_not_found(skill: Path) -> None:
    (skill / "link.md").symlink_to("nothing.md")
    with pytest.raises(NotFoundError):
        read(skill, "link.md")


# --- what is no ordinary file -----------------------------------------------------------------------------------------


def test_a_folder_is_not_a_file(skill: Path) -> None:
    assert refused(skill, "references") == ("not-a-file", "'references' is not a file")


def test_a_file_in_the_way_of_a_folder_is_refused(skill: Path) -> None:
    assert refused(skill, "SKILL.md/x")[0] == "not-a-file"


def test_a_pipe_is_refused_and_does_not_hang(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    with ThreadPoolExecutor(1) as reader:
        answer = reader.submit(refused, skill, "pipe")
        try:
            assert answer.result(timeout=10)[0] == "not-a-file"
        except TimeoutError:
            # Releases a thread that hangs there, so that only this test fails.
            os.close(os.open(skill / "pipe", os.O_WRONLY | os.O_NONBLOCK))
            raise


def test_a_socket_is_refused(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(skill)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert refused(skill, "socket")[0] == "not-a-file"


def test_a_device_is_refused(skill: Path) -> None:
    (skill / "null").symlink_to("/dev/null")
    assert refused(skill, "null")[0] == "link-leaves-skill"


def test_a_file_over_the_cap_is_refused_and_one_at_the_cap_is_read(skill: Path) -> None:
    (skill / "big").write_bytes(b"x" * 1000)
    assert len(read(skill, "big", 1000)) == 1000
    assert refused(skill, "big", 999) == ("resource-size", "'big' is larger than 999 bytes")


def test_a_sparse_file_of_five_gigabytes_is_refused_without_reading_it(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(skill / "sparse", "wb") as stream:
        stream.truncate(5 << 30)

    def fail(descriptor: int, size: int) -> bytes:
        raise AssertionError(f"read {size} bytes of {descriptor}")

    monkeypatch.setattr(os, "read", fail)
    assert refused(skill, "sparse")[0] == "resource-size"


def test_a_file_that_may_not_be_read_says_so(open_path: Path) -> None:
    (open_path / "closed.md").write_text("x")
    (open_path / "closed.md").chmod(0)
    code = """
    try:
        DiskFiles(folder).read("closed.md", limit=10)
    except RefusedError as error:
        print(json.dumps([error.rule, str(error)]))
    """
    assert as_another_user(open_path, code) == ["unreadable", "'closed.md' cannot be read: permission denied"]


def test_a_folder_that_is_gone_is_not_found(skill: Path) -> None:
    files = DiskFiles(skill)
    skill.rename(skill.parent / "elsewhere")
    with pytest.raises(NotFoundError, match="does not exist"):
        files.read("SKILL.md", limit=LIMIT)
    assert list(files.list()) == []


def test_a_folder_that_became_a_link_is_refused(skill: Path) -> None:
    files = DiskFiles(skill)
    skill.rename(skill.parent / "elsewhere")
    skill.symlink_to(skill.parent / "secrets")
    with pytest.raises(RefusedError) as raised:
        files.read("guide.md", limit=LIMIT)
    assert raised.value.rule == "unreadable"


def test_no_descriptor_is_left_open(skill: Path) -> None:
    (skill / "out").symlink_to("../secret.txt")
    (skill / "in").symlink_to("references/guide.md")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in ("references/guide.md", "in", "out", "references", "nothing", "SKILL.md/x", "../x"):
        try:
            read(skill, path)
        except (NotFoundError, RefusedError):
            pass
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


# --- swapped while we read --------------------------------------------------------------------------------------------


def leaks_while(swap: Callable[[], None], files: DiskFiles, reads: int = 5_000) -> tuple[int, int]:
    """Counts how often the canary and the right content are read while another thread swaps."""
    stop = threading.Event()

    def keep_swapping() -> None:
        while not stop.is_set():
            swap()

    thread = threading.Thread(target=keep_swapping)
    thread.start()
    leaked = good = 0
    try:
        for _ in range(reads):
            try:
                data = files.read("references/guide.md", limit=LIMIT)
            except (NotFoundError, RefusedError):
                continue
            leaked += data == CANARY
            good += data == b"guide"
    finally:
        stop.set()
        thread.join()
    return leaked, good


def test_a_folder_swapped_for_a_link_while_we_read_leaks_nothing(skill: Path) -> None:
    here, aside, link = skill / "references", skill / "aside", skill / "link"
    link.symlink_to(skill.parent / "secrets")

    def swap() -> None:
        here.rename(aside)
        link.rename(here)
        here.rename(link)
        aside.rename(here)

    leaked, good = leaks_while(swap, DiskFiles(skill))
    assert leaked == 0
    assert good > 0


def test_a_file_swapped_for_a_link_while_we_read_leaks_nothing(skill: Path) -> None:
    here, aside, link = skill / "references/guide.md", skill / "aside", skill / "link"
    link.symlink_to(skill.parent / "secret.txt")

    def swap() -> None:
        here.rename(aside)
        link.rename(here)
        here.rename(link)
        aside.rename(here)

    leaked, good = leaks_while(swap, DiskFiles(skill))
    assert leaked == 0
    assert good > 0


def test_a_link_that_is_retargeted_while_we_follow_it_leaks_nothing(skill: Path) -> None:
    (skill / "inside").mkdir()
    (skill / "inside/guide.md").write_bytes(b"guide")
    (skill / "references/guide.md").unlink()
    (skill / "references").rmdir()
    (skill / "references").symlink_to("inside")
    targets = [skill.parent / "secrets", Path("inside")]

    def swap() -> None:
        for target in targets:
            (skill / "next").symlink_to(target)
            (skill / "next").rename(skill / "references")

    leaked, good = leaks_while(swap, DiskFiles(skill))
    assert leaked == 0
    assert good > 0


# --- listing ----------------------------------------------------------------------------------------------------------


def test_the_listing_is_every_ordinary_file_sorted_with_size_and_mode(skill: Path) -> None:
    (skill / "scripts").mkdir()
    (skill / "scripts/run.sh").write_text("#!/bin/sh\n")
    (skill / "scripts/run.sh").chmod(0o755)
    assert [(entry.path, entry.size, entry.executable) for entry in DiskFiles(skill).list()] == [
        ("SKILL.md", 4, False),
        ("references/guide.md", 5, False),
        ("scripts/run.sh", 10, True),
    ]


def test_the_listing_leaves_out_links_and_pipes_and_no_folder(skill: Path) -> None:
    (skill / "link.md").symlink_to("../secret.txt")
    (skill / "dir").symlink_to("../secrets")
    os.mkfifo(skill / "pipe")
    for name in (".git", "node_modules", "__pycache__"):
        (skill / name).mkdir()
        (skill / name / "file").write_text("")
    own = ["SKILL.md", "references/guide.md"]
    generated = [".git/file", "__pycache__/file", "node_modules/file"]
    assert [entry.path for entry in DiskFiles(skill).list()] == sorted([*own, *generated])
    assert [entry.path for entry in OwnFiles(DiskFiles(skill)).list()] == own


def test_five_hundred_files_are_listed_and_none_of_them_read(skill: Path) -> None:
    for number in range(500):
        (skill / f"references/{number:03}.md").touch()
    times = {path: path.stat().st_atime_ns for path in skill.rglob("*.md")}
    assert len(list(DiskFiles(skill).list())) == 502
    assert {path: path.stat().st_atime_ns for path in skill.rglob("*.md")} == times


def test_the_listing_shows_which_folder_it_is_of(skill: Path) -> None:
    assert repr(DiskFiles(skill)) == f"DiskFiles({str(skill)!r})"
