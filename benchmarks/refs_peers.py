"""Compares our ref parser with those of other installers, on a table of their test cases.

    python benchmarks/refs_peers.py refs.jsonl

Each line of the table is a JSON object with `suite`, `input` and the peer's result. The table is third-party text and not
part of the repository. Prints rows, agreements and intended differences for each suite; exits with 1 on any other difference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from archive.hostile import TarEntry, ZipEntry, tar_gz, zip_of
from metier.archive import Contents, Member, unpack
from metier.errors import MetierError
from metier.install.fetch.repository import find_skills
from metier.install.fetch.tree import ContentsTree
from metier.install.fetch.wellknown import read_index
from metier.install.refs.parsing import (
    ArchiveFile,
    GitRef,
    HttpArchive,
    HttpSkillFile,
    LocalName,
    LocalPath,
    Ref,
    WellKnown,
    parse_ref,
)
from metier.install.refs.ref_types import inner_path
from metier.spec import is_name, resource_path

Row = dict[str, Any]

OTHERWISE = {
    # Said by the issue or by the standard, where the peer knows fewer forms or another rule.
    ("vercel.parse_source", "npm:agent-browser"): "npm packages are no form here",
    ("vercel.parse_source", "https://huggingface.co/spaces/o/r/blob/main/SKILL.md"): "a SKILL.md address is fetched as such",
    ("vercel.parse_source", "https://example.com/.well-known/agent-skills/x"): "read as the site and the skill x in its index",
    ("gh.repo_argument", "a/b/c/d"): "owner/repo/path is a form here",
    ("skillport.parse_github_url", "git@github.com:user/repo.git"): "scp addresses are a form here",
    ("skillport.parse_github_url", "user/repo"): "owner/repo is a form here",
    ("skillport.parse_github_url", "https://gitlab.com/u/r"): "GitLab is read here",
    ("r9s.parse_github_url", "https://github.com/owner/repo"): "a whole repository may be named",
    ("r9s.parse_github_url", "owner/repo/skill"): "owner/repo/path is a form here",
    ("apm.dependency_reference", "owner/repo@alias"): "owner/repo@skill is a form here",
    ("apm.dependency_reference", "owner/repo#main@alias"): "#ref@skill is a form here",
    ("apm.dependency_reference", "https://github.com/owner/repo/tree/main/skills/x"): "tree addresses are read here",
    ("apm.dependency_reference", "owner"): "a bare name is a skill that you have",
    ("apm.dependency_reference", "owner/repo#^1.2.0"): "a ref is a branch, tag or commit, never a range",
    ("clawhub.skill_ref", "OpenClaw/demo"): "owner/repo is GitHub here",
    ("clawhub.skill_ref", "a/b/c"): "owner/repo/path is a form here",
    ("clawhub.skill_ref", "../x"): "a path is a form here",
    ("clawhub.skill_ref", "@@o/x"): "not a form here",
    ("vercel.is_subpath_safe", "skills/../other"): "`..` is never followed, not even back",
    ("vercel.tar_entry_path", "a//b"): "only the plain spelling is accepted",
    ("vercel.tar_entry_path", "a\\b"): "a backslash is refused",
    ("vercel.tar_entry_path", "a\0b"): "NUL is refused",
    ("vercel.zip_entry_path", "a/./b"): "only the plain spelling is accepted",
    ("vercel.zip_entry_path", "foo../x"): "a folder that ends in a dot cannot exist on Windows",
    ("vercel.tar_entry_path", "foo../x"): "a folder that ends in a dot cannot exist on Windows",
    ("vercel.tar_entry_path", ""): "a file without a name is refused",
    ("skillport.tar_entry_path", "a\\b"): "a backslash is refused",
    ("skillport.tar_entry_path", "a/./b"): "only the plain spelling is accepted",
    ("skillport.tar_entry_path", "a//b"): "only the plain spelling is accepted",
    ("clawhub.zip_entry_path", "./a/b"): "only the plain spelling is accepted",
}


def read(row: Row) -> Ref | None:
    host = row.get("env", {}).get("GH_HOST", "github.com")
    try:
        return parse_ref(row["input"], github_host=host)
    except MetierError:
        return None


def right_source(row: Row) -> bool:
    ref, want = read(row), {**row["expected"], **row.get("suggest", {})}
    if row.get("suggest", {}).get("error") or "error" in row["expected"]:
        return ref is None
    kinds: dict[str, tuple[type, ...]] = {
        "github": (GitRef,),
        "gitlab": (GitRef,),
        "git": (GitRef,),
        "local": (LocalPath, ArchiveFile),
        "download": (HttpArchive, HttpSkillFile),
        "well-known": (WellKnown,),
        "well-known|git": (WellKnown, GitRef),
    }
    if not isinstance(ref, kinds.get(want["type"], ())):
        return False
    if isinstance(ref, LocalPath | ArchiveFile):
        return bool(ref.path == row["input"])
    if "host" in want:
        return want["host"] in getattr(ref, "url", "")
    if "url" in want and row.get("verdict") != "peer-bug" and want["url"] != getattr(ref, "url", None):
        return False
    if isinstance(ref, GitRef):
        path = want.get("subpath", "").partition("?")[0]
        return (want.get("ref"), path) in ref.candidates and want.get("skillFilter", want.get("skill")) == ref.skill
    return True


def right_repository(row: Row) -> bool:
    ref, want = read(row), row["expected"]
    if "error" in want:
        return ref is None
    owner, name = want["owner"], want["repo"].removesuffix(".git")
    if not isinstance(ref, GitRef) or not ref.url.removesuffix(".git").endswith(f"{owner}/{name}"):
        return False
    branch = want.get("ref", want.get("branch"))
    path = want.get("path", "")
    # "main" without a given branch is the peer's guess; the remote's own HEAD is right.
    return want.get("host", "github.com") == ref.host and ((branch, path) in ref.candidates or (None, path) in ref.candidates)


def right_class(row: Row) -> bool:
    ref, want = read(row), row["expected"]
    if row.get("verdict") == "peer-bug":
        return ref is not None
    if want["type"] == "local":
        return isinstance(ref, LocalPath)
    if not isinstance(ref, GitRef):
        return False
    return (ref.url.removesuffix(".git"), ref.path) == (want["url"].removesuffix(".git"), want.get("subpath", ""))


def right_dependency(row: Row) -> bool:
    ref, want = read(row), row["expected"]
    if "error" in want:
        return ref is None
    if want.get("is_local"):
        return isinstance(ref, LocalPath) and ref.path == want["local_path"]
    at_end = ref.url.removesuffix(".git").replace("/_git/", "/").replace(":", "/") if isinstance(ref, GitRef) else ""
    fits = isinstance(ref, GitRef) and ref.host == want["host"] and at_end.endswith(want["repo_url"])
    return fits and isinstance(ref, GitRef) and (want.get("reference"), want.get("virtual_path", "")) == (ref.ref, ref.path)


def right_registry(row: Row) -> bool:
    return (read(row) is None) if "error" in row["expected"] else read(row) == LocalName(row["expected"]["slug"])


def accepted(data: bytes) -> bool:
    try:
        unpack(data)
    except MetierError:
        return False
    return True


def right_zip_entry(row: Row) -> bool:
    want, name = row["expected"], row["input"]
    data = b"" if name.endswith("/") else b"x"
    entry = ZipEntry(name=name, data=data, method=0, mode=0o040755 if name.endswith("/") else 0o100644)
    return accepted(zip_of(entry)) == (want is not None or (row["tool"].startswith("clawhub") and name.endswith("/")))


def right_tar_entry(row: Row) -> bool:
    want, name = row["expected"], row["input"]
    is_folder = name.endswith("/")
    entry = TarEntry(name=name, data=b"" if is_folder else b"x", kind=b"5" if is_folder else b"0")
    return accepted(tar_gz(entry)) == (want is not None and not isinstance(want, dict))


def right_subpath(row: Row) -> bool:
    text = row["input"] if isinstance(row["input"], str) else row["input"]["subpath"]
    try:
        inner_path(text, text)
    except MetierError:
        return row["expected"] is False or isinstance(row["expected"], dict)
    return row["expected"] is True or isinstance(row["expected"], str)


def right_old_path(row: Row) -> bool:
    index = {"skills": [{"name": "a", "description": "d", "files": ["SKILL.md", row["input"]]}]}
    is_read = bool(read_index(json.dumps(index).encode(), "https://example.com/", legacy=True).skills)
    return bool(is_read == row["expected"])


def right_layout(row: Row) -> bool:
    path, want = row["input"], row["expected"]
    tree = ContentsTree(Contents([Member(path, b"---\nname: n\ndescription: d\n---\n"), Member("skills/zz/SKILL.md", b"")]))
    found = {one.path: one for one in find_skills(tree).found}
    one = found.get(path.removesuffix("/SKILL.md"))
    hidden = row["suite"] == "gh.match_hidden_dir_path"
    if want is None:
        # Whether hidden folders count is a flag of gh's; here they count and are marked.
        return one is None or one.hidden != hidden
    return one is not None and one.path.endswith(want["name"]) and one.hidden == hidden


def right_name(row: Row) -> bool:
    return bool(is_name(row["input"]) == row["expected"])


def right_plain_join(row: Row) -> bool:
    path = "/".join(row["input"]["elems"])
    try:
        joined = resource_path(path)
    except MetierError:
        return isinstance(row["expected"], dict) or path in (".", "", "../child")
    return bool(row["expected"] == f"{row['input']['base']}/{joined}")


JUDGES: dict[str, Callable[[Row], bool]] = {
    "vercel.parse_source": right_source,
    "gh.repo_argument": right_repository,
    "skillport.parse_github_url": right_repository,
    "r9s.parse_github_url": right_repository,
    "openskills.classify_source": right_class,
    "apm.dependency_reference": right_dependency,
    "clawhub.skill_ref": right_registry,
    "vercel.zip_entry_path": right_zip_entry,
    "clawhub.zip_entry_path": right_zip_entry,
    "vercel.tar_entry_path": right_tar_entry,
    "skillport.tar_entry_path": right_tar_entry,
    "vercel.sanitize_subpath": right_subpath,
    "vercel.is_subpath_safe": right_subpath,
    "vercel.wellknown_v1_file_path_valid": right_old_path,
    "vercel.wellknown_name_valid": right_name,
    "gh.name_spec_compliant": right_name,
    "gh.match_skill_path": right_layout,
    "gh.match_hidden_dir_path": right_layout,
    "gh.safe_join": right_plain_join,
}


def key(row: Row) -> tuple[str, str]:
    text = row["input"] if isinstance(row["input"], str) else row["input"].get("subpath", str(row["input"]))
    return row["suite"], text


def compare(rows: Sequence[Row]) -> int:
    """Prints the table and returns the exit status."""
    total = [0, 0, 0]
    failures = []
    for suite, judge in JUDGES.items():
        mine = [row for row in rows if row["suite"] == suite]
        right = sum(judge(row) for row in mine)
        intended = sum(not judge(row) and key(row) in OTHERWISE for row in mine)
        failures += [row for row in mine if judge(row) == (key(row) in OTHERWISE)]
        total = [one + more for one, more in zip(total, (len(mine), right, intended), strict=True)]
        print(f"{suite:40} {len(mine):4} {right:4} {intended:4}")
    print(f"{'total':40} {total[0]:4} {total[1]:4} {total[2]:4}")
    for row in failures:
        print(f"unexpected: {row}")
    return 1 if failures or not total[0] else 0


if __name__ == "__main__":
    sys.exit(compare([json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]))
