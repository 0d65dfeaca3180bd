"""Real packages from the configured index: only with METIER_FULL=1, because every other test talks to loopback."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from metier.install import EnvironmentCache, PackagePrograms, SkillPackages
from metier.runtime import PackageMount, Runner, ScriptRun

pytestmark = pytest.mark.skipif(
    not os.environ.get("METIER_FULL"), reason="fetches polars from the index; METIER_FULL=1 does it"
)
SCRIPT = """# /// script
# requires-python = ">=3.11"
# dependencies = ["polars>=1"]
# ///
import polars

print(polars.DataFrame({"region": ["n", "s", "n"], "sold": [1, 2, 3]}).group_by("region").sum().sort("region").rows())
"""


def test_a_script_with_polars_runs_offline(tmp_path: Path) -> None:
    skill = tmp_path / "sums"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: sums\ndescription: Adds. Use when adding.\n---\nRun it.\n")
    (skill / "scripts/sums.py").write_text(SCRIPT)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    packages = SkillPackages(
        cache=EnvironmentCache(str(tmp_path / "environments")),
        programs=PackagePrograms(folder=str(tmp_path / "downloads"), environment=environment),
        locks=str(tmp_path / "locks"),
    )
    [declared] = packages.declared(str(skill))
    built = packages.prepare(str(skill), declared, packages.resolve(str(skill), declared))
    mount = PackageMount(kind=declared.kind, folder=built.tree, python=built.python)
    outcome = asyncio.run(Runner().run(ScriptRun(folder=str(skill), script="scripts/sums.py", packages=mount)))
    assert outcome.stdout == "[('n', 4), ('s', 2)]\n", outcome
