"""Skills that appear, change and vanish on disk while a conversation runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from engine_builders import app_of, finished, home_skill, now, of, one, turn
from metier.agents import AgentEngine, SkillsMatched
from metier.agents.events import Event
from metier.app import App
from metier.runtime import ActionRefused, ApprovalAnswer, ApprovalHook, SkillDeactivated, SkillsChanged
from metier.testing import ModelServer, says

TOOLSET = "def greet(name: str) -> str:\n    '''Greets.'''\n    return '{} ' + name\n"


def two_turns(
    app: App, first: str, change: Callable[[], object], second: str, *, agent: str = "", approve: ApprovalHook | None = None
) -> tuple[AgentEngine, list[Event], list[Event]]:
    async def both() -> tuple[AgentEngine, list[Event], list[Event]]:
        async with app.conversations.engine(agent=agent, approve=approve, reload_skills=True) as engine:
            before = await turn(engine, first)
            change()
            return engine, before, await turn(engine, second)

    return now(both())


def test_a_new_skill_is_found_in_the_next_turn(tmp_path: Path) -> None:
    home_skill(tmp_path, "zip")
    with ModelServer(lambda _: says("ok")) as model:
        app = app_of(tmp_path, model)
        _, before, after = two_turns(app, "hello", lambda: home_skill(tmp_path, "pdf"), "please do pdf for me")
        assert "pdf" not in model.requests[0].system
        assert "pdf" in model.requests[1].system
    assert of(before, SkillsChanged) == []
    assert one(after, SkillsChanged).added == ("pdf",)
    assert [match.name for match in one(after, SkillsMatched).selection.selected] == ["pdf"]
    assert finished(after).active == ("pdf",)


def test_a_deleted_skill_is_gone_in_the_next_turn(tmp_path: Path) -> None:
    folder = home_skill(tmp_path, "pdf")
    with ModelServer(lambda _: says("ok")) as model:
        app = app_of(tmp_path, model)
        _, before, after = two_turns(app, "do $pdf", lambda: shutil.rmtree(folder), "do it again")
        assert "<name>pdf</name>" not in model.requests[1].system
    assert finished(before).active == ("pdf",)
    assert one(after, SkillsChanged).removed == ("pdf",)
    assert [(event.name, event.reason) for event in of(after, SkillDeactivated)] == [("pdf", "missing")]
    assert finished(after).active == ()


def test_an_active_skill_that_becomes_invalid_is_reported(tmp_path: Path) -> None:
    file = home_skill(tmp_path, "pdf") / "SKILL.md"
    with ModelServer(lambda _: says("ok")) as model:
        _, _, after = two_turns(app_of(tmp_path, model), "do $pdf", lambda: file.write_text("---\nname: [\n---\n"), "again")
    ((name, reason),) = one(after, SkillsChanged).invalid
    assert (name, bool(reason)) == ("pdf", True)
    assert [(event.name, event.reason) for event in of(after, SkillDeactivated)] == [("pdf", "skipped")]


def test_an_edited_description_counts_in_the_next_selection(tmp_path: Path) -> None:
    file = home_skill(tmp_path, "helper") / "SKILL.md"
    edited = "---\nname: helper\ndescription: Translates Latin poems. Use for a Latin poem.\n---\nTranslate.\n"
    with ModelServer(lambda _: says("ok")) as model:
        app = app_of(tmp_path, model)
        _, before, after = two_turns(
            app, "translate this Latin poem", lambda: file.write_text(edited), "translate this Latin poem"
        )
    assert finished(before).active == ()
    assert one(after, SkillsChanged).changed == ("helper",)
    assert finished(after).active == ("helper",)


def test_an_agent_sees_a_skill_of_its_own_appear(tmp_path: Path) -> None:
    from metier.agents import Agent

    home_skill(tmp_path, "zip")
    folder = home_skill(tmp_path, "pdf")
    with ModelServer(lambda _: says("ok")) as model:
        app = app_of(tmp_path, model)
        app.conversations.agents.create(Agent(name="clerk", skills=("pdf",)))
        _, _, after = two_turns(app, "hello", lambda: (folder / "SKILL.md").unlink(), "do zip and pdf", agent="clerk")
    assert one(after, SkillsChanged).removed == ("pdf",)
    assert finished(after).active == ()


def test_an_edited_toolset_runs_its_new_code_once_the_user_allows_it(tmp_path: Path) -> None:
    folder = home_skill(tmp_path, "greeter", head='toolsets: ["toolsets/index:greet"]')
    (folder / "toolsets").mkdir()
    code = folder / "toolsets/index.py"
    code.write_text(TOOLSET.format("Hello"))
    asked: list[str] = []

    def approve(question: object) -> ApprovalAnswer:
        asked.append(str(question))
        return ApprovalAnswer.ONCE

    with ModelServer(lambda _: says("ok")) as model:
        app = app_of(tmp_path, model)
        engine, _, after = two_turns(
            app, "use $greeter", lambda: code.write_text(TOOLSET.format("Goodbye")), "and now", approve=approve
        )
    assert len(asked) == 2
    assert of(after, ActionRefused) == []
    assert engine.session.toolsets.functions("greeter") == ()  # closed


def test_nothing_is_searched_unless_the_caller_asks(tmp_path: Path) -> None:
    with ModelServer(lambda _: says("ok")) as model:

        async def both() -> list[Event]:
            async with app_of(tmp_path, model).conversations.engine() as engine:
                await turn(engine, "hello")
                home_skill(tmp_path, "pdf")
                return await turn(engine, "please do pdf for me")

        assert finished(now(both())).active == ()
