"""One selector for all."""

from __future__ import annotations

import pytest

from metier.selection import Selector
from selection.example_skills import EXAMPLES


@pytest.fixture(scope="session")
def selector() -> Selector:
    return Selector(EXAMPLES)
