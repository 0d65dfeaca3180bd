"""A skill as one file comes back as it went, and is the same file every time."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metier.archive import (
    ArchiveFormat,
    Contents,
    Link,
    Member,
    digest,
    digest_of_hashes,
    file_hashes,
    pack,
    strip_top_folder,
    unpack,
)
from metier.errors import NotFoundError, RefusedError
from metier.sources import DiskFiles
from metier.spec import Files, MemoryFiles, load

SKILL = b"---\nname: a\ndescription: Does it. Use when asked.\n---\n\nDo it.\n"


def contents(**files: bytes) -> Contents:
    return Contents(Member(name.replace("__", "/"), data) for name, data in files.items())


RICH = Contents(
    [
        Member("SKILL.md", SKILL),
        Member("scripts/run.sh", b"echo", True),
        Member("références/" + "ü" * 60 + ".md", b"x" * 1000),
        Member("assets/deep/" + "y" * 120, os.urandom(300)),
    ],
    [Link("latest.md", "références/" + "ü" * 60 + ".md"), Link("scripts/skill.md", "../SKILL.md")],
)


PLAIN = Contents([Member("SKILL.md", SKILL), Member("é" * 60 + "/x.bin", bytes(range(256))), Member("run.sh", b"x", True)])


@pytest.mark.parametrize("to", ArchiveFormat)
def test_a_packed_tree_is_unpacked_unchanged(to: ArchiveFormat) -> None:
    assert unpack(pack(RICH, to=to)) == RICH


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,3}\.md", fullmatch=True), st.binary(max_size=300), max_size=8),
    st.sampled_from(ArchiveFormat),
    st.sampled_from([0, 1, 9]),
)
def test_any_skill_survives_packing(files: dict[str, bytes], to: ArchiveFormat, level: int) -> None:
    skill = Contents(Member(path, data, len(data) % 2 == 1) for path, data in files.items())
    packed = pack(skill, to=to, level=level)
    assert unpack(packed) == skill
    assert pack(unpack(packed), to=to, level=level) == packed


@given(st.binary(max_size=200))
def test_no_bytes_make_unpacking_raise_anything_but_refused(data: bytes) -> None:
    for start in (b"", b"PK\3\4", b"PK\5\6", b"\x1f\x8b\x08"):
        try:
            unpack(start + data)
        except RefusedError:
            pass


@given(st.integers(0, 10_000), st.integers(0, 255), st.sampled_from(ArchiveFormat))
def test_one_flipped_byte_never_raises_anything_but_refused(place: int, value: int, to: ArchiveFormat) -> None:
    data = bytearray(pack(RICH, to=to))
    data[place % len(data)] = value
    try:
        unpack(bytes(data))
    except RefusedError:
        pass


def summed(tar: bytes, place: int) -> bytes:
    """A tar in which the header around a place has the checksum that it should have."""
    start = place // 512 * 512
    head = tar[start : start + 512]
    return tar[: start + 148] + b"%06o\0 " % (sum(head[:148]) + 256 + sum(head[156:])) + tar[start + 156 :]


@settings(max_examples=400)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_accepted_archives_are_read_alike_by_the_standard_library(place: int, value: int) -> None:
    """An archive that one reader sees otherwise than another shows the reviewer one skill and installs a second."""
    zipped = bytearray(pack(PLAIN))
    zipped[place % len(zipped)] = value
    raw = bytearray(gzip.decompress(pack(PLAIN, to=ArchiveFormat.TAR_GZ)))
    raw[place % len(raw)] = value
    for data in (bytes(zipped), gzip.compress(bytes(raw), 1), gzip.compress(summed(bytes(raw), place % len(raw)), 1)):
        try:
            ours = unpack(data)
        except RefusedError:
            continue
        assert {member.path: member.data for member in ours.members} == read_by_others(data)


def read_by_others(data: bytes) -> dict[str, bytes]:
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {unicodedata.normalize("NFC", item.name): body.read() for item in tar if (body := tar.extractfile(item))}


def test_the_bytes_of_a_package_are_the_same_in_another_process_and_order() -> None:
    code = """
from metier.archive import *
import hashlib
files = [Member("b", b"2", True), Member("SKILL.md", b"1"), Member("a/c", b"3" * 500)]
print([hashlib.sha256(pack(Contents(order), to=to)).hexdigest() for to in ArchiveFormat for order in (files, files[::-1])])
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "TZ": zone}, capture_output=True, text=True, check=True
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(runs) == 1
    first, second, third, fourth = eval(runs.pop())
    assert (first, third) == (second, fourth)


def test_other_programs_read_our_packages(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(pack(RICH))) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted([*(m.path for m in RICH.members), *(k.path for k in RICH.links)])
        assert stat.S_IMODE(archive.getinfo("scripts/run.sh").external_attr >> 16) == 0o755
    with tarfile.open(fileobj=io.BytesIO(pack(RICH, to=ArchiveFormat.TAR_GZ))) as tar:
        assert {item.name: item.linkname for item in tar if item.issym()} == {link.path: link.target for link in RICH.links}
    file = tmp_path / "x.tar.gz"
    file.write_bytes(pack(RICH, to=ArchiveFormat.TAR_GZ))
    subprocess.run(["tar", "xzf", str(file), "-C", str(tmp_path)], check=True)
    assert (tmp_path / "latest.md").read_bytes() == b"x" * 1000


def test_packages_of_other_programs_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "my-skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(SKILL)
    (folder / "scripts" / "run.sh").write_bytes(b"echo")
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "link.md").symlink_to("SKILL.md")
    for options in (["czf", "x.tar.gz"], ["--format=gnu", "-czf", "x.tar.gz"], ["--format=v7", "-czf", "x.tar.gz"]):
        subprocess.run(["tar", *options, "my-skill"], cwd=tmp_path, check=True)
        skill = strip_top_folder(unpack((tmp_path / "x.tar.gz").read_bytes()))
        assert [(entry.path, entry.executable) for entry in skill.list()] == [("SKILL.md", False), ("scripts/run.sh", True)]
        assert skill.links == (Link("link.md", "SKILL.md"),)
    subprocess.run(["tar", "czf", "../y.tar.gz", "."], cwd=folder, check=True)
    assert unpack((tmp_path / "y.tar.gz").read_bytes()) == skill
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder, "my-skill")
        archive.write(folder / "SKILL.md", "my-skill/SKILL.md")
    assert strip_top_folder(unpack((tmp_path / "x.zip").read_bytes())).read("SKILL.md", limit=1000) == SKILL


def test_git_archives_are_read(tmp_path: Path) -> None:
    run = {"cwd": tmp_path, "check": True, "capture_output": True}
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    subprocess.run(["git", "init", "-q"], **run)  # type: ignore[call-overload]
    subprocess.run(["git", "add", "-A"], **run)  # type: ignore[call-overload]
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm1"], **run)  # type: ignore[call-overload]
    for kind in ("zip", "tar.gz"):
        made = subprocess.run(["git", "archive", f"--format={kind}", "--prefix=repo-main/", "HEAD"], **run)  # type: ignore[call-overload]
        assert strip_top_folder(unpack(made.stdout)) == contents(**{"SKILL.md": SKILL})


def test_a_single_root_folder_is_removed_and_macos_metadata_is_left_out() -> None:
    wrapped = Contents([Member("w/SKILL.md", SKILL), Member("__MACOSX/w/._SKILL.md", b"x")])
    assert strip_top_folder(wrapped) == contents(**{"SKILL.md": SKILL})
    assert strip_top_folder(Contents([Member("SKILL.md", SKILL), Member("__MACOSX/x", b"x")])) == contents(
        **{"SKILL.md": SKILL}
    )
    two = Contents([Member("a/SKILL.md", SKILL), Member("b/SKILL.md", SKILL)])
    assert strip_top_folder(two) == two


def test_the_digest_is_as_documented() -> None:
    skill = Contents([Member("b", b"2", True), Member("a", b"1")], [Link("c", "a")])
    lines = "".join(
        f"{path}\0{mode}\0{hashlib.sha256(data).hexdigest()}\n"
        for path, mode, data in (("a", "100644", b"1"), ("b", "100755", b"2"), ("c", "120000", b"a"))
    )
    assert digest(skill) == "sha256:" + hashlib.sha256(lines.encode()).hexdigest()
    assert digest_of_hashes(file_hashes(skill)) == digest(skill)


def test_the_digest_sees_every_byte_name_mode_and_link() -> None:
    base = [Member("SKILL.md", SKILL), Member("x", b"1")]
    variants = [
        Contents(base),
        Contents([*base[:1], Member("x", b"2")]),
        Contents([*base[:1], Member("y", b"1")]),
        Contents([*base[:1], Member("x", b"1", True)]),
        Contents(base, [Link("l", "x")]),
        Contents(base, [Link("l", "SKILL.md")]),
        Contents(base[:1]),
    ]
    assert len({digest(one) for one in variants}) == len(variants)


def test_one_file_cannot_imitate_two() -> None:
    inner = hashlib.sha256(b"1").hexdigest()
    assert digest(contents(a=b"1", b=b"1")) != digest(contents(a=f"1b\x00100644\x00{inner}\n".encode()))


def test_a_folder_and_its_package_have_one_digest(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "run.sh").write_bytes(b"x")
    (tmp_path / "run.sh").chmod(0o700)
    disk = DiskFiles(tmp_path)
    assert digest(unpack(pack(disk))) == digest(disk)


def test_i47_packing_a_folder_takes_no_file_that_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"key")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "s" / "stolen").symlink_to("../secret")
    assert [member.path for member in unpack(pack(DiskFiles(tmp_path / "s"))).members] == ["SKILL.md"]


def test_contents_are_the_files_of_a_skill() -> None:
    assert isinstance(RICH, Files)
    assert load(RICH, folder="a").instructions == "Do it."
    with pytest.raises(NotFoundError):
        RICH.read("absent", limit=1)
    with pytest.raises(RefusedError, match="larger than 1 bytes"):
        RICH.read("SKILL.md", limit=1)
    with pytest.raises(RefusedError):
        RICH.read("../x", limit=1)
    assert unpack(pack(MemoryFiles({"SKILL.md": SKILL}))) == contents(**{"SKILL.md": SKILL})


def test_a_folder_of_a_tree_must_hold_what_its_links_need() -> None:
    tree = Contents([Member("a/SKILL.md", SKILL), Member("shared/x", b"1")], [Link("a/x", "../shared/x")])
    with pytest.raises(RefusedError, match="link out of the skill"):
        tree.below("a")
    assert tree.below("shared").members == (Member("x", b"1"),)


WHEN = 1_700_000_000


def times(skill: Contents) -> dict[str, int | None]:
    return {member.path: member.time for member in skill.members}


@pytest.mark.parametrize("to", ArchiveFormat)
def test_times_survive_where_they_are_asked_for_and_change_nothing_where_not(to: ArchiveFormat) -> None:
    skill = Contents([Member("SKILL.md", SKILL, time=WHEN * 10**9 + 5), Member("x", b"1")])
    assert times(unpack(pack(skill, to=to, times=True))) == {"SKILL.md": WHEN * 10**9, "x": None}
    assert times(unpack(pack(skill, to=to))) == {"SKILL.md": None, "x": None}
    assert pack(skill, to=to) == pack(Contents([Member("SKILL.md", SKILL), Member("x", b"1")]), to=to)
    assert unpack(pack(skill, to=to, times=True)) == skill


@pytest.mark.parametrize(
    ("style", "exact"), [(tarfile.USTAR_FORMAT, 0), (tarfile.GNU_FORMAT, 0), (tarfile.PAX_FORMAT, 500_000_000)]
)
def test_a_tar_of_another_program_keeps_its_times(style: int, exact: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=style) as archive:
        info = tarfile.TarInfo("SKILL.md")
        info.size, info.mtime = len(SKILL), WHEN + 0.5 if exact else WHEN
        archive.addfile(info, io.BytesIO(SKILL))
    assert times(unpack(buffer.getvalue())) == {"SKILL.md": WHEN * 10**9 + exact}


def test_a_zip_of_another_program_keeps_its_times() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("SKILL.md", (2024, 2, 29, 12, 30, 58)), SKILL)
        archive.writestr(zipfile.ZipInfo("odd", (2024, 2, 31, 25, 61, 58)), b"")
    assert times(unpack(buffer.getvalue())) == {"SKILL.md": 1_709_209_858 * 10**9, "odd": None}


def test_a_zip_that_info_zip_wrote_keeps_the_exact_second(tmp_path: Path) -> None:
    if not shutil.which("zip"):
        pytest.skip("there is no zip here")
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    os.utime(tmp_path / "SKILL.md", (WHEN + 1, WHEN + 1))
    subprocess.run(["zip", "-q", "x.zip", "SKILL.md"], cwd=tmp_path, env={**os.environ, "TZ": "Asia/Tokyo"}, check=True)
    assert times(unpack((tmp_path / "x.zip").read_bytes())) == {"SKILL.md": (WHEN + 1) * 10**9}


@pytest.mark.parametrize("said", ["-1", "1e9", "nan", "", "9" * 30, "0x10", "99999999999.99999999999999"])
def test_an_invalid_time_is_ignored(said: str, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("SKILL.md")
        info.size, info.pax_headers = len(SKILL), {"mtime": said}
        archive.addfile(info, io.BytesIO(SKILL))
    (member,) = unpack(buffer.getvalue()).members
    assert member.time is None or member.time == 99_999_999_999_999_999_999
    # Whatever it is, a file can have it.
    (tmp_path / "x").touch()
    os.utime(tmp_path / "x", ns=(member.time or 0, member.time or 0))
