"""The command that adds an extra to this installation, for every way in which metier can be installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metier.errors import UnavailableError
from metier.extras import InstalledPackage, MissingExtraError, find_extras, find_package, install_command

CLONE = "file:///home/me/metier"
WAYS = {
    InstalledPackage(): "python3 -m pip install 'metier[mcp]'",
    InstalledPackage(python="/v/bin/python"): "/v/bin/python -m pip install 'metier[mcp]'",
    InstalledPackage(url=CLONE, python="/v/bin/python"): f"/v/bin/python -m pip install 'metier[mcp] @ {CLONE}'",
    InstalledPackage(url=CLONE, is_editable=True, python="/v/bin/python"): (
        "/v/bin/python -m pip install -e '/home/me/metier[mcp]'"
    ),
    InstalledPackage("uv", "/v/bin/python", CLONE, is_editable=True): (
        "uv pip install --python /v/bin/python -e '/home/me/metier[mcp]'"
    ),
    InstalledPackage("uv-tool", url=CLONE): f"uv tool install 'metier[mcp] @ {CLONE}'",
    InstalledPackage("uv-tool", url=CLONE, is_editable=True): "uv tool install -e '/home/me/metier[mcp]'",
    InstalledPackage("uv-tool", extras=("registry", "mcp")): "uv tool install 'metier[registry,mcp]'",
    InstalledPackage("pipx", url=CLONE): f"pipx install --force 'metier[mcp] @ {CLONE}'",
    InstalledPackage("system"): "pipx install 'metier[mcp]'",
    InstalledPackage("system", url=CLONE, is_editable=True): f"pipx install 'metier[mcp] @ {CLONE}'",
}


@pytest.mark.parametrize("package", WAYS)
def test_the_command_fits_the_installation(package: InstalledPackage) -> None:
    assert install_command("mcp", package) == WAYS[package]


def test_uv_leaves_a_receipt(tmp_path: Path) -> None:
    text = '[tool]\nrequirements = [{ name = "metier", extras = ["registry"], directory = "/home/me/metier" }]\n'
    (tmp_path / "uv-receipt.toml").write_text(text)
    found = find_package(str(tmp_path), is_environment=True)
    assert (found.installer, found.extras) == ("uv-tool", ("registry",))


@pytest.mark.parametrize("text", ["[tool", "tool = 1", "[tool]\nrequirements = [1]\n", "[tool]\n"])
def test_a_broken_receipt_is_still_one_of_uv(text: str, tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(text)
    assert find_package(str(tmp_path), is_environment=True).installer == "uv-tool"


@pytest.mark.parametrize(
    ("text", "extras"),
    [
        ('{"main_package": {"package_or_url": "/home/me/metier[mcp,otel]"}}', ("mcp", "otel")),
        ('{"main_package": {"package_or_url": "metier"}}', ()),
        ("{", ()),
        ('{"main_package": null}', ()),
    ],
)
def test_pipx_leaves_metadata(text: str, extras: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text(text)
    found = find_package(str(tmp_path), is_environment=True)
    assert (found.installer, found.extras) == ("pipx", extras)


@pytest.mark.parametrize(("text", "installer"), [("home = /usr/bin\nuv = 0.9.1\n", "uv"), ("home = /usr/bin\n", "pip")])
def test_an_environment_of_uv_has_no_pip(text: str, installer: str, tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text(text)
    found = find_package(str(tmp_path), is_environment=True)
    assert (found.installer, found.python) == (installer, f"{tmp_path}/bin/python")


def test_a_python_of_the_system_is_not_changed(tmp_path: Path) -> None:
    assert find_package(str(tmp_path), is_environment=False, standard=str(tmp_path)).installer == "pip"
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    assert find_package(str(tmp_path), is_environment=False, standard=str(tmp_path)).installer == "system"


def test_the_error_has_the_command_of_this_installation() -> None:
    error = MissingExtraError("MCP needs packages that are not installed", extra="mcp")
    assert isinstance(error, UnavailableError)
    assert error.hint == f"run `{install_command('mcp')}`"
    assert not error.retryable


def test_no_hint_names_pip_by_itself() -> None:
    sources = Path(__file__).parents[1] / "src/metier"
    found = [path.name for path in sources.rglob("*.py") if "pip install 'metier[" in path.read_text(encoding="utf-8")]
    assert found == []


def test_looking_it_up_costs_nothing_before_an_error() -> None:
    code = "import sys, metier, metier.cli.main; print('metier.extras' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_extras_are_installed_if_all_of_their_packages_are() -> None:
    lines = [
        "click>=8.2", "pytest>=8 ; extra == 'whole'", "no-such-package ; extra == 'half'", "pytest ; extra == 'half'",
        "metier[whole] ; extra == 'nested'", "metier[half,whole] ; extra == 'nested-half'",
        "no-such-package>=1 ; python_full_version >= '4.0' and extra == 'newer'",
    ]  # fmt: skip
    assert find_extras(lines) == {"half": False, "nested": True, "nested-half": False, "whole": True}
    assert find_extras()["registry"] is True
