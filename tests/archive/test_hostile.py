"""Every hostile shape of an archive is refused whole, before a byte is written. The rows are those of the threat list."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import replace

import pytest

from archive.hostile import SKILL, TarEntry, ZipEntry, deflated, many, pax, tar, tar_gz, zip_of
from metier.archive import ArchiveLimits, Contents, Link, Member, sniff_format, unpack
from metier.errors import RefusedError

GOOD = ZipEntry()
T = TarEntry()
EVIL = b"evil"


def link(name: str, target: str) -> ZipEntry:
    return ZipEntry(name=name, data=target.encode(), mode=0o120777, method=0)


def named(*names: str) -> list[tuple[str, bytes]]:
    """The same bad name in a zip and in a tar."""
    return [
        case
        for name in names
        for case in (
            (f"zip {name!a}", zip_of(GOOD, replace(GOOD, name=name))),
            (f"tar {name!a}", tar_gz(T, replace(T, name=name))),
        )
    ]


BOMB = bytes(20 * 1024 * 1024)
DESCRIBED = replace(GOOD, flags=1 << 11 | 8, local=replace(GOOD, flags=1 << 11 | 8, crc=0, size=0, packed_size=0))
FIGURES = struct.pack("<III", zlib.crc32(SKILL), len(deflated(SKILL)), len(SKILL))
OVERLAP = [replace(GOOD, data=bytes(100_000), name="x0")] + [
    replace(GOOD, data=bytes(100_000), name=f"x{number}", offset=0, absent=True) for number in range(1, 9)
]

CASES: dict[str, list[tuple[str, bytes]]] = {
    "I01": named("../../x", "a/../../b", "/abs", "a/..", "..", "./../x", "a/./b/../../../c"),
    "I02": named("..\\win", "C:\\x", "\\\\srv\\s", "c:ads", "C:/x", "a\\b"),
    "I04": [
        ("zip link out", zip_of(GOOD, link("l", "/etc/passwd"))),
        ("zip link up", zip_of(GOOD, link("a/l", "../../x"))),
        ("zip link to nothing", zip_of(GOOD, link("l", "absent"))),
        ("zip link to itself", zip_of(GOOD, link("l", "l"))),
        ("zip links in a ring", zip_of(GOOD, link("a", "b"), link("b", "a"))),
        ("zip link to its own folder", zip_of(GOOD, link("a/l", "../a"))),
        ("zip link with a backslash", zip_of(GOOD, link("l", "..\\x"))),
        ("zip write through a link", zip_of(GOOD, link("d", "."), replace(GOOD, name="d/x"))),
        (
            "zip link up through a link that is deeper",
            zip_of(
                GOOD,
                replace(GOOD, name="z/x"),
                replace(GOOD, name="a/SKILL.md"),
                link("a/b/d", "../../z"),
                link("a/b/l", "d/../../SKILL.md"),
            ),
        ),
        ("zip huge link", zip_of(GOOD, link("l", "a" * 5000))),
        ("zip link that is no text", zip_of(GOOD, replace(link("l", ""), data=b"\xff\xfe"))),
    ],
    "I05": [
        ("tar link out", tar_gz(T, TarEntry(name="l", data=b"", kind=b"2", target="/etc/passwd"))),
        (
            "tar link out, then a file through it",
            tar_gz(T, TarEntry(name="d", data=b"", kind=b"2", target="../.."), TarEntry(name="d/x", data=EVIL)),
        ),
        (
            "tar link inside, then a file through it",
            tar_gz(
                TarEntry(name="e/SKILL.md"),
                TarEntry(name="d", data=b"", kind=b"2", target="e"),
                TarEntry(name="d/x", data=EVIL),
            ),
        ),
        ("tar hard link", tar_gz(T, TarEntry(name="h", data=b"", kind=b"1", target="/etc/passwd"))),
        ("tar hard link inside", tar_gz(T, TarEntry(name="h", data=b"", kind=b"1", target="SKILL.md"))),
        (
            "tar link by pax",
            tar_gz(T, pax(("linkpath", "/etc/passwd")), TarEntry(name="l", data=b"", kind=b"2", target="SKILL.md")),
        ),
        ("tar long path through links", tar_gz(T, TarEntry(name="a/" * 17 + "x", data=EVIL))),
        ("tar path by pax", tar_gz(pax(("path", "../x")), T)),
        ("tar two paths by pax", tar_gz(pax(("path", "a"), ("path", "b")), T)),
        ("tar path by pax and by GNU", tar_gz(pax(("path", "a")), TarEntry(name="././@LongLink", data=b"b\0", kind=b"L"), T)),
        ("tar path with NUL by pax", tar_gz(pax(("path", "a\0b")), T)),
        ("tar two sizes", tar_gz(pax(("size", "1")), T)),
        ("tar path for all files", tar_gz(pax(("path", "x"), kind=b"g"), T)),
        ("tar unknown pax key", tar_gz(pax(("SCHILY.filetype", "sparse")), T)),
        ("tar sparse by pax", tar_gz(pax(("GNU.sparse.map", "0,1")), T)),
        ("tar broken pax", tar_gz(TarEntry(name="P", data=b"99 path=x\n", kind=b"x"), T)),
        ("tar pax of no length", tar_gz(TarEntry(name="P", data=b"x path=x\n", kind=b"x"), T)),
        ("tar huge pax", tar_gz(TarEntry(name="P", data=b"1" * 20_000, kind=b"x"), T)),
        ("tar pax without a file", tar_gz(T, pax(("path", "x")))),
        ("tar wrong checksum", tar_gz(replace(T, sum_off=1))),
        ("tar binary size", tar_gz(replace(T, size_field=b"\x80" + bytes(10) + b"\x40"))),
        ("tar negative size", tar_gz(replace(T, size_field=b"-0000000001\0"))),
        ("tar cut off", tar_gz(replace(T, size=10_000), end=b"")),
        ("tar without an end", tar_gz(T, end=b"")),
        ("tar with something after its end", tar_gz(T, end=bytes(1024) + TarEntry(name="x").blocks())),
        ("tar name with NUL and more", tar_gz(replace(T, name=b"a\0../x"))),
        ("tar name by prefix", tar_gz(replace(T, name="x", prefix=b".."))),
        ("tar name that is not UTF-8", tar_gz(replace(T, name=b"\xff"))),
        ("gzip and another gzip", tar_gz(T) + tar_gz(TarEntry(name="x"))),
        ("gzip and zeros", tar_gz(T) + bytes(512)),
        ("gzip cut off", tar_gz(T)[:-12]),
        ("gzip that is none", b"\x1f\x8b\x08" + bytes(40)),
    ],
    "I06": [("tar absolute", tar_gz(T, replace(T, name="/etc/x")))],
    "I07": [
        *(
            (f"zip {kind:o}", zip_of(GOOD, ZipEntry(name="s", data=b"", mode=kind | 0o644)))
            for kind in (0o020000, 0o060000, 0o010000, 0o140000)
        ),
        *(
            (f"tar {kind!r}", tar_gz(T, TarEntry(name="s", data=b"", kind=kind)))
            for kind in (b"3", b"4", b"6", b"7", b"S", b"M", b"V", b"D", b"Z")
        ),
    ],
    "I08": [
        ("zip of zeros", zip_of(GOOD, ZipEntry(name="z", data=BOMB[: 9 << 20]))),
        ("tar of zeros", tar_gz(T, TarEntry(name="z", data=BOMB[: 9 << 20]))),
        ("one file too large", zip_of(GOOD, ZipEntry(name="z", data=BOMB[: (10 << 20) + 1], method=0))),
        ("all files too large", zip_of(*(ZipEntry(name=f"z{n}", data=BOMB[: 9 << 20], method=0) for n in range(6)))),
        ("too many files", zip_of(*many(f"f{n}" for n in range(2_001)))),
        ("too deep", zip_of(GOOD, replace(GOOD, name="a/" * 16 + "x"))),
        ("too long", zip_of(GOOD, replace(GOOD, name="a" * 241))),
        ("more than it says", zip_of(replace(GOOD, size=10))),
        ("less than it says", zip_of(replace(GOOD, size=100_000))),
        ("a count of 65535", zip_of(GOOD, count=65_535)),
        ("more files than it says", zip_of(GOOD, replace(GOOD, name="x"), count=1)),
        ("fewer files than it says", zip_of(GOOD, count=2)),
    ],
    "I10": [
        ("nine names for one file", zip_of(*OVERLAP)),
        (
            "one inside another",
            zip_of(replace(GOOD, method=0, data=zip_of(GOOD)), replace(GOOD, name="x", offset=38, absent=True)),
        ),
    ],
    "I11": [
        ("another name inside", zip_of(replace(GOOD, local=replace(GOOD, name="EVIL.md")))),
        ("another size inside", zip_of(replace(GOOD, local=replace(GOOD, size=1)))),
        ("another checksum inside", zip_of(replace(GOOD, local=replace(GOOD, crc=1)))),
        ("another method inside", zip_of(replace(GOOD, local=replace(GOOD, method=0, packed=deflated(SKILL))))),
        ("other flags inside", zip_of(replace(GOOD, local=replace(GOOD, flags=0)))),
        ("wrong checksum", zip_of(replace(GOOD, crc=1))),
        ("two ends", zip_of(GOOD) + zip_of(replace(GOOD, data=EVIL))),
        ("an end in the comment", zip_of(GOOD, comment=zip_of(replace(GOOD, data=EVIL)))),
        ("bytes after the end", zip_of(GOOD, after=b"x")),
        ("bytes before the start", zip_of(GOOD, before=b"#!/bin/sh\n")),
        ("bytes before the start, offsets from there", b"#!/bin/sh\n" + zip_of(GOOD)),
        ("bytes before the directory", zip_of(GOOD, gap=b"hidden")),
        ("bytes after the directory", zip_of(GOOD, end=b"hidden")),
        ("zip64 end", zip_of(GOOD, end=b"PK\6\6" + bytes(52) + b"PK\6\7" + bytes(16))),
        (
            "zip64 sizes",
            zip_of(replace(GOOD, size=0xFFFFFFFF, packed_size=0xFFFFFFFF, extra=struct.pack("<HHQQ", 1, 16, 1, 1))),
        ),
        ("zip64 field", zip_of(replace(GOOD, extra=struct.pack("<HHQ", 1, 8, 1)))),
        ("zip64 field inside only", zip_of(replace(GOOD, local=replace(GOOD, extra=struct.pack("<HHQ", 1, 8, 1))))),
        ("a second name", zip_of(replace(GOOD, extra=struct.pack("<HHBI", 0x7075, 12, 1, 0) + b"EVIL.md"))),
        ("a broken extra field", zip_of(replace(GOOD, extra=struct.pack("<HH", 0x5455, 99)))),
        ("encrypted", zip_of(replace(GOOD, flags=1))),
        ("strongly encrypted", zip_of(replace(GOOD, flags=1 | 1 << 6))),
        ("a masked directory", zip_of(replace(GOOD, flags=1 << 13))),
        ("an unknown method", zip_of(replace(GOOD, method=12, packed=b"x"))),
        ("patched data", zip_of(replace(GOOD, flags=1 << 5))),
        ("deflate with more behind it", zip_of(replace(GOOD, packed=deflated(SKILL) + b"x"))),
        ("deflate that never ends", zip_of(replace(GOOD, packed=deflated(SKILL)[:-1]))),
        ("deflate that is none", zip_of(replace(GOOD, packed=b"\xff" * 20))),
        ("stored in another size", zip_of(replace(GOOD, method=0, packed_size=1))),
        (
            "sizes after the bytes that differ",
            zip_of(replace(DESCRIBED, descriptor=b"PK\7\x08" + struct.pack("<III", 1, 2, 3))),
        ),
        ("sizes after the bytes that are absent", zip_of(DESCRIBED)),
        (
            "sizes before the bytes that differ",
            zip_of(replace(DESCRIBED, descriptor=FIGURES, local=replace(DESCRIBED, size=7))),
        ),
        ("a folder with bytes", zip_of(GOOD, replace(GOOD, name="d/"))),
        ("a folder named like a file", zip_of(GOOD, replace(GOOD, name="d", data=b"", mode=0o040755))),
        ("a link named like a folder", zip_of(GOOD, replace(link("d/", ""), data=b""))),
        ("an offset out of the file", zip_of(replace(GOOD, offset=1 << 30))),
        ("cut off", zip_of(GOOD)[:-30]),
        ("only a start", b"PK\3\4" + bytes(10)),
        ("several disks", zip_of(GOOD)[:-18] + struct.pack("<HHHHIIH", 1, 0, 1, 1, 54, 0, 0)),
    ],
    "I12": [
        ("zip twice", zip_of(GOOD, replace(GOOD, data=EVIL))),
        ("tar twice", tar_gz(T, replace(T, data=EVIL))),
        ("tar twice, once with ./", tar_gz(T, replace(T, name="./SKILL.md", data=EVIL))),
        ("a file and a folder", zip_of(GOOD, replace(GOOD, name="SKILL.md/x"))),
        ("a file and an empty folder", zip_of(GOOD, replace(GOOD, name="SKILL.md/", data=b"", mode=0o040755, method=0))),
    ],
    "I13": [
        ("case", zip_of(GOOD, replace(GOOD, name="skill.md"))),
        ("case of a folder", zip_of(GOOD, replace(GOOD, name="a/x"), replace(GOOD, name="A/y"))),
        ("sharp s", zip_of(GOOD, replace(GOOD, name="straße.md"), replace(GOOD, name="STRASSE.md"))),
        ("Kelvin", zip_of(GOOD, replace(GOOD, name="k.md"), replace(GOOD, name="\u212a.md"))),
        ("ligature", tar_gz(T, replace(T, name="ﬁ"), replace(T, name="fi"))),
    ],
    "I14": [("composed and not", zip_of(GOOD, replace(GOOD, name="é.md"), replace(GOOD, name="e\u0301.md")))],
    "I15": named(
        "CON",
        "aux.md",
        "nul.txt",
        "a.",
        "b ",
        "c:ads",
        "git~1",
        ".git/config",
        ".GIT/hooks/x",
        "a/COM1.txt",
        "x?",
        "a|b",
        " x",
        "LPT¹",
    ),
    "I16": [
        *named("a\x01b", "a\x7fb", "a\u202eb", "a\u200bb", "a\u2028b", "a\nb", "a\x1b[31m"),
        ("zip NUL", zip_of(GOOD, replace(GOOD, name="A\0.sh\0d"))),
        ("zip not UTF-8", zip_of(GOOD, replace(GOOD, name=b"\xff\xfe"))),
    ],
    "I39": [
        ("HTML", b"<!DOCTYPE html><html>"),
        ("nothing", b""),
        ("xz", b"\xfd7zXZ\0"),
        ("a plain tar", tar(T)),
        ("a gzip of no tar", gzip.compress(b"hello" * 200)),
    ],
}
ROWS = [pytest.param(data, id=f"{row} {name}") for row, cases in CASES.items() for name, data in cases]


@pytest.mark.parametrize("data", ROWS)
def test_a_hostile_archive_is_refused_whole(data: bytes) -> None:
    with pytest.raises(RefusedError) as caught:
        unpack(data)
    assert caught.value.rule.startswith(("archive-", "path-check"))
    assert caught.value.hint


def test_i09_an_archive_inside_an_archive_stays_a_file() -> None:
    inner = zip_of(ZipEntry(name="z", data=BOMB))
    contents = unpack(zip_of(GOOD, ZipEntry(name="inner.zip", data=inner, method=0)))
    assert contents.read("inner.zip", limit=1 << 20) == inner


def test_i07_setuid_and_strange_modes_become_plain_ones() -> None:
    contents = unpack(zip_of(replace(GOOD, mode=0o104755), replace(GOOD, name="b", mode=0o100666)))
    assert {entry.path: entry.executable for entry in contents.list()} == {"SKILL.md": True, "b": False}


def test_i14_a_name_is_stored_composed() -> None:
    assert [entry.path for entry in unpack(zip_of(replace(GOOD, name="e\u0301.md"))).list()] == ["é.md"]


def test_the_good_entry_that_the_cases_are_built_from_is_accepted() -> None:
    assert unpack(zip_of(GOOD)) == unpack(tar_gz(T)) == Contents([Member("SKILL.md", SKILL)])
    assert unpack(zip_of(replace(DESCRIBED, descriptor=FIGURES))) == unpack(
        zip_of(replace(DESCRIBED, descriptor=b"PK\7\x08" + FIGURES))
    )


def test_a_link_that_stays_inside_is_kept_as_it_is() -> None:
    contents = unpack(zip_of(GOOD, replace(GOOD, name="a/x"), link("a/l", "../SKILL.md"), link("d", "a")))
    assert contents.links == (Link("a/l", "../SKILL.md"), Link("d", "a"))
    assert contents.read("d/l", limit=1 << 20) == SKILL


def test_a_comment_and_a_git_header_are_harmless() -> None:
    assert unpack(zip_of(GOOD, comment=b"0" * 40)) == unpack(tar_gz(pax(("comment", "0" * 40), kind=b"g"), T))


def test_limits_are_the_callers() -> None:
    with pytest.raises(RefusedError, match="more than 1 files"):
        unpack(zip_of(GOOD, replace(GOOD, name="x")), limits=ArchiveLimits(files=1))


def test_a_bomb_is_stopped_by_its_promise_before_it_is_inflated() -> None:
    with pytest.raises(RefusedError, match="like a zip bomb"):
        unpack(zip_of(ZipEntry(name="z", data=BOMB[: 9 << 20])))


def test_the_format_of_an_archive_comes_from_its_bytes() -> None:
    assert (sniff_format(zip_of(GOOD)), sniff_format(tar_gz(T)), sniff_format(b"<html>")) == ("zip", "tar.gz", None)
