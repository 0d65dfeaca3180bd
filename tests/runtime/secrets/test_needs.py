"""Variables that a skill needs: declared, or read by its scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.runtime import needed_variables
from metier.sources import DiskFiles
from metier.spec import load
from metier.testing import skill_folder


def needs(folder: Path, *, head: str = "", files: dict[str, str] | None = None) -> dict[str, str]:
    made = skill_folder(folder, "caller", head=head, files=files or {})
    return {each.name: each.where for each in needed_variables(load(DiskFiles(str(made)), folder="caller"))}


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("metadata:\n  env: API_KEY REGION", {"API_KEY", "REGION"}),
        ("metadata:\n  env:\n    - API_KEY", {"API_KEY"}),
        ('metadata: {"openclaw": {"requires": {"env": ["GH_TOKEN"]}}}', {"GH_TOKEN"}),
        ("compatibility: Needs OPENAI_API_KEY in the environment, and HTTP_VERSION.", {"OPENAI_API_KEY"}),
        ("metadata:\n  env: API_KEY=abc", set()),
    ],
)
def test_a_manifest_declares_variables(tmp_path: Path, head: str, names: set[str]) -> None:
    assert set(needs(tmp_path, head=head)) == names


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "import os\nkey = os.environ['THE_KEY']\n"),
        ("a.py", "from os import environ\nkey = environ.get('THE_KEY', '')\n"),
        ("a.py", "import os\nkey = os.getenv(\"THE_KEY\")\n"),
        ("a.js", "const key = process.env.THE_KEY;\n"),
        ("a.ts", "const key = process.env['THE_KEY'];\n"),
        ("a.ts", "const key = Deno.env.get('THE_KEY');\n"),
        ("a.rb", "key = ENV.fetch('THE_KEY')\n"),
        ("a.sh", 'curl -H "X: $THE_KEY" https://x.example\n'),
        ("a.sh", 'THE_KEY="${THE_KEY:?not set}"\n'),
    ],
)  # fmt: skip
def test_scripts_are_read_in_every_language(tmp_path: Path, path: str, text: str) -> None:
    assert needs(tmp_path, files={f"scripts/{path}": text}) == {"THE_KEY": f"scripts/{path}"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "import os\nhome = os.environ['HOME']\n"),
        ("a.sh", "KEY=$(cat file)\necho $KEY\n"),
        ("a.py", "the_key = 'THE_KEY'\n"),
        ("a.js", "const keyboard = process.env.EDITOR;\n"),
    ],
)
def test_other_variables_are_not_secrets(tmp_path: Path, path: str, text: str) -> None:
    assert needs(tmp_path, files={f"scripts/{path}": text}) == {}
