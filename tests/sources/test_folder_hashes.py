"""The hashes that approvals are bound to: of everything in the folder, and never of an older state of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from builders import aged, as_another_user, settle
from metier.archive import digest, digest_of_hashes
from metier.errors import RefusedError
from metier.sources import DiskFiles, hash_folder


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_files_links_and_pipes_have_a_line_each(tmp_path: Path) -> None:
    write(tmp_path, {"SKILL.md": "a", ".git/config": "b", "x/node_modules/y.js": "c", "__pycache__/z.pyc": "d", ".env": "e"})
    (tmp_path / "link").symlink_to("SKILL.md")
    (tmp_path / "SKILL.md").chmod(0o755)
    os.mkfifo(tmp_path / "pipe")
    assert hash_folder(str(tmp_path)) == {
        "SKILL.md": ("100755", sha("a")), ".git/config": ("100644", sha("b")), "x/node_modules/y.js": ("100644", sha("c")),
        "__pycache__/z.pyc": ("100644", sha("d")), ".env": ("100644", sha("e")), "link": ("120000", sha("SKILL.md")),
        "pipe": ("000000", ""),
    }  # fmt: skip


def test_it_is_the_digest_of_an_archive_with_the_same_files(tmp_path: Path) -> None:
    write(tmp_path, {"SKILL.md": "a", "scripts/run.sh": "b", "node_modules/x": "c"})
    assert digest_of_hashes(hash_folder(str(tmp_path))) == digest(DiskFiles(tmp_path))


def test_a_name_that_is_not_text_is_hashed_too(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff\n", "w") as stream:
        stream.write("x")
    assert digest_of_hashes(hash_folder(str(tmp_path))).startswith("sha256:")


def test_too_many_files_are_refused_and_not_left_out(tmp_path: Path) -> None:
    write(tmp_path, {str(number): "" for number in range(4)})
    assert len(hash_folder(str(tmp_path), most=4)) == 4
    with pytest.raises(RefusedError, match="more than 3 files and cannot be approved"):
        hash_folder(str(tmp_path), most=3)


def test_a_change_shows_although_size_and_modification_time_are_the_same(tmp_path: Path) -> None:
    file = write(tmp_path, {"a": "one"}) / "a"
    hash_folder(str(tmp_path))
    before = aged(file).stat()
    file.write_text("two")
    settle(file, before)
    assert hash_folder(str(tmp_path)) == {"a": ("100644", sha("two"))}


def test_every_one_of_many_quick_changes_shows(tmp_path: Path) -> None:
    for number in range(200):
        write(tmp_path, {"a": f"{number:03}"})
        assert hash_folder(str(tmp_path))["a"][1] == sha(f"{number:03}")


def test_what_cannot_be_read_has_a_line_without_a_hash(tmp_path: Path) -> None:
    code = """
    with tempfile.TemporaryDirectory() as skill:
        os.mkdir(f"{skill}/closed", 0)
        os.close(os.open(f"{skill}/secret", os.O_CREAT, 0))
        print(json.dumps(hash_folder(skill)))
    """
    assert as_another_user(tmp_path, code) == {"closed/": ["040000", ""], "secret": ["100644", ""]}
