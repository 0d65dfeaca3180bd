"""The corpus in tests/data/spec, held to all three verdicts, and its `compat` column to skills-ref itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import skills_ref

from metier.errors import InvalidSkillError, NotFoundError, RefusedError
from metier.spec import FileEntry, Files, MemoryFiles, Verdict, check, load, parse, split_document
from metier.spec.fast_yaml import fast_fields
from metier.spec.manifest import manifest_from
from metier.spec.parse import parse_with_positions

CORPUS = Path(__file__).parents[1] / "data" / "spec"

Case = dict[str, Any]  # Any: rows of JSON


def rows() -> list[Case]:
    return [json.loads(line) for file in sorted(CORPUS.glob("*.jsonl")) for line in file.read_text().splitlines()]


NOW = [row for row in rows() if not row.get("later")]
CASES = [pytest.param(row, id=row["id"]) for row in NOW]
LOADED = [pytest.param(row, id=row["id"]) for row in NOW if row["expected"]["lenient"] != "skip"]


class RefusingFiles:
    """A folder whose SKILL.md is there and must not be read, as disk and archives report it."""

    def __init__(self, rule: str) -> None:
        self.rule = rule

    def read(self, path: str, *, limit: int) -> bytes:
        if path == "SKILL.md":
            raise RefusedError(f"{path!r} may not be read", rule=self.rule, hint="")
        raise NotFoundError(path, hint="")

    def list(self) -> Iterable[FileEntry]:
        return ()


def content(case: Case) -> bytes | None:
    match case["content"]:
        case {"text": str(text)}:
            return text.encode()
        case {"hex": str(digits)}:
            return bytes.fromhex(digits)
        case {"before": str(before), "repeat": str(unit), "times": int(times), "after": str(after)}:
            return (before + unit * times + after).encode()
    return None


def skill_files(case: Case) -> Files:
    if case["content"].get("kind") == "directory":
        return RefusingFiles("not-a-file")
    if case.get("layout") == "linked-file":
        return RefusingFiles("link-leaves-skill")
    contents = {path: text.encode() for path, text in case.get("files", {}).items()}
    data = content(case)
    return MemoryFiles(contents | ({case.get("file", "SKILL.md"): data} if data is not None else {}))


@pytest.mark.parametrize("case", CASES)
def test_strict_says_what_the_standard_says(case: Case) -> None:
    report = check(skill_files(case), folder=case["folder"], verdict=Verdict.STRICT)
    assert ("ok" if report.ok else "bad") == case["expected"]["strict"]
    assert {found.code for found in report} >= set(case["expected"].get("codes", ()))


@pytest.mark.parametrize("case", CASES)
def test_compat_says_what_the_reference_validator_says(case: Case) -> None:
    report = check(skill_files(case), folder=case["folder"], verdict=Verdict.COMPAT)
    wanted = case["expected"].get("metier_compat", case["expected"]["compat"])
    assert ("ok" if report.ok else "bad") == wanted


@pytest.mark.parametrize("case", NOW, ids=lambda row: row["id"])
def test_lenient_loads_what_a_model_can_use(case: Case) -> None:
    files, folder = skill_files(case), case["folder"]
    report = check(files, folder=folder, verdict=Verdict.LENIENT)
    if case["expected"]["lenient"] == "skip":
        with pytest.raises(InvalidSkillError) as caught:
            load(files, folder=folder)
        assert caught.value.report == report
        assert not report.ok
        return
    load(files, folder=folder)
    assert not report.errors
    assert ("load-with-warning" if report.warnings else "load") == case["expected"]["lenient"]


@pytest.mark.parametrize("case", LOADED)
def test_a_loaded_skill_has_the_values_its_author_wrote(case: Case) -> None:
    expected = case["expected"]
    skill = load(skill_files(case), folder=case["folder"])
    manifest = skill.manifest
    found = {
        "name": manifest.name,
        "description": manifest.description,
        "license": manifest.license,
        "compatibility": manifest.compatibility,
        "metadata": dict(manifest.metadata),
        "allowed_tools": list(manifest.allowed_tools),
        "extra": dict(manifest.extra),
        "disable_model_invocation": manifest.extensions.disable_model_invocation,
        "resources": [entry.path for entry in skill.resources()],
        "resource_count": len(skill.resources()),
    }
    wanted = {key: value for key, value in expected.items() if key in found}
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("case", CASES)
def test_the_fast_parser_answers_as_the_slow_one_or_not_at_all(case: Case) -> None:
    data = content(case)
    if data is None:
        return
    parsed = parse_with_positions(split_document(data), case["folder"], Verdict.LENIENT)
    fast = fast_fields(parsed.document.frontmatter, case["folder"]) if parsed.document.has_frontmatter else None
    if fast is not None:
        manifest = manifest_from(fast.fields, name=case["folder"], description=fast.fields["description"].strip())
        assert manifest == (parsed.manifest, ())
        # A byte order mark is a matter of the file, which the caller of the fast parser looks at first.
        assert fast.warned == (parsed.report.problems != parsed.document.problems)


@pytest.mark.parametrize("verdict", [Verdict.STRICT, Verdict.LENIENT])
@pytest.mark.parametrize("case", CASES)
def test_both_parsers_find_the_same(case: Case, verdict: Verdict) -> None:
    data = content(case)
    if data is not None:
        assert parse(data, folder=case["folder"], verdict=verdict) == parse_with_positions(
            split_document(data), case["folder"], verdict
        )


@pytest.mark.parametrize("case", CASES)
def test_the_compat_column_is_what_skills_ref_answers(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lay_out(case, tmp_path)
    if case.get("layout") == "dot":
        monkeypatch.chdir(path)
        path = Path()
    try:
        answer, crashed = ("bad" if skills_ref.validate(path) else "ok"), False
    except Exception:  # whatever its crash is: the corpus only records that there is one
        answer, crashed = "bad", True
    assert (answer, crashed) == (case["expected"]["compat"], case["expected"].get("crash", False))


def lay_out(case: Case, root: Path) -> Path:
    """The case on disk, as its layout describes it; the path that a reader is given."""
    folder, layout = root / str(case["folder"]), case.get("layout")
    if layout == "no-folder":
        return folder
    if layout == "folder-is-a-file":
        folder.write_text("")
        return folder
    if layout == "linked-folder":
        (root / "elsewhere").mkdir()
        folder.symlink_to(root / "elsewhere")
    else:
        folder.mkdir()
    for path, text in case.get("files", {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    file, data = folder / case.get("file", "SKILL.md"), content(case)
    if case["content"].get("kind") == "directory":
        file.mkdir()
    elif layout == "linked-file" and data is not None:
        (root / "outside.md").write_bytes(data)
        file.symlink_to(root / "outside.md")
    elif data is not None:
        file.write_bytes(data)
    return folder


def test_every_row_of_the_tables_has_a_case() -> None:
    numbered = {*range(1, 28), *range(30, 57), *range(60, 80)}
    assert {row["row"] for row in rows()} == numbered | {f"P{number:02}" for number in range(1, 38)}


def test_no_two_cases_share_an_id() -> None:
    ids = [row["id"] for row in rows()]
    assert len(ids) == len(set(ids))


def test_a_case_for_later_says_what_it_needs() -> None:
    assert all(row["needs"] for row in rows() if row.get("later"))


def test_departures_from_skills_ref_are_explained_and_few() -> None:
    departures = {row["id"]: row["expected"]["why"] for row in rows() if "metier_compat" in row.get("expected", {})}
    assert sorted(departures) == ["56-dot", "P33"]
