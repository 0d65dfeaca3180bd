"""The table of clients and registries in docs/registry.md: every cell is a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_cell_of_the_table_of_clients_and_registries_is_a_test() -> None:
    text = (ROOT / "docs/registry.md").read_text(encoding="utf-8").partition("## Clients and registries")[2]
    rows = [line.strip("|").split("|")[2:] for line in text.splitlines() if line.startswith("|")][2:]
    used = {cell.strip() for row in rows for cell in row} - {"-"}
    named = dict(re.findall(r"^- ([A-Z]): `([^`]+)`$", text, re.MULTILINE))
    assert len(rows) == 9
    assert used == set(named)
    for place in named.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8") if test else (ROOT / file).exists(), place
