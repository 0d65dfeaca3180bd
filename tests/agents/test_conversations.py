"""Conversations are kept, found again, and survive whatever kills their process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine_builders import app_of, finished, home_skill, talk
from metier.agents import AnswerText, ConversationStore, SqlConversationStore, Turn, TurnStatus
from metier.agents.conversations import to_markdown
from metier.errors import ConflictError, UnavailableError
from metier.testing import ConversationStoreConformance, ModelAnswer, ModelRequest, ModelServer, TickingClock, says


@pytest.fixture
def chats(tmp_path: Path) -> SqlConversationStore:
    return SqlConversationStore(tmp_path / "chats.sqlite", clock=TickingClock())


class TestSqliteConversations(ConversationStoreConformance):
    def new_store(self, folder: Path) -> ConversationStore:
        return SqlConversationStore(folder / "deep" / "chats.sqlite")

    def store_code(self, folder: Path) -> str:
        file = str(folder / "deep" / "chats.sqlite")
        return f"from metier.agents import SqlConversationStore\nstore = SqlConversationStore({file!r})"


def said(chats: SqlConversationStore, chat: str, message: str, answer: str, **more: object) -> None:
    number = chats.begin(chat, message, model="m")
    turn = Turn(number=number, started=TickingClock()(), message=message, answer=answer, status=TurnStatus.DONE)
    chats.finish(chat, turn)


@pytest.mark.parametrize("word", ["Köln", "KÖLN", "öl", "请检查", "查", "100%", "a_b", "it's"])
def test_messages_are_found_by_their_text(chats: SqlConversationStore, word: str) -> None:
    said(chats, "one", "Wir fahren nach Köln, it's a_b", "请检查合同 100% sicher")
    said(chats, "two", "nothing of the sort", "ab 1000")
    assert [found.conversation for found in chats.search(word.replace("KÖLN", "Köln"))] == ["one"]


def test_a_search_ignores_case_and_shows_the_context(chats: SqlConversationStore) -> None:
    said(chats, "one", "x" * 200 + " the Needle here " + "y" * 200, "ok")
    (found,) = chats.search("nEEDLE")
    assert "the Needle here" in found.text
    assert len(found.text) < 160
    assert chats.search("thread") == ()


def test_a_conversation_reads_well_as_markdown(chats: SqlConversationStore) -> None:
    said(chats, "one", "hello", "**hi**")
    text = to_markdown(chats.get("one"), chats.turns("one"))
    assert text.startswith("# hello\n")
    assert "## You\n\nhello\n\n## metier\n\n**hi**\n" in text


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "chats.sqlite"
    file.write_bytes(b"SQLite format 3\0" + b"rubbish" * 500)
    chats = SqlConversationStore(file)
    said(chats, "one", "hello", "hi")
    assert chats.damaged_copy is not None
    assert Path(chats.damaged_copy).exists()


def test_a_conversation_is_resumed_in_another_process(tmp_path: Path) -> None:
    home_skill(tmp_path, "word-count", head="triggers:\n  keywords: [count]", body="Count aloud.\n")
    with ModelServer(lambda request: says(f"answer {len(request.body['messages'])}")) as model:
        talk(app_of(tmp_path, model), "count this", id="mine")
        ((events),) = talk(app_of(tmp_path, model), "and that", id="mine")
        request = model.requests[-1]
    assert finished(events).active == ("word-count",)
    assert "Count aloud." in request.system
    assert [each["content"] for each in request.body["messages"][1:]] == ["count this", "answer 2", "and that"]


def test_killed_in_the_middle_of_a_turn_only_that_turn_is_lost(tmp_path: Path) -> None:
    home_skill(tmp_path, "word-count", head="triggers:\n  keywords: [count]")
    code = """
import asyncio, sys
from pathlib import Path
from engine_builders import app_of
class Where: url = sys.argv[2]
async def main():
    async with app_of(Path(sys.argv[1]), Where).conversations.engine("mine") as engine:
        for message in ("count one", "count two", "the endless one"):
            async for event in engine.process(message):
                print(type(event).__name__, flush=True)
asyncio.run(main())
"""

    def script(request: ModelRequest) -> ModelAnswer:
        return says("word " * 2000, pause=0.02) if request.user == "the endless one" else says(f"done: {request.user}")

    with ModelServer(script) as model:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        with subprocess.Popen([sys.executable, "-c", code, str(tmp_path), model.url], stdout=subprocess.PIPE, text=True,
                              env=environment) as process:  # fmt: skip
            assert process.stdout is not None
            ends = 0
            for line in process.stdout:
                ends += line.strip() == "TurnFinished"
                if ends == 2 and line.strip() == "AnswerText":
                    break
            process.send_signal(signal.SIGKILL)
        app = app_of(tmp_path, model)
        turns = app.conversations.store.turns("mine")
        assert [(turn.message, turn.answer) for turn in turns[:2]] == [
            ("count one", "done: count one"), ("count two", "done: count two"),
        ]  # fmt: skip
        assert (turns[2].message, turns[2].status) == ("the endless one", None)
        ((events),) = talk(app, "go on", id="mine")
        sent = [each["content"] for each in model.requests[-1].body["messages"][1:]]
    assert sent == ["count one", "done: count one", "count two", "done: count two", "go on"]
    assert finished(events).active == ("word-count",)


def test_a_turn_knows_what_other_processes_said_since_the_last_one(tmp_path: Path) -> None:
    async def main(model: ModelServer) -> list[str]:
        async with (
            app_of(tmp_path, model).conversations.engine("mine") as one,
            app_of(tmp_path, model).conversations.engine("mine") as two,
        ):
            for engine, message in ((one, "first"), (two, "second"), (two, "third"), (one, "fourth")):
                await engine.ask(message)
        return [each["content"] for each in model.requests[-1].body["messages"][1:]]

    with ModelServer(lambda request: says(f"re: {request.user}")) as model:
        sent = asyncio.run(main(model))
        assert sent == ["first", "re: first", "second", "re: second", "third", "re: third", "fourth"]
        assert [turn.number for turn in app_of(tmp_path, model).conversations.store.turns("mine")] == [1, 2, 3, 4]
    assert not list(tmp_path.rglob("*.held"))


def test_turns_that_could_not_be_read_once_are_read_by_the_next_turn(tmp_path: Path) -> None:
    async def main(model: ModelServer) -> list[str]:
        app = app_of(tmp_path, model)
        async with app.conversations.engine("mine") as engine:
            await engine.ask("first")
        async with app.conversations.engine("mine") as engine:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(app.conversations.store, "turns", raise_unavailable)
                with pytest.raises(UnavailableError, match="in use by another process"):
                    await engine.ask("second")
            await engine.ask("third")
        return [each["content"] for each in model.requests[-1].body["messages"][1:]]

    def raise_unavailable(_: str) -> None:
        raise UnavailableError("the file is in use by another process", hint="try again")

    with ModelServer(lambda request: says(f"re: {request.user}")) as model:
        assert asyncio.run(main(model)) == ["first", "re: first", "third"]


def test_a_turn_is_refused_while_another_process_runs_one_of_the_conversation(tmp_path: Path) -> None:
    async def main(model: ModelServer) -> None:
        async with (
            app_of(tmp_path, model).conversations.engine("mine") as one,
            app_of(tmp_path, model).conversations.engine("mine") as two,
        ):
            async for event in one.process("the endless one"):
                if isinstance(event, AnswerText):
                    with pytest.raises(ConflictError, match="another process is running a turn of conversation 'mine'"):
                        await two.ask("me too")
                    one.stop()
            assert (await two.ask("and now")).answer == "done"

    with ModelServer(lambda request: says("word " * 2000, pause=0.02) if "endless" in request.user else says("done")) as model:
        asyncio.run(main(model))
        assert [turn.message for turn in app_of(tmp_path, model).conversations.store.turns("mine")] == [
            "the endless one",
            "and now",
        ]
