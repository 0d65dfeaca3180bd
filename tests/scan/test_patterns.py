"""Importing the rules compiles no pattern."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_rules_compiles_none_of_them() -> None:
    code = (
        "import re._compiler as c, metier.spec, metier.archive, ast, base64; import metier.scan.rules.phrases\n"
        "made = []; compiled = c.compile; c.compile = lambda p, flags=0: made.append(p) or compiled(p, flags)\n"
        "import metier.scan.scanner; assert not made, made"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
