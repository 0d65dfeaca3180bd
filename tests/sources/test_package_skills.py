"""Skills inside installed Python and npm packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.errors import ConfigError
from metier.sources import PackageSkills, check_package, find_package_skills, package_folders


def install_python(project: Path, name: str, package: str) -> Path:
    site = project / ".venv/lib/python3.12/site-packages"
    folder = site / package / "skills"
    (folder / "charts").mkdir(parents=True)
    (folder / "charts/SKILL.md").write_text("---\nname: charts\ndescription: Draws.\n---\n")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text(f"{package}/__init__.py,,\n{package}/skills/charts/SKILL.md,sha256=x,3\n")
    return folder


def test_a_python_package_is_found_by_the_name_of_its_distribution(tmp_path: Path) -> None:
    folder = install_python(tmp_path, "Acme_Plots", "acme")
    assert package_folders(str(tmp_path), ["python:acme-plots"]) == (str(folder),)
    assert package_folders(str(tmp_path), ["python:acme"]) == ()
    assert find_package_skills(str(tmp_path)) == (PackageSkills("python:acme-plots", str(folder)),)


def test_an_npm_package_is_found_with_and_without_a_scope(tmp_path: Path) -> None:
    for name in ("plots", "@acme/plots"):
        (tmp_path / "node_modules" / name / "skills").mkdir(parents=True)
    (tmp_path / "node_modules/.bin").mkdir()
    found = find_package_skills(str(tmp_path))
    assert [each.package for each in found] == ["npm:@acme/plots", "npm:plots"]
    assert package_folders(str(tmp_path), ["npm:@acme/plots", "npm:absent"]) == (found[0].folder,)


def test_a_record_cannot_lead_out_of_the_packages(tmp_path: Path) -> None:
    folder = install_python(tmp_path, "evil", "evil")
    (tmp_path / ".venv/lib/python3.12/skills").mkdir()
    record = folder.parents[1] / "evil-1.0.dist-info/RECORD"
    record.write_text("../skills/x/SKILL.md,,\n/etc/skills/x/SKILL.md,,\n")
    assert package_folders(str(tmp_path), ["python:evil"]) == ()


@pytest.mark.parametrize(
    "text", ["plots", "npm:", "npm:../x", "npm:a/b", "python:a/b", "pip:a", "npm:@x", "npm:.bin", "python:"]
)
def test_anything_else_is_not_a_package(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a package"):
        check_package(text, origin="config.toml")


def test_names_are_accepted_as_the_registries_write_them() -> None:
    for text in ("python:Acme.Plots_2", "npm:@acme/plots", "npm:left-pad"):
        assert check_package(text, origin="") == text
