"""Run metier's tests on a machine that has only Python.

    python3 tools/test.py [--python VERSION] [pytest arguments]

Installs what is missing first: the locked Python packages into .venv (with --python 3.13 into .venv-3.13, by a Python that is
on this machine), MCP's conformance suite and other makers' agents where there is npm, and as root on Debian or Ubuntu the
programs that tests start. The last line names what was left out on this machine, and why. METIER_FULL=1 adds the long runs:
soaks and random examples.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.environment import ROOT, child_environment, install_npm_packages, install_system_packages, sync


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--python", metavar="VERSION", help="test with this Python, for instance 3.13")
    options, pytest_arguments = parser.parse_known_args()
    install_system_packages()
    binaries = sync("--all-extras", "--all-groups", python=options.python)
    install_npm_packages()
    command = [str(binaries / "python"), "-m", "pytest", *pytest_arguments]
    return subprocess.run(command, cwd=ROOT, env=child_environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
