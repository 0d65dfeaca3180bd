"""Counts the parses of SKILL.md: one when a skill is installed, one when it is first listed, then none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from builders import write_skill

COUNTING = """
import contextlib, io, json, sys
from metier.spec import fast_yaml
import metier.spec.parse
slow = sys.modules["metier.spec.parse"]
folders = []

def counted(module, name):
    real = getattr(module, name)
    def count(text, *args, **options):
        text = getattr(text, "frontmatter", text)
        if "counted-skill" in text:
            folders.append(name)
        return real(text, *args, **options)
    setattr(module, name, count)

counted(fast_yaml, "_loads")
counted(slow, "parse_with_positions")
from metier.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(json.loads(sys.argv[1]))
print(json.dumps(folders))
print("yaml" in sys.modules)
"""


@pytest.mark.parametrize("parents", ["", "skills/"])
def test_an_installed_skill_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parents: str) -> None:
    source = tmp_path / "source"
    folder = write_skill(source / parents, "counted-skill")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("METIER_HOME", raising=False)
    monkeypatch.chdir(tmp_path)

    def parses(*words: str) -> tuple[list[str], bool]:
        command = [sys.executable, "-c", COUNTING, json.dumps(words)]
        first, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return json.loads(first), second == "True"

    assert parses("skill", "install", str(source if parents else folder)) == (["_loads"], False)
    assert (tmp_path / "home/.metier/plugins/counted-skill/SKILL.md").exists()
    assert parses("skill", "list") == (["_loads"], False)
    assert parses("skill", "list") == ([], False)
