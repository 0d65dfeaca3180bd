"""The development environment of this clone: uv, the project's packages and the programs that tests need.

Works with any Python 3.11 or later, also one that refuses `pip install` outside a virtual environment (PEP 668, as on Debian
and Ubuntu). Uses nothing but the standard library, because it runs before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["ROOT", "child_environment", "find_python", "find_uv", "install_npm_packages", "install_system_packages", "sync"]

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = (3, 11)
# Each command that tests start, and the Debian package that provides it.
SYSTEM_PACKAGES = {
    "git": "git", "less": "less", "bwrap": "bubblewrap", "setpriv": "util-linux", "chromium": "chromium", "tmux": "tmux",
    "zip": "zip", "podman": "podman", "runc": "runc", "rg": "ripgrep", "nginx": "nginx-light", "caddy": "caddy",
    "systemd-analyze": "systemd", "docker-registry": "docker-registry", "ruby": "ruby",
    "debootstrap": "debootstrap",
}  # fmt: skip


def child_environment() -> dict[str, str]:
    """Returns the caller's environment with bytecode on, which halves the start-up time of the command line."""
    dropped = {"PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def find_uv() -> list[str]:
    """Returns the command that runs uv: from PATH, from this Python, or from a virtual environment created for it."""
    if shutil.which("uv"):
        return ["uv"]
    if _succeeds([sys.executable, "-m", "uv", "--version"]):
        return [sys.executable, "-m", "uv"]
    folder = ROOT / ".venv-uv"
    python = str(folder / "bin" / "python")
    if not _succeeds([python, "-m", "uv", "--version"]):
        print(f"installing uv into {folder.name}/", flush=True)
        try:
            venv.create(folder, with_pip=True, clear=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(folder, ignore_errors=True)
            hint = "install its venv module, on Debian and Ubuntu with `apt install python3-venv`"
            raise SystemExit(f"error: this Python cannot make a virtual environment\nhint: {hint}") from None
        _run([python, "-m", "pip", "install", "--quiet", "uv"])
    return [python, "-m", "uv"]


def sync(*options: str, python: str | None = None) -> Path:
    """Installs the locked packages and returns the `bin` folder of their environment: .venv, or one for each `python`."""
    if sys.version_info < OLDEST_PYTHON and python is None:
        version = ".".join(map(str, OLDEST_PYTHON))
        raise SystemExit(f"error: metier needs Python {version} or later, this is {sys.version.split()[0]}")
    folder = ROOT / (f".venv-{python}" if python else ".venv")
    environment = {**child_environment(), "UV_PROJECT_ENVIRONMENT": str(folder)}
    interpreter = find_python(python) if python else sys.executable
    _run([*find_uv(), "sync", "--quiet", "--frozen", "--python", interpreter, *options], environment)
    return folder / "bin"


def find_python(version: str) -> str:
    """Returns a Python of that version, on PATH or of pyenv; otherwise the version, which uv may find or download."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [
        shutil.which(f"python{version}"),
        *map(str, sorted(root.glob(f"versions/{version}*/bin/python"), reverse=True)),
    ]
    # pyenv puts a command on PATH for every version it has, and most of them only print an error.
    return next((path for path in candidates if path and _succeeds([path, "--version"])), version)


def install_system_packages() -> None:
    """Installs missing packages on Debian and Ubuntu as root. Elsewhere the tests that need one are skipped with a reason."""
    packages = sorted(package for command, package in SYSTEM_PACKAGES.items() if not shutil.which(command))
    if not packages or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    print(f"installing {', '.join(packages)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if _succeeds(["apt-get", "update", "-qq"], environment):
        # One at a time: a package that this release does not have must not keep the others away.
        for package in packages:
            _succeeds(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], environment)


def install_npm_packages() -> None:
    """Installs MCP's own conformance suite, an OpenID provider, and the agent programs of other makers, where there is npm."""
    if not shutil.which("npm"):
        return
    for part in ("mcp/suite", "registry/oidc", "hosts/programs"):
        folder = ROOT / "tests" / part
        installed, locked = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
        if not (installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime):
            flags = ["--no-audit", "--no-fund", "--prefix", str(folder)]
            # `npm ci` refuses a lock without the packages for other systems, which not every registry has.
            _ = _succeeds(["npm", "ci", *flags]) or _succeeds(["npm", "install", "--no-save", *flags])


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    if (status := subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode) != 0:
        raise SystemExit(f"error: `{' '.join(command)}` failed with exit status {status}")


def _succeeds(command: list[str], environment: dict[str, str] | None = None) -> bool:
    try:
        return subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
