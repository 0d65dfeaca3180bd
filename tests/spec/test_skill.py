"""A skill: what its SKILL.md says, and its files."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from metier.errors import InvalidSkillError, NotFoundError, RefusedError
from metier.spec import FileEntry, MemoryFiles, Severity, Verdict, check, load, parse
from metier.spec.skill import MAX_SKILL_FILE_BYTES

SKILL = b"---\nname: pdf\ndescription: Fills forms. Use when asked.\n---\n\n# How\n\nDo it.\n\n"


class BrokenFiles:
    """A folder whose every file fails to be read in one way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read(self, path: str, *, limit: int) -> bytes:
        raise self.error

    def list(self) -> Iterable[FileEntry]:
        return ()


def refused(rule: str) -> RefusedError:
    return RefusedError("no", rule=rule, hint="do something else")


def test_a_skill_has_the_name_and_description_of_its_manifest() -> None:
    skill = load(MemoryFiles({"SKILL.md": SKILL}), folder="pdf")
    assert (skill.name, skill.description) == ("pdf", "Fills forms. Use when asked.")


def test_instructions_are_the_trimmed_body() -> None:
    assert load(MemoryFiles({"SKILL.md": SKILL})).instructions == "# How\n\nDo it."


class EditedFiles(MemoryFiles):
    """Files whose SKILL.md someone edits between two reads."""

    __slots__ = ("reads",)

    def __init__(self) -> None:
        super().__init__({})
        self.reads = 0

    def read(self, path: str, *, limit: int) -> bytes:
        self.reads += 1
        return SKILL + b"Edition %d" % self.reads


def test_an_edit_is_seen_at_the_next_activation() -> None:
    skill = load(EditedFiles())
    assert skill.instructions.endswith("Edition 2")
    assert skill.instructions.endswith("Edition 3")


def test_resources_are_all_files_but_skill_md() -> None:
    files = MemoryFiles(
        {"SKILL.md": SKILL, "scripts/run.py": b"1", "references/a.md": b"", "scripts2/x": b"", "sub/SKILL.md": b""}
    )
    skill = load(files)
    assert [entry.path for entry in skill.resources()] == [
        "references/a.md",
        "scripts/run.py",
        "scripts2/x",
        "sub/SKILL.md",
    ]
    assert [entry.path for entry in skill.resources("scripts")] == ["scripts/run.py"]
    assert skill.resources("scripts/") == skill.resources("scripts")
    assert skill.resources("nothing") == ()


def test_a_resource_is_read_by_its_path() -> None:
    assert load(MemoryFiles({"SKILL.md": SKILL, "a/b.txt": b"x"})).resource("./a//b.txt") == b"x"


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "~/.ssh/id", "a\\b", "C:/x", "", "."])
def test_a_resource_outside_the_skill_is_refused(path: str) -> None:
    with pytest.raises(RefusedError) as caught:
        load(MemoryFiles({"SKILL.md": SKILL})).resource(path)
    assert caught.value.rule == "path-check"


def test_a_resource_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        load(MemoryFiles({"SKILL.md": SKILL})).resource("a")


def test_a_resource_over_the_limit_is_refused() -> None:
    with pytest.raises(RefusedError):
        load(MemoryFiles({"SKILL.md": SKILL, "a": b"12345"})).resource("a", limit=4)


def test_an_unusable_skill_is_invalid_with_its_report() -> None:
    with pytest.raises(InvalidSkillError) as caught:
        load(MemoryFiles({"SKILL.md": b"---\nname: pdf\n---\n"}), folder="pdf")
    assert str(caught.value) == "pdf is not a skill: there is no description"
    assert [found.code for found in caught.value.report] == ["SK110"]
    assert caught.value.hint == "say what the skill does and when to use it"


def test_check_is_strict_by_default() -> None:
    files = MemoryFiles({"SKILL.md": SKILL})
    assert not check(files, folder="other").ok
    assert check(files, folder="other", verdict=Verdict.LENIENT).ok
    assert not check(files, folder="other", verdict=Verdict.COMPAT).ok
    assert check(files, folder="pdf").ok


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (MemoryFiles({}), "SK001"),
        (MemoryFiles({"README.md": b""}), "SK001"),
        (MemoryFiles({"sub/skill.md": b""}), "SK001"),
        (MemoryFiles({"skill.md": SKILL}), "SK013"),
        (MemoryFiles({"Skill.md": SKILL}), "SK013"),
        (MemoryFiles({"skills.md": SKILL}), "SK013"),
        (BrokenFiles(refused("not-a-file")), "SK002"),
        (BrokenFiles(refused("link-leaves-skill")), "SK017"),
        (BrokenFiles(refused("something-else")), "SK015"),
        (BrokenFiles(PermissionError(13, "Permission denied")), "SK015"),
    ],
)
def test_a_skill_file_that_cannot_be_read_has_a_code_of_its_own(files: MemoryFiles | BrokenFiles, code: str) -> None:
    (found,) = check(files, folder="pdf")
    assert (found.code, found.severity) == (code, Severity.ERROR)
    assert found.message
    with pytest.raises(InvalidSkillError):
        load(files, folder="pdf")


def test_a_wrong_file_name_is_named() -> None:
    (found,) = check(MemoryFiles({"skill.md": SKILL}))
    assert (found.file, found.hint) == ("skill.md", "rename it to SKILL.md")


def test_a_disk_error_keeps_its_message() -> None:
    (found,) = check(BrokenFiles(OSError(5, "Input/output error")))
    assert found.message == "SKILL.md cannot be read: Input/output error"


def test_a_skill_file_of_one_mebibyte_is_the_largest_that_is_read() -> None:
    largest = SKILL.ljust(MAX_SKILL_FILE_BYTES)
    assert check(MemoryFiles({"SKILL.md": largest}), folder="pdf").problems == ()
    (found,) = check(MemoryFiles({"SKILL.md": largest + b" "}), folder="pdf")
    assert found.code == "SK016"


@pytest.mark.parametrize("files", [MemoryFiles({}), BrokenFiles(refused("not-a-file")), BrokenFiles(OSError(5, "error"))])
def test_compat_answers_no_where_nothing_can_be_read(files: MemoryFiles | BrokenFiles) -> None:
    assert not check(files, folder="pdf", verdict=Verdict.COMPAT).ok


def test_compat_also_takes_the_lowercase_file() -> None:
    assert check(MemoryFiles({"skill.md": SKILL}), folder="pdf", verdict=Verdict.COMPAT).ok


def test_a_skill_has_the_fields_of_the_standard_and_lists_its_files_by_folder() -> None:
    head = b"---\nname: pdf\ndescription: Fills forms.\nlicense: MIT\ncompatibility: Needs qpdf\n"
    head += b"allowed-tools: Read Bash(qpdf *)\n"
    files = MemoryFiles({
        "SKILL.md": head + b"metadata:\n  author: ann\n---\nDo it.\n",
        "scripts/fill.py": b"", "scripts/lib/form.py": b"", "references/fields.md": b"", "assets/form.pdf": b"",
        "README.md": b"",
    })  # fmt: skip
    skill = load(files)
    assert (skill.license, skill.compatibility, skill.metadata) == ("MIT", "Needs qpdf", {"author": "ann"})
    assert skill.allowed_tools == ("Read", "Bash(qpdf *)")
    assert skill.scripts == ("scripts/fill.py", "scripts/lib/form.py")
    assert (skill.references, skill.assets) == (("references/fields.md",), ("assets/form.pdf",))
    assert (skill.folder, skill.source, skill.source_ref) == ("", "", "")


def test_a_file_that_is_parsed_already_is_not_read_again() -> None:
    class Unreadable(MemoryFiles):
        def read(self, path: str, *, limit: int) -> bytes:
            raise AssertionError(path)

    assert load(Unreadable({}), parsed=parse(SKILL)).name == "pdf"


def declares(frontmatter: str, *files: str) -> list[tuple[str, int | None, str]]:
    text = f"---\nname: pdf\ndescription: Fills forms.\n{frontmatter}---\n"
    report = check(
        MemoryFiles({"SKILL.md": text.encode(), **dict.fromkeys(files, b"x")}), folder="pdf", verdict=Verdict.LENIENT
    )
    return [(found.code, found.line, found.message) for found in report]


def test_a_declared_script_that_is_missing_is_reported_on_the_line_of_its_key() -> None:
    head = "scripts:\n  - path: fill.py\n  - scripts/check\n"
    assert declares(head, "scripts/fill.py") == [("SK308", 4, "scripts: 'scripts/check' is not in the skill")]
    assert declares(head, "scripts/fill.py", "scripts/check.sh") == []


def test_a_toolset_in_typescript_or_without_its_module_is_reported() -> None:
    head = "toolsets: ['toolsets/index:Hello']\n"
    said = "toolsets: toolsets/index.ts is TypeScript, and metier loads Python toolsets"
    assert declares(head, "toolsets/index.ts") == [("SK309", 4, said)]
    assert declares(head) == [("SK309", 4, "toolsets: toolsets/index.py is not in the skill")]
    assert declares(head, "toolsets/index.py") == declares(head, "toolsets/index/__init__.py") == []
