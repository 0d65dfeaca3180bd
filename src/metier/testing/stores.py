"""Conformance suites for the stores of an engine: sessions with their usage, conversations and approvals."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metier.agents import ConversationStore, ModelUsage, Turn, TurnStatus
from metier.errors import ConflictError, NotFoundError
from metier.runtime import (
    ActivatedBy,
    ActivationMode,
    ActiveSkill,
    Approvals,
    PastAction,
    PastActionKind,
    SessionStore,
    StoredApprovals,
    Usage,
)
from metier.values import replace

__all__ = ["ApprovalsConformance", "ConversationStoreConformance", "SessionStoreConformance", "StoredApprovalsConformance"]


def active_skill(name: str, used: int = 1) -> ActiveSkill:
    return ActiveSkill(name=name, folder=f"/skills/{name}", since=datetime(2026, 1, 1, 12, tzinfo=UTC), last_use=used)


@contextlib.contextmanager
def other_process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Runs Python in another process, from its first printed line to the end of the block, where it is killed."""
    words = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip()
            yield process
        finally:
            process.kill()


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

    def test_what_skills_did_adds_up_over_sessions_until_one_is_cleared(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        with store.edit("s") as draft:
            draft.active = (active_skill("pdf"),)
        for session, last in (("s", "2026-01-02"), ("s", "2026-01-01"), ("t", "2026-01-03")):
            store.add_deeds(session, [PastAction(skill="pdf", kind=PastActionKind.HOST, name="a.example", last=last)])
        store.add_deeds("s", [PastAction(skill="pdf", kind=PastActionKind.COMMAND, name="git", last="2026-01-01")])
        found = [(one.kind, one.name, one.times, one.last) for one in store.deeds()]
        assert found == [("command", "git", 1, "2026-01-01"), ("host", "a.example", 3, "2026-01-03")]
        store.clear("s")
        assert [(one.name, one.times) for one in store.deeds()] == [("a.example", 1)]

    def test_a_skill_fills_no_store_with_names(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        store.add_deeds(
            "s", [PastAction(skill="pdf", kind=PastActionKind.HOST, name=f"{number}.example") for number in range(300)]
        )
        assert len(store.deeds()) == 200


class ConversationStoreConformance:
    """Subclass it, say how your store is made, and let pytest collect it.

    `new_store` is called several times with one folder; the stores then share their conversations, as processes do.
    """

    def new_store(self, folder: Path) -> ConversationStore:
        raise NotImplementedError

    def store_code(self, folder: Path) -> str:
        """Python that binds `store` to such a store in another process."""
        raise NotImplementedError

    def test_turns_are_kept_in_order_with_what_they_cost(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        _say(store, "one", "hello", "hi", usage=ModelUsage(input_tokens=3), messages=b'["\xc3\xa9"]', active=("pdf",))
        _say(store, "one", "more\0 \ud800", "é", usage=ModelUsage(input_tokens=4))
        first, second = self.new_store(tmp_path).turns("one")
        assert (first.number, first.message, first.answer, first.status) == (1, "hello", "hi", TurnStatus.DONE)
        assert (first.messages, first.active, first.usage.input_tokens) == (b'["\xc3\xa9"]', ("pdf",), 3)
        assert (second.number, second.answer) == (2, "é")
        found = store.get("one")
        assert (found.title, found.turns, found.usage.input_tokens) == ("hello", 2, 7)

    def test_an_unfinished_turn_has_no_status(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        store.begin("one", "hello")
        (turn,) = store.turns("one")
        assert (turn.message, turn.answer, turn.status, turn.messages) == ("hello", "", None, b"[]")

    def test_the_latest_conversation_is_first(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        for name in ("one", "two", "one"):
            _say(store, name, f"about {name}", "ok")
        assert [each.id for each in store.recent()] == ["one", "two"]
        assert [each.id for each in store.recent(1)] == ["one"]

    def test_ids_that_we_made_can_be_shortened(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        for name in ("0123456789ab", "Zebra", "abc~"):
            store.begin(name, "hello")
        assert store.complete_id("0123") == "0123456789ab"
        assert [store.complete_id(typed) for typed in ("Zebra", "Zeb", "ab", "0123456789ab")] == [
            "Zebra",
            None,
            None,
            "0123456789ab",
        ]
        try:
            store.get("no")
        except NotFoundError:
            return
        raise AssertionError("an unknown conversation was found")

    def test_a_search_ignores_case_and_takes_every_character_as_it_is(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        _say(store, "one", "The Needle is 100% sharp", "it's a_b?")
        _say(store, "two", "thread", "axb")
        for words in ("nEEDLE", "100%", "a_b", "it's", "b?"):
            assert [each.conversation for each in store.search(words)] == ["one"], words
        assert [each.conversation for each in store.search("a")] == ["two", "two", "one", "one"]

    def test_a_summary_is_kept(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        store.begin("one", "hello")
        assert store.summary("one") == (0, "")
        store.set_summary("one", 1, "short")
        assert self.new_store(tmp_path).summary("one") == (1, "short")
        assert store.summary("two") == (0, "")

    def test_a_deleted_conversation_is_gone_with_all_that_was_said(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        _say(store, "one", "a secret", "ok")
        assert store.delete("one")
        assert not store.delete("one")
        assert (store.turns("one"), store.search("secret"), store.recent()) == ((), (), ())

    def test_turns_of_many_threads_get_different_numbers(self, tmp_path: Path) -> None:
        stores = [self.new_store(tmp_path) for _ in range(2)]
        with ThreadPoolExecutor(6) as pool:
            numbers = list(pool.map(lambda each: stores[each % 2].begin("one", f"message {each}"), range(12)))
        assert sorted(numbers) == list(range(1, 13))

    def test_one_caller_at_a_time_holds_a_conversation(self, tmp_path: Path) -> None:
        store, other = self.new_store(tmp_path), self.new_store(tmp_path)
        end = store.hold("one")
        for each in (store, other):
            assert _is_held(each, "one")
        other.hold("two")()
        end()
        other.hold("one")()

    def test_a_killed_process_holds_nothing(self, tmp_path: Path) -> None:
        store = self.new_store(tmp_path)
        code = f"{self.store_code(tmp_path)}\nstore.hold('one')\nprint('held', flush=True)\ninput()"
        with other_process(code):
            assert _is_held(store, "one")
        deadline = time.monotonic() + 30
        while _is_held(store, "one"):
            # A server may need a moment to notice that the process is gone.
            assert time.monotonic() < deadline, "the conversation is still held"
            time.sleep(0.01)


def _is_held(store: ConversationStore, conversation: str) -> bool:
    try:
        store.hold(conversation)()
    except ConflictError:
        return True
    return False


def _say(store: ConversationStore, conversation: str, message: str, answer: str, **more: Any) -> None:
    number = store.begin(conversation, message, model="m")
    turn = Turn(number=number, started=datetime.now(UTC), message=message, answer=answer, status=TurnStatus.DONE)
    store.finish(conversation, replace(turn, **more))


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


class StoredApprovalsConformance(ApprovalsConformance):
    """Subclass it, say how yours is made, and let pytest collect it. All that are made with one folder share approvals."""

    def new_approvals(self, folder: Path) -> StoredApprovals:
        raise NotImplementedError

    def test_all_approvals_are_listed_in_order(self, tmp_path: Path) -> None:
        for skill, pattern in (("pdf", "Network"), ("csv", "Toolset"), ("pdf", "Bash(é)")):
            self.new_approvals(tmp_path).add(skill, "sha256:1", pattern)
        found = self.new_approvals(tmp_path).all
        assert [(each.skill, each.pattern) for each in found] == [("csv", "Toolset"), ("pdf", "Bash(é)"), ("pdf", "Network")]

    def test_approvals_can_be_removed_one_by_one_or_all_at_once(self, tmp_path: Path) -> None:
        approvals = self.new_approvals(tmp_path)
        for pattern in ("Network", "Toolset", "Script(scripts/*)"):
            approvals.add("pdf", "sha256:1", pattern)
        assert approvals.remove("pdf", ["Network", "Read"]) == 1
        assert approvals.remove("pdf") == 2
        assert approvals.remove("pdf") == 0
        assert approvals.all == ()
