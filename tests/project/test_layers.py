"""The architecture holds: layers, light imports, one version, no accidental public names."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import metier

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("rich", "click", "yaml", "yaml_rs", "watchfiles", "tomlkit", "sqlite3", "asyncio", "pathlib", "dataclasses")


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_every_package_imports_only_from_layers_below_it() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_importing_metier_imports_no_library() -> None:
    bare = modules_after("pass")
    assert not (modules_after("import metier") - bare) & set(HEAVY)


def test_version_and_help_import_no_library() -> None:
    bare = modules_after("pass")
    for words in (["--version"], ["--help"]):
        loaded = modules_after(f"from metier.cli.main import main; main({words!r})") - bare
        assert not loaded & set(HEAVY), words


def test_a_listing_that_has_not_changed_needs_only_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("METIER_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    ask = "sys.argv = ['metier', 'skill', 'list']; from metier.cli.main import main; main()"
    bare = modules_after("pass")
    first, second = modules_after(ask), modules_after(ask)
    assert "click" in first
    assert not (second - bare) & (set(HEAVY) - {"sqlite3"})


def test_a_folder_is_installed_without_what_only_other_sources_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skill = tmp_path / "given" / "pdf"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: Does it. Use when asked.\n---\n\nDo it.\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("METIER_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    words = ["metier", "skill", "install", str(tmp_path / "given"), "--unsafe"]
    loaded = modules_after(f"sys.argv = {words}; from metier.cli.main import main; main()") - modules_after("pass")
    assert (tmp_path / ".metier/plugins/pdf/SKILL.md").exists()
    others = {"dataclasses", "difflib", "httpx2", "rich", "shutil", "sqlite3", "subprocess", "tempfile", "tomllib", "yaml"}
    assert not loaded & others
    assert not {name for name in loaded if name.startswith(("metier.scan", "metier.catalog", "metier.archive.reader"))}


@pytest.mark.parametrize("name", sorted(metier.__all__))
def test_every_public_name_can_be_used(name: str) -> None:
    assert getattr(metier, name) is not None


def test_every_package_declares_its_public_names() -> None:
    for found in pkgutil.walk_packages(metier.__path__, "metier."):
        if "bundled" in found.name or found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        if found.name.count(".") == 1 and not found.ispkg:
            assert hasattr(module, "__all__"), found.name
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{found.name}.{name}"


def test_a_package_is_imported_from_its_public_face() -> None:
    """A subpackage that is a public face itself may be imported by name; so may each framework's adapter."""
    faces = {
        "metier.hosts.transcripts", "metier.registry.client", "metier.registry.server", "metier.registry.web",
        "metier.runtime.behaviour", "metier.runtime.sandbox",
    }  # fmt: skip
    source = ROOT / "src" / "metier"
    for file in source.rglob("*.py"):
        if "bundled" in file.parts or file.name == "__main__.py":
            continue
        own = file.relative_to(source).parts[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                parts = node.module.split(".")
                deep = parts[0] == "metier" and len(parts) > 2 and parts[1] not in (own, "adapters")
                assert not deep or node.module in faces, f"{file.relative_to(source)} imports from {node.module}"


def test_every_package_says_what_it_is() -> None:
    for file in (ROOT / "src" / "metier").rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = metier.nonsense  # type: ignore[attr-defined]


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == metier.__version__
    assert f"## {metier.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_file_of_the_project_names_a_path_of_a_developers_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    wrong = re.compile(r"(?<![\w.}])/(?:" + "|".join(("wo" + "rk", "ro" + "ot", "fa" + "rm")) + r")/")
    for name in listed:
        file = ROOT / name
        if file.suffix in {".py", ".md", ".toml", ".jsonl", ""} and file.is_file():
            assert not wrong.search(file.read_text(encoding="utf-8", errors="replace")), name


def test_a_package_stays_small_enough_to_read() -> None:
    for file in (ROOT / "src" / "metier").rglob("*.py"):
        if "bundled" not in file.parts:
            assert len(file.read_text().splitlines()) <= 600, file
