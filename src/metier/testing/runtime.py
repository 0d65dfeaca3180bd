"""Conformance suites for the protocols of `metier.runtime`: script runners, session stores, approvals."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.runtime import (
    ActivatedBy,
    ActivationMode,
    ActiveSkill,
    Approvals,
    IsolationLevel,
    Limits,
    Outcome,
    ScriptRun,
    ScriptRunner,
    SessionStore,
    Usage,
)
from metier.values import replace

from .fakes import run_now, skill_folder

__all__ = ["ApprovalsConformance", "RunnerConformance", "SessionStoreConformance"]


class RunnerConformance:
    """Subclass it, say how your runner is made, and let pytest collect it."""

    executes = True
    """False for a runner that runs nothing: then only what it refuses is looked at."""

    def new_runner(self) -> ScriptRunner:
        raise NotImplementedError

    def _run(self, folder: Path, source: str = "print('hello')\n", **options: Any) -> Outcome:  # Any: fields of Run
        skill = skill_folder(folder, "tried", files={"scripts/go.py": source})
        run = ScriptRun(folder=str(skill), script="scripts/go.py")
        return run_now(self.new_runner().run(replace(run, **options)))

    def _refused(self, folder: Path, kind: type[MetierError], **options: Any) -> None:  # Any: fields of Run
        try:
            self._run(folder, **options)
        except kind:
            return
        raise AssertionError(f"this should have been {kind.__name__}: {options}")

    def test_a_hundred_arguments_pass_and_one_more_is_refused(self, tmp_path: Path) -> None:
        assert self._run(tmp_path, arguments=("x",) * 100).ok
        self._refused(tmp_path, RefusedError, arguments=("x",) * 101)

    def test_4096_bytes_of_arguments_pass_and_one_more_is_refused(self, tmp_path: Path) -> None:
        assert self._run(tmp_path, arguments=("é" * 2048,)).ok
        self._refused(tmp_path, RefusedError, arguments=("é" * 2048, "x"))

    def test_a_nul_in_an_argument_is_refused(self, tmp_path: Path) -> None:
        self._refused(tmp_path, RefusedError, arguments=("a\0b",))

    def test_a_script_that_is_not_there_is_not_found(self, tmp_path: Path) -> None:
        self._refused(tmp_path, NotFoundError, script="scripts/other.py")

    def test_only_files_under_scripts_are_run(self, tmp_path: Path) -> None:
        for script in ("SKILL.md", "../tried/scripts/go.py", "/bin/true", "references/x.py"):
            self._refused(tmp_path, RefusedError, script=script)

    def test_an_outcome_says_how_the_run_was_isolated(self, tmp_path: Path) -> None:
        found = self._run(tmp_path).isolation
        assert found.level in IsolationLevel
        assert found.layers or found.missing

    def test_output_and_exit_code_are_those_of_the_script(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('oh', file=sys.stderr)\nsys.exit(7)\n"
            found = self._run(tmp_path, source, arguments=("a b", "-c"), stdin=b"in")
            assert (found.exit_code, found.stdout, found.stderr) == (7, "['a b', '-c'] in\n", "oh\n")

    def test_a_script_that_takes_too_long_is_ended(self, tmp_path: Path) -> None:
        if self.executes:
            found = self._run(tmp_path, "import time\ntime.sleep(60)\n", limits=Limits(seconds=0.5))
            assert (found.exit_code, found.timed_out) == (None, True)


def active_skill(name: str, used: int = 1) -> ActiveSkill:
    return ActiveSkill(name=name, folder=f"/skills/{name}", since=datetime(2026, 1, 1, 12, tzinfo=UTC), last_use=used)


class SessionStoreConformance:
    """Subclass it, say how your store is made, and let pytest collect it."""

    def new_store(self, folder: Path) -> SessionStore:
        raise NotImplementedError

    def test_a_new_session_has_nothing_active(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        assert store.active("s") == ()
        assert store.sessions() == ()

    def test_every_field_of_an_active_skill_is_read_back(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        full = replace(
            active_skill("pdf"),
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
            draft.active = (full, active_skill("csv", 2))
        assert store.active("s") == (full, active_skill("csv", 2))

    def test_sessions_do_not_see_each_other(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        for name in ("one", "two"):
            with store.edit(name) as draft:
                draft.active = (active_skill(name),)
        assert [each.name for each in store.active("one")] == ["one"]
        assert {kept.id for kept in store.sessions()} == {"one", "two"}

    def test_an_error_while_changing_leaves_everything_as_it_was(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        with store.edit("s") as draft:
            draft.active = (active_skill("pdf"),)
        try:
            with store.edit("s") as draft:
                draft.active = ()
                raise ValueError
        except ValueError:
            pass
        assert store.active("s") == (active_skill("pdf"),)

    def test_changes_from_many_threads_are_all_kept(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)

        def add(number: int) -> None:
            with store.edit("s") as draft:
                draft.active = (*draft.active, active_skill(f"skill-{number}"))

        threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.active("s")) == 20

    def test_clearing_deletes_the_session_and_its_usage(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        with store.edit("s") as draft:
            draft.active = (active_skill("pdf"),)
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


class ApprovalsConformance:
    """Subclass it, say how yours is made, and let pytest collect it."""

    def new_approvals(self, folder: Path) -> Approvals:
        raise NotImplementedError

    def test_nothing_is_approved_at_first(self, tmp_path: Path) -> None:
        assert self.new_approvals(tmp_path).of_skill("pdf") == ()

    def test_an_approval_names_its_skill_its_pattern_and_the_digest(self, tmp_path: Path) -> None:
        approvals = self.new_approvals(tmp_path)
        approvals.add("pdf", "sha256:1", "Network")
        [kept] = approvals.of_skill("pdf")
        assert (kept.skill, kept.pattern, kept.digest) == ("pdf", "Network", "sha256:1")
        assert approvals.of_skill("csv") == ()

    def test_approving_a_new_version_replaces_the_approval_of_the_old_one(self, tmp_path: Path) -> None:
        approvals = self.new_approvals(tmp_path)
        approvals.add("pdf", "sha256:1", "Network")
        approvals.add("pdf", "sha256:2", "Network")
        assert [kept.digest for kept in approvals.of_skill("pdf")] == ["sha256:2"]
