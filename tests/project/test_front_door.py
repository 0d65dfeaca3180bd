"""The README's two commands work in a clone on a machine that has only Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import environment

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_starts_with_the_two_commands() -> None:
    commands = re.findall(r"^```sh\n(.*?)\n```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert [command.split()[:2] for command in commands[:2]] == [["python3", "tools/metier.py"], ["python3", "tools/test.py"]]


def test_a_python_that_only_prints_an_error_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = tmp_path / "shims" / "python3.99"
    real = tmp_path / "pyenv" / "versions" / "3.99.1" / "bin" / "python"
    for file, text in ((shim, "#!/bin/sh\nexit 127\n"), (real, "#!/bin/sh\necho Python 3.99.1\n")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert environment.find_python("3.99") == str(real)
    assert environment.find_python("3.98") == "3.98"


def test_uv_is_taken_from_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.find_uv() == ["uv"]


def test_uv_is_kept_in_an_environment_of_its_own_where_python_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / ".venv-uv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-such-python"))
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    assert environment.find_uv() == [str(python), "-m", "uv"]


@pytest.mark.skipif(not os.environ.get("METIER_FULL"), reason="long runs take METIER_FULL=1")
def test_the_two_commands_work_in_a_bare_debian(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("a bare Debian takes root and debootstrap")
    root = tmp_path / "debian"
    packages = "--include=python3,python3-venv,git,ca-certificates"
    subprocess.run(["debootstrap", "--variant=minbase", packages, "stable", root], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["git", "clone", "--quiet", ROOT, root / "clone"], check=True)
    for file in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(file, f"{root}{file}")
    words = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

    def run(command: str) -> str:
        inside = f"mount -t proc proc /proc; cd /clone && {command}"
        step = ["unshare", "--mount", "chroot", str(root), "sh", "-c", inside]
        return subprocess.run(step, env=words, check=True, capture_output=True, text=True).stdout

    assert "data-analysis" in run('python3 tools/metier.py prompt "plot the monthly sales in sales.csv"')
    # The whole suite has its own run; here it is enough that it starts and says what it left out.
    assert "left out on this machine: " in run("python3 tools/test.py -q tests/spec").splitlines()[-1]
