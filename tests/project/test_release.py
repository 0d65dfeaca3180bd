"""A release holds the package and nothing else, twice the same, and its version is the one that the changelog names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import metier
from tools import release

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return release.build(tmp_path_factory.mktemp("release"))


def test_a_release_has_no_problems(built: tuple[Path, Path]) -> None:
    assert release.check(*built) == []


def test_every_place_names_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == metier.__version__
    assert f"metier=={metier.__version__}" in (ROOT / "action.yml").read_text(encoding="utf-8")
    for file in (ROOT / "deploy/kubernetes").glob("*.yaml"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if "image: metier-registry:" in line:
                assert line.endswith(f":{metier.__version__}"), file.name


@pytest.mark.parametrize(
    "name", ["tests/test_x.py", "metier/tests/data/x.jsonl", "metier/__pycache__/x.cpython-311.pyc", "x.py"]
)
def test_a_wheel_with_a_foreign_file_is_refused(built: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    wheel = tmp_path / built[0].name
    wheel.write_bytes(built[0].read_bytes())
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(name, "")
    assert list(release.problems_of_wheel(wheel)) == [f"{wheel.name} has {name}"]


def test_the_page_about_setting_up_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs/setup.md").read_text(encoding="utf-8")
    assert [name for name in project["optional-dependencies"] if f"`{name}`" not in page] == []


def test_an_installed_wheel_answers(built: tuple[Path, Path], tmp_path: Path) -> None:
    """The wheel is put first on the path: no dependency is installed again."""
    with zipfile.ZipFile(built[0]) as archive:
        archive.extractall(tmp_path / "site")
    variables = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": str(tmp_path / "site"), "LANG": "C.UTF-8"}
    for words, said in (
        (["--version"], metier.__version__),
        (["prompt", "--preset", "active", "chart of sales.csv"], "data-analysis"),
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "metier", *words], env=variables, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert said in ran.stdout


def test_only_the_last_job_can_publish_and_it_runs_nothing_of_the_repository() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/publish.yaml").read_text(encoding="utf-8"))["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"}, "publish": {"id-token": "write"},
    }  # fmt: skip
    steps = [step.get("run", step.get("uses", "")) for step in jobs["publish"]["steps"]]
    assert not any("checkout" in step or "tools/" in step for step in steps)
    for name in re.findall(r"(?:tools/\w+\.py|\.ci/run)", str(jobs["build"])):
        assert (ROOT / name).is_file()


@pytest.mark.skipif(not os.environ.get("METIER_FULL"), reason="long runs take METIER_FULL=1")
def test_every_python_and_every_extra(tmp_path: Path) -> None:
    assert release.main(["--matrix", "--out", str(tmp_path)]) == 0
