"""Recall from a registry: hostile and unreachable ones included."""

from __future__ import annotations

from typing import Any

import pytest

from metier.errors import UnavailableError
from metier.registry import RegistryRecall
from metier.registry.client import Json, RegistryClient


class FakeClient(RegistryClient):
    """Answers searches with these rows, or fails."""

    rows: list[Json] | None = None
    asked = 0

    def search(self, query: str, *, limit: int = 20, cursor: str = "", **filters: str) -> Json:
        assert query.endswith(" ")
        self.asked += 1
        if self.rows is None:
            raise UnavailableError("cannot reach it", hint="check the network")
        return {"skills": self.rows, "next": None}


def client(*rows: Json) -> FakeClient:
    made = FakeClient(url="https://skills.example.com")
    made.rows = list(rows)
    return made


def row(name: str, **more: Any) -> Json:
    return {"name": name, "description": "Fills PDF forms.", "version": "1.2.0", **more}


def test_a_skill_names_the_command_that_installs_it() -> None:
    [skill] = RegistryRecall(client(row("fill-forms", tags=["pdf"])), "internal")("pdf forms", 9)
    assert (skill.id, skill.install) == ("internal:fill-forms", "metier skill install internal:fill-forms")
    assert (skill.version, skill.tags, skill.origin) == ("1.2.0", ("pdf",), "internal")


def test_without_a_name_of_the_registry_the_address_is_our_own_and_not_the_one_that_it_sends() -> None:
    [skill] = RegistryRecall(client(row("fill-forms", download_url="https://evil.example/x.zip; id")))("pdf", 9)
    assert skill.install == "metier skill install https://skills.example.com/skills/fill-forms/1.2.0.zip"


@pytest.mark.parametrize("name", ["x; rm -rf ~", "\x1b[31mred", "../up", "", "a\nb", "UPPER"])
def test_a_name_that_no_skill_has_is_left_out(name: str) -> None:
    assert RegistryRecall(client(row(name)), "r9s")("pdf", 9) == ()


def test_a_version_that_is_none_is_left_out() -> None:
    assert RegistryRecall(client(row("fill-forms", version="1.0.0 && id")))("pdf", 9) == ()


def test_long_texts_are_cut() -> None:
    [skill] = RegistryRecall(client(row("big", description="x" * 9000, tags=["t" * 900] * 900)), "r9s")("pdf", 9)
    assert len(skill.description) == 1024
    assert len(skill.tags) == 20 and len(skill.tags[0]) == 64


def test_a_failure_is_raised_once_and_then_the_registry_has_a_minute_of_peace() -> None:
    now = [0.0]
    broken = client()
    broken.rows = None
    recall = RegistryRecall(broken, "r9s", clock=lambda: now[0])
    with pytest.raises(UnavailableError):
        recall("pdf", 9)
    assert recall("pdf", 9) == () and broken.asked == 1
    now[0] = 61.0
    broken.rows = [row("fill-forms")]
    assert [skill.name for skill in recall("pdf", 9)] == ["fill-forms"]


def test_the_same_words_are_asked_once() -> None:
    fake = client(row("fill-forms"))
    recall = RegistryRecall(fake, "r9s")
    assert recall("pdf", 9) == recall("pdf", 9)
    assert fake.asked == 1
