"""The documents are complete and name only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), ROOT / "training" / "README.md"]
PACKAGES = {path.name for path in (ROOT / "src" / "metier").iterdir() if path.is_dir()} - {"evals"}
# `evals/` and `scripts/` are also folders of a skill, so a path that starts with them may mean a skill's file.
FILE = re.compile(r"(?<![\w./~-])((?:[\w-]+/)+[\w.-]+\.(?:py|md|toml|sql|sh|json|svg|png|css|html))\b")


def named_files(text: str) -> set[str]:
    # A `file NAME` block of a tutorial writes the file.
    text = re.sub(r"^`{3,}file .*$", "", text, flags=re.MULTILINE)
    # A `json` block is what the program prints for somebody's skill.
    text = re.sub(r"^```json\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    # COMMAND.py and the like are placeholders.
    found = [name for name in FILE.findall(text) if not re.search(r"/[A-Z_]{3,}(?!\.md)\b|test_[A-Z]", name)]
    return {
        name for name in found if name.split("/")[0] in PACKAGES | {"src", "tests", "docs", "tools", "training", "benchmarks"}
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    for name in named_files(page.read_text(encoding="utf-8")):
        places = (ROOT, ROOT / "src" / "metier", page.parent)
        assert any((place / name).exists() for place in places), f"{page.name} names {name}, which does not exist"


def test_the_index_links_to_every_page() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in text, f"docs/index.md does not link to {page.name}"


def test_decision_records_are_numbered_without_gaps() -> None:
    files = sorted((DOCS / "adr").glob("[0-9]*.md"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    for file in files:
        assert file.read_text(encoding="utf-8").startswith(f"# {int(file.name[:4])}. "), file.name


def test_the_list_of_decision_records_has_each_with_its_title_and_status() -> None:
    listed = (DOCS / "adr" / "README.md").read_text(encoding="utf-8")
    for file in sorted((DOCS / "adr").glob("[0-9]*.md")):
        number, title = file.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ").split(". ", 1)
        row = re.search(rf"^\| {number} \| \[{re.escape(title)}\]\({re.escape(file.name)}\) \| (.+) \|$", listed, re.MULTILINE)
        assert row, f"docs/adr/README.md has no row for {file.name} with its title"
        assert re.search(rf"^Status: {row[1]}", file.read_text(encoding="utf-8"), re.MULTILINE), (
            f"{file.name}: Status: {row[1]}"
        )


def test_the_glossary_has_twenty_words() -> None:
    rows = re.findall(r"^\| \*\*(\w+)\*\* \|", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(set(rows)) == 20
