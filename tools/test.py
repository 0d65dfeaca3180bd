"""Run all of metier's tests on a machine that has only Python and pip.

    python3 tools/test.py [pytest arguments]

Installs what the tests need and is not there yet: uv (from PyPI), the project's Python dependencies (by uv, from uv.lock, into
.venv), the official conformance suite of MCP where there is npm, and on Debian or Ubuntu as root the system packages below.
Elsewhere it says what it left out; the tests that need such a program then say so themselves. Python 3.11 or later; nothing
but the standard library is used here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The command that shows that a package is there, and the Debian package that brings it.
SYSTEM = {"git": "git", "less": "less", "bwrap": "bubblewrap", "setpriv": "util-linux", "chromium": "chromium", "tmux": "tmux"}


def main() -> int:
    os.chdir(ROOT)
    # Somebody will start this with whatever `python3` is on their machine.
    if sys.version_info < (3, 11):  # noqa: UP036
        print(f"metier needs Python 3.11 or later, this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    uv = find_uv()
    install_system_packages()
    # Bytecode makes every start of the command line twice as quick, and the tests start it a thousand times.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.pop("VIRTUAL_ENV", None)
    run([*uv, "sync", "--frozen", "--all-extras", "--all-groups", "--python", sys.executable], environment)
    install_suite()
    python = str(ROOT / ".venv" / "bin" / "python")
    return subprocess.run([python, "-m", "pytest", *sys.argv[1:]], env=environment, check=False).returncode


def find_uv() -> list[str]:
    """uv, from PATH, from this Python, or newly installed: for this Python if it lets us, else into a folder of its own."""
    if shutil.which("uv"):
        return ["uv"]
    module = [sys.executable, "-m", "uv"]
    if succeeds([*module, "--version"]) or (
        succeeds([sys.executable, "-m", "pip", "install", "--quiet", "uv"]) and succeeds([*module, "--version"])
    ):
        return module
    # Debian's own Python refuses pip outside a virtual environment (PEP 668).
    folder = ROOT / ".venv-uv"
    print(f"installing uv into {folder}")
    venv.create(folder, with_pip=True)
    run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"])
    return [str(folder / "bin" / "python"), "-m", "uv"]


def install_system_packages() -> None:
    missing = {command: package for command, package in SYSTEM.items() if not shutil.which(command)}
    if not missing:
        return
    packages = sorted(missing.values())
    if shutil.which("apt-get") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if succeeds(["apt-get", "update", "-qq"], environment) and succeeds(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], environment
        ):
            return
    print(f"left out, because I could not install it here: {', '.join(packages)}")


def install_suite() -> None:
    folder = ROOT / "tests" / "mcp" / "suite"
    installed, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return
    if not shutil.which("npm") or not succeeds(["npm", "ci", "--no-audit", "--no-fund", "--prefix", str(folder)]):
        print("left out, because I could not install it here: the conformance suite of MCP")


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    print("+", " ".join(command), flush=True)
    subprocess.run(command, env=environment, check=True)


def succeeds(command: list[str], environment: dict[str, str] | None = None) -> bool:
    return subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[0]} failed with {error.returncode}", file=sys.stderr)
        sys.exit(1)
