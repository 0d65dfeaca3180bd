"""What every store of sessions must hold."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from metier.runtime import ActivatedBy, ActivationMode, ActiveSkill, SessionStore, Usage

__all__ = ["StoreConformance"]


def row(name: str, used: int = 1) -> ActiveSkill:
    return ActiveSkill(name=name, folder=f"/skills/{name}", since=datetime(2026, 1, 1, 12, tzinfo=UTC), last_use=used)


class StoreConformance:
    """Subclass it, say how your store is made, and let pytest collect it."""

    def new_store(self, folder: Path) -> SessionStore:
        raise NotImplementedError

    def test_a_session_nobody_wrote_to_has_nothing_active(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        assert store.active("s") == ()
        assert store.sessions() == ()

    def test_every_field_of_an_active_skill_comes_back(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        full = replace(
            row("pdf"),
            by=ActivatedBy.RANKER,
            mode=ActivationMode.EPHEMERAL,
            pinned=True,
            arguments="a 'b' é\n",
            parameters={"n": 3, "on": True, "x": 0.5, "t": "é"},
            dependencies=("a", "b"),
            content_checksum="12ab",
            tokens=77,
        )
        with store.edit("s") as draft:
            draft.active = (full, row("csv", 2))
        assert store.active("s") == (full, row("csv", 2))

    def test_sessions_do_not_see_each_other(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        for name in ("one", "two"):
            with store.edit(name) as draft:
                draft.active = (row(name),)
        assert [each.name for each in store.active("one")] == ["one"]
        assert {kept.id for kept in store.sessions()} == {"one", "two"}

    def test_an_error_while_changing_leaves_everything_as_it_was(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        with store.edit("s") as draft:
            draft.active = (row("pdf"),)
        try:
            with store.edit("s") as draft:
                draft.active = ()
                raise ValueError
        except ValueError:
            pass
        assert store.active("s") == (row("pdf"),)

    def test_changes_from_many_threads_are_all_kept(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)

        def add(number: int) -> None:
            with store.edit("s") as draft:
                draft.active = (*draft.active, row(f"skill-{number}"))

        threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.active("s")) == 20

    def test_clearing_forgets_the_session_and_what_it_used(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        with store.edit("s") as draft:
            draft.active = (row("pdf"),)
        store.add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
        assert store.clear("s") is True
        assert store.clear("s") is False
        assert (store.active("s"), store.usage("s")) == ((), ())

    def test_usage_adds_up_by_session_skill_and_day(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        for session, day in (("s", "2026-01-01"), ("s", "2026-01-01"), ("s", "2026-01-02"), ("t", "2026-01-01")):
            store.add_usage(session, "pdf", day, Usage(activations=1, tokens=10, seconds=0.5))
        found = store.usage("s")
        assert [(each.day, each.usage.tokens, each.usage.seconds) for each in found] == [
            ("2026-01-01", 20, 1.0),
            ("2026-01-02", 10, 0.5),
        ]
        assert len(store.usage()) == 3
