"""Versions are never lost, never changed, and never half there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from builders import python
from metier.agents import Agent, AgentStore
from metier.errors import ConfigError, ConflictError, NotFoundError
from metier.testing import TickingClock

CLERK = Agent(name="clerk", model="openai:a")


@pytest.fixture
def store(tmp_path: Path) -> AgentStore:
    return AgentStore(tmp_path / "agents", clock=TickingClock())


def test_every_change_is_a_version(store: AgentStore) -> None:
    store.create(CLERK)
    store.change("clerk", lambda agent: replace(agent, model="openai:b"), change="another model")
    assert [(each.number, each.agent.model, each.change) for each in store.history("clerk")] == [
        (2, "openai:b", "another model"), (1, "openai:a", "created"),
    ]  # fmt: skip
    assert store.get("clerk").agent.model == "openai:b"
    assert store.get("clerk", 1).agent == CLERK
    folder = store.folder / "clerk"
    assert sorted(os.listdir(folder / "versions")) == ["0001.toml", "0002.toml"]
    assert (folder / "agent.toml").read_text() == (folder / "versions/0002.toml").read_text()
    assert not (folder / "versions/0001.toml").stat().st_mode & 0o222


def test_without_a_change_there_is_no_new_version(store: AgentStore) -> None:
    store.create(CLERK)
    assert store.change("clerk", lambda agent: agent, change="nothing").number == 1


def test_an_error_in_a_change_leaves_everything_as_it_was(store: AgentStore) -> None:
    store.create(CLERK)

    def broken(agent: Agent) -> Agent:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.change("clerk", broken, change="x")
    assert len(store.history("clerk")) == 1


def test_rolling_back_is_a_new_version(store: AgentStore) -> None:
    store.create(CLERK)
    store.change("clerk", lambda agent: replace(agent, model="openai:b"), change="b")
    assert store.rollback("clerk", 1).number == 3
    assert store.get("clerk").agent == CLERK
    with pytest.raises(NotFoundError, match="no version 9"):
        store.rollback("clerk", 9)


def test_names_that_are_taken_or_unknown(store: AgentStore) -> None:
    assert store.names() == ()
    store.create(CLERK)
    with pytest.raises(ConflictError):
        store.create(CLERK)
    with pytest.raises(NotFoundError) as error:
        store.get("clerc")
    assert "'clerk'" in error.value.hint
    store.delete("clerk")
    assert store.names() == ()
    assert store.create(CLERK).number == 1


def test_a_process_that_died_between_the_two_files_has_made_its_change(store: AgentStore) -> None:
    store.create(CLERK)
    file = store.folder / "clerk/agent.toml"
    before = file.read_text()
    store.change("clerk", lambda agent: replace(agent, model="openai:b"), change="b")
    file.write_text(before)
    assert store.get("clerk").agent.model == "openai:b"
    assert 'model = "openai:b"' in file.read_text()
    assert store.change("clerk", lambda agent: replace(agent, model="openai:c"), change="c").number == 3


def test_an_edit_by_hand_is_a_version_too(store: AgentStore) -> None:
    store.create(CLERK)
    file = store.folder / "clerk/agent.toml"
    file.write_text(file.read_text().replace("openai:a", "openai:by-hand"))
    found = store.get("clerk")
    assert (found.number, found.agent.model, found.change) == (2, "openai:by-hand", "edited by hand")
    assert store.get("clerk", 1).agent.model == "openai:a"


def test_an_agent_written_by_hand_is_its_first_version(store: AgentStore) -> None:
    (store.folder / "new").mkdir(parents=True)
    (store.folder / "new/agent.toml").write_text('name = "new"\nskills = ["pdf"]\n')
    assert store.names() == ("new",)
    assert (store.get("new").number, store.get("new").agent.skills) == (1, ("pdf",))


def test_a_broken_edit_by_hand_is_reported_and_nothing_is_overwritten(store: AgentStore) -> None:
    store.create(CLERK)
    file = store.folder / "clerk/agent.toml"
    file.write_text("name = ")
    with pytest.raises(ConfigError):
        store.change("clerk", lambda agent: replace(agent, model="x"), change="x")
    assert file.read_text() == "name = "


def test_concurrent_edits_of_different_fields_are_merged(store: AgentStore) -> None:
    base = store.create(CLERK)
    store.save(base, replace(CLERK, model="openai:theirs"), change="theirs")
    both = store.save(base, replace(CLERK, skills=("mine",)), change="mine")
    assert (both.number, both.agent.model, both.agent.skills) == (3, "openai:theirs", ("mine",))


def test_concurrent_edits_of_the_same_field_conflict(store: AgentStore) -> None:
    base = store.create(CLERK)
    store.save(base, replace(CLERK, model="openai:theirs"), change="theirs")
    with pytest.raises(ConflictError, match="model of agent 'clerk' changed in the meantime"):
        store.save(base, replace(CLERK, model="openai:mine"), change="mine")
    assert len(store.history("clerk")) == 2


def test_processes_that_edit_at_once_lose_nothing(store: AgentStore) -> None:
    store.create(CLERK)
    code = """
    import sys
    from dataclasses import replace
    from metier.agents import AgentStore
    store, who = AgentStore(sys.argv[1]), sys.argv[2]
    for number in range(8):
        ref = f"skill-{who}-{number}"
        store.change("clerk", lambda agent: replace(agent, skills=(*(agent.skills or ()), ref)), change=ref)
    """
    processes = [python(code, store.folder, who) for who in "abcd"]
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    history = store.history("clerk")
    assert [each.number for each in history] == list(range(33, 0, -1))
    assert len(set(store.get("clerk").agent.skills or ())) == 32


def test_an_import_includes_the_history_and_never_overwrites(store: AgentStore, tmp_path: Path) -> None:
    store.create(CLERK)
    store.change("clerk", lambda agent: replace(agent, model="openai:b"), change="b")
    other = AgentStore(tmp_path / "elsewhere")
    assert other.import_versions(store.history("clerk")[::-1]).number == 2
    assert [each.change for each in other.history("clerk")] == ["b", "created"]
    with pytest.raises(ConflictError):
        other.import_versions([store.get("clerk", 1)])
    assert other.import_versions([store.get("clerk", 1)], force=True).number == 3
    assert other.get("clerk").agent.model == "openai:a"
