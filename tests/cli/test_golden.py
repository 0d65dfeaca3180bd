"""Complete outputs against golden files. TEST_GOLDEN=write rewrites the files; review the diff before you commit it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.shell import Shell
from metier.sources import BUNDLED

GOLDEN = Path(__file__).parent / "golden"
PAGES: dict[str, tuple[str, ...]] = {
    "help": ("--help",),
    "skill-help": ("skill", "--help"),
    "skill-list-help": ("skill", "list", "--help"),
    "skill-create-help": ("skill", "create", "--help"),
    "skill-validate-help": ("skill", "validate", "--help"),
    "skill-list": ("skill", "list"),
    "skill-list-json": ("skill", "list", "--json", "p*"),
    "skill-show": ("skill", "show"),
    "skill-show-one": ("skill", "show", "pdf"),
    "skill-validate": ("skill", "validate", "{home}/.metier/skills"),
    "skill-validate-github": ("skill", "validate", "{home}/.metier/skills", "--format", "github"),
    "skill-validate-sarif": ("skill", "validate", "{home}/.metier/skills/broken", "--format", "sarif"),
    "skill-lint": ("skill", "lint", "vague"),
    "skill-explain": ("skill", "explain", "SK101"),
    "skill-fix": ("skill", "fix", "--dry-run", "broken"),
    "error": ("skill", "show", "pfd"),
    "error-json": ("skill", "show", "pfd", "--json"),
}


@pytest.fixture
def furnished(shell: Shell) -> Shell:
    pdf = shell.skill("pdf", description="Reads and writes PDF files. Use when a PDF is mentioned.", head="license: MIT")
    (pdf / "references").mkdir()
    (pdf / "references/forms.md").write_text("# Forms\n")
    shell.skill("chart", description="Draws charts. Use when numbers should be seen.", head="metadata:\n  requires: plotter")
    shell.skill("quiet", description="Rarely needed. Use when asked for.", head="default_enabled: false")
    shell.skill("broken", data=b"---\nname: Broken\ndescription: Reads: things. Use when asked.\nunknown: key\n---\nDo it.\n")
    shell.skill("vague", description="Does things.", body="See [more](references/none.md).\n")
    shell.skill("local", root=shell.project / ".claude/skills", description="Of this project. Use when here.")
    shell.write_config('[skills]\nenabled_bundled = ["hello-world"]\n')
    return shell


@pytest.mark.parametrize("page", PAGES)
def test_the_output_matches_the_golden_file(furnished: Shell, page: str) -> None:
    ran = furnished(*(word.replace("{home}", str(furnished.home)) for word in PAGES[page]))
    text = f"$ metier {' '.join(PAGES[page])}\n{ran.out}{ran.err}[{ran.code}]\n"
    for path, name in ((furnished.home, "{home}"), (furnished.project, "{project}")):
        text = text.replace(str(path), name)
    text = text.replace(BUNDLED, "{bundled}")
    file = GOLDEN / f"{page}.txt"
    if os.environ.get("TEST_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
