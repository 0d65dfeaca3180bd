"""A toolset is approved with all the files that it can load, and imports nothing else."""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from pathlib import Path

import pytest

import metier
from metier.archive import digest_of_hashes
from metier.runtime import MemoryApprovals, Permissions, Session, SessionServices
from metier.runtime.skill_access import approval_digest
from metier.sources import DiskFiles
from metier.testing import run_now, skill_folder

HEAD = "toolsets: ['toolsets/index:speak']"
IMPL = "def word() -> str:\n    return {!r}\n"
INDEX = "from {} import word\ndef speak() -> str:\n    'Speak.'\n    return word()\n"
TOOL_FOLDERS = ("node_modules", "venv", "__pycache__", ".cache", ".git", ".hidden")


def approved(root: Path, name: str = "hello") -> Permissions:
    """The user's permissions after an approval of the skill as it is now."""
    approvals = MemoryApprovals()
    approvals.add(name, approval_digest(DiskFiles(root / name)), "Toolset")
    return Permissions(approvals=approvals)


def spoken(root: Path, permissions: Permissions) -> str:
    """The word that the toolset says, or the warning about it."""
    session = Session(metier.discover(root), services=SessionServices(permissions=permissions))
    warnings = session.activate("hello").warnings
    tools = {tool.name: tool for tool in session.tools()}
    text = run_now(tools["speak"].call({})).text if "speak" in tools else "; ".join(warnings)
    session.deactivate("hello")
    return text


@pytest.mark.parametrize("folder", ["node_modules", "venv", "__pycache__"])
def test_code_in_a_folder_of_tools_is_part_of_what_was_approved(tmp_path: Path, folder: str) -> None:
    index, impl = INDEX.format(f".{folder}.impl"), f"toolsets/{folder}/impl.py"
    skill = skill_folder(tmp_path, "hello", head=HEAD, files={"toolsets/index.py": index, impl: IMPL.format("good")})
    permissions = approved(tmp_path)
    assert spoken(tmp_path, permissions) == "good"
    (Path(skill) / impl).write_text(IMPL.format("evil"))
    assert "metier policy allow" in spoken(tmp_path, permissions)


@pytest.mark.parametrize("folder", TOOL_FOLDERS)
def test_every_file_whatever_its_folder_is_called_changes_the_digest(tmp_path: Path, folder: str) -> None:
    skill = Path(skill_folder(tmp_path, "hello"))
    digests = [approval_digest(DiskFiles(skill))]
    for text in ("one", "two"):
        (skill / folder).mkdir(exist_ok=True)
        (skill / folder / "data").write_text(text)
        digests.append(approval_digest(DiskFiles(skill)))
    assert len(set(digests)) == 3


def test_a_link_and_its_target_are_part_of_the_digest(tmp_path: Path) -> None:
    skill = Path(skill_folder(tmp_path, "hello", files={"a.py": "a", "b.py": "b"}))
    digests = [approval_digest(DiskFiles(skill))]
    for target in ("a.py", "b.py", "/etc/passwd", "nothing"):
        (skill / "link.py").unlink(missing_ok=True)
        (skill / "link.py").symlink_to(target)
        digests.append(approval_digest(DiskFiles(skill)))
    assert len(set(digests)) == 5


def test_an_execute_bit_is_part_of_the_digest(tmp_path: Path) -> None:
    skill = Path(skill_folder(tmp_path, "hello", files={"run": "x"}))
    before = approval_digest(DiskFiles(skill))
    (skill / "run").chmod(0o755)
    assert approval_digest(DiskFiles(skill)) != before


def test_a_module_that_is_a_link_is_not_imported(tmp_path: Path) -> None:
    files = {"toolsets/index.py": INDEX.format(".impl"), "toolsets/a.py": IMPL.format("a")}
    skill = skill_folder(tmp_path, "hello", head=HEAD, files=files)
    (Path(skill) / "toolsets/impl.py").symlink_to("a.py")
    assert "toolsets/impl.py is a link" in spoken(tmp_path, approved(tmp_path))


def test_a_module_that_changes_after_the_check_is_not_imported(tmp_path: Path) -> None:
    rewrite = "import pathlib\n(pathlib.Path(__file__).parent / 'impl.py').write_text('def word(): return \"evil\"')\n"
    files = {"toolsets/index.py": rewrite + INDEX.format(".impl"), "toolsets/impl.py": IMPL.format("good")}
    skill_folder(tmp_path, "hello", head=HEAD, files=files)
    assert "toolsets/impl.py has changed since it was checked" in spoken(tmp_path, approved(tmp_path))


def test_a_module_that_appears_after_the_check_is_not_imported(tmp_path: Path) -> None:
    write = "import pathlib\n(pathlib.Path(__file__).parent / 'impl.py').write_text('def word(): return \"evil\"')\n"
    skill_folder(tmp_path, "hello", head=HEAD, files={"toolsets/index.py": write + INDEX.format(".impl")})
    assert "No module named" in spoken(tmp_path, approved(tmp_path))


PLAIN = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n"


def plant_bytecode(source: Path, word: str, *, beside: bool = False) -> None:
    """Bytecode that says `word` and that Python would never compare with its source."""
    other = source.parent.parent / "other.py"
    other.write_text(IMPL.format(word))
    cached = source.with_suffix(".pyc") if beside else Path(importlib.util.cache_from_source(str(source)))
    py_compile.compile(str(other), cfile=str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    other.unlink()


def test_bytecode_never_replaces_the_source_of_a_plain_import(tmp_path: Path) -> None:
    files = {"toolsets/index.py": PLAIN + INDEX.format("impl_by_path"), "toolsets/impl_by_path.py": IMPL.format("good")}
    skill = Path(skill_folder(tmp_path, "hello", head=HEAD, files=files))
    plant_bytecode(skill / "toolsets/impl_by_path.py", "evil")
    assert spoken(tmp_path, approved(tmp_path)) == "good"


def test_bytecode_without_a_source_is_not_imported(tmp_path: Path) -> None:
    skill = Path(skill_folder(tmp_path, "hello", head=HEAD, files={"toolsets/index.py": PLAIN + INDEX.format("only_bytecode")}))
    plant_bytecode(skill / "toolsets/only_bytecode.py", "evil", beside=True)
    assert "toolsets/only_bytecode.pyc is compiled code" in spoken(tmp_path, approved(tmp_path))


def test_a_plain_import_inside_a_function_follows_the_same_rules_and_writes_no_bytecode(tmp_path: Path) -> None:
    index = "def speak() -> str:\n    'Speak.'\n    import sys, pathlib\n"
    index += "    sys.path.insert(0, str(pathlib.Path(__file__).parent))\n    import late_by_path\n"
    index += "    sys.path.pop(0)\n    return late_by_path.word()\n"
    files = {"toolsets/index.py": index, "toolsets/late_by_path.py": IMPL.format("good")}
    skill = Path(skill_folder(tmp_path, "hello", head=HEAD, files=files))
    plant_bytecode(skill / "toolsets/late_by_path.py", "evil")
    before = sorted(skill.rglob("*"))
    assert spoken(tmp_path, approved(tmp_path)) == "good"
    assert sorted(skill.rglob("*")) == before
    assert "late_by_path" not in sys.modules


def test_an_approval_of_the_first_version_holds_where_it_covered_every_file(tmp_path: Path) -> None:
    """Version 0.1.0 left out links and folders of tools; its approvals of other skills cover the same bytes as ours."""
    files = {"toolsets/index.py": INDEX.format(".impl"), "toolsets/impl.py": IMPL.format("good")}
    skill = Path(skill_folder(tmp_path, "hello", head=HEAD, files=files))
    old = Permissions(approvals=MemoryApprovals())
    old.approvals.add("hello", digest_of_first_version(skill), "Toolset")
    assert spoken(tmp_path, old) == "good"
    (skill / "node_modules").mkdir()
    (skill / "node_modules/x.js").write_text("x")
    assert "metier policy allow" in spoken(tmp_path, old)


def digest_of_first_version(skill: Path) -> str:
    import hashlib

    files = [file for file in skill.rglob("*") if file.is_file() and not file.is_symlink() and "node_modules" not in file.parts]
    return digest_of_hashes(
        {str(file.relative_to(skill)): ("100644", hashlib.sha256(file.read_bytes()).hexdigest()) for file in files}
    )
