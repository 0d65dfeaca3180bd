"""Submodules and pointers to large files are named at the installation, per skill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from install.builders import store_in
from install.servers import Repository, site
from metier.archive import Contents, Member, pack
from metier.install import Access, InstallOptions, SkillCache, install

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
MODULES = '[submodule "docx"]\n\tpath = skills/docx\n\turl = https://example.com/docx.git\n[submodule "x"]\n\tpath = third/x\n'
COMMIT = "1" * 40


def notes(ref: str, tmp_path: Path, store: str = "one") -> tuple[str, ...]:
    access = Access(environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, folder=str(tmp_path),
                    cache=SkillCache(str(tmp_path / "cache")))  # fmt: skip
    return install([ref], store=store_in(tmp_path / store), access=access, options=InstallOptions(take_all=True)).notes


def test_a_repositorys_submodules_and_large_files_are_named_also_from_the_cache(tmp_path: Path) -> None:
    Repository(tmp_path / "git/r.git").commit({
        "skills/pdf/SKILL.md": skill_text("pdf"), "skills/pdf/assets/big.bin": POINTER, ".gitmodules": MODULES,
        "skills/docx": ("160000", COMMIT), "third/x": ("160000", COMMIT),
    })  # fmt: skip
    with site(git_root=tmp_path / "git") as server:
        first = notes(f"git+{server.url}/r.git", tmp_path)
        assert [note for note in first if "skills/docx is a submodule" in note]
        assert [note for note in first if note.startswith("pdf: assets/big.bin is only a pointer")]
        assert not [note for note in first if "third/x" in note]
        assert notes(f"git+{server.url}/r.git", tmp_path, "two") == first


def test_an_archive_of_a_repository_says_which_submodule_of_a_skill_is_empty(tmp_path: Path) -> None:
    members = [
        Member("r-1/SKILL.md", skill_text("pdf").encode()), Member("r-1/.gitmodules", b'[submodule "a"]\n path = lib/a\n'),
        Member("r-1/assets/big.bin", POINTER), Member("r-1/assets/other.bin", POINTER),
    ]  # fmt: skip
    (tmp_path / "r.zip").write_bytes(pack(Contents(members)))
    found = notes("./r.zip", tmp_path)
    assert [note for note in found if note.startswith("pdf: lib/a is a submodule, and its files are missing")]
    assert [note for note in found if "assets/big.bin and 1 more is only a pointer" in note]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_checkout_with_its_submodules_is_complete(tmp_path: Path, is_there: bool) -> None:
    skill = write_skill(tmp_path, "pdf")
    (skill / ".gitmodules").write_text('[submodule "a"]\n\tpath = lib/a\n')
    (skill / "lib/a").mkdir(parents=True)
    if is_there:
        (skill / "lib/a/code.py").write_text("x = 1\n")
    assert bool(notes("./pdf", tmp_path)) is not is_there


def test_text_about_pointers_is_no_pointer(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "pdf")
    (skill / "notes.md").write_bytes(b"# LFS\n" + POINTER)
    (skill / "long.md").write_bytes(POINTER + b"x" * 2000)
    assert notes("./pdf", tmp_path) == ()
