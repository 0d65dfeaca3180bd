"""Run metier from this clone, with nothing installed but Python.

    python3 tools/metier.py prompt "plot the monthly sales in sales.csv"

Installs metier and its core dependencies into .venv first; METIER_EXTRAS=agents,mcp adds those extras.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.environment import child_environment, sync


def main() -> None:
    extras = os.environ.get("METIER_EXTRAS", "").replace(",", " ").split()
    binaries = sync("--no-dev", "--inexact", *(word for extra in extras for word in ("--extra", extra)))
    program = str(binaries / "metier")
    os.execve(program, [program, *sys.argv[1:]], child_environment())


if __name__ == "__main__":
    main()
