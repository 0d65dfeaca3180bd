"""The class that all adapters use, without a framework."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import metier
from metier.adapters import MissingSdkError, Skills
from metier.adapters.background_loop import run_in_background
from metier.disclosure import Budget
from metier.errors import NotFoundError, UsageError
from metier.extras import install_command
from metier.runtime import Session, SessionOptions, SessionServices, SkillActivated, static_tools
from metier.testing import EventRecorder, FakeRunner, run_now, skill_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("chart", "forms", "poems"):
        skill_folder(tmp_path, name, files={"scripts/go.py": "print(1)\n"} if name == "chart" else None)
    return tmp_path


def names(skills: Skills, conversation: str = "") -> set[str]:
    return {tool.name for tool in skills.tools(conversation)}


def test_a_folder_is_enough_for_a_sandbox_and_a_search(root: Path) -> None:
    skills = Skills(root)
    assert names(skills) == {"list_skills", "search_skills", "load_skill"}
    found = run_now(skills.call("search_skills", {"query": "fill in the forms"}))
    assert "forms" in found.text
    run_now(skills.call("load_skill", {"skill_name": "chart"}))
    assert "run_skill_script" in names(skills)


def test_several_folders_are_one_catalog_and_the_later_wins(root: Path, tmp_path: Path) -> None:
    skill_folder(tmp_path / "more", "chart", body="The other one.")
    skills = Skills(root, tmp_path / "more")
    assert "The other one." in run_now(skills.call("load_skill", {"skill_name": "chart"})).text


def test_a_session_of_ones_own_is_the_conversation(root: Path) -> None:
    session = Session(metier.discover(root))
    assert Skills(session).session("any") is session
    assert Skills.of(Skills(session)).session() is session


@pytest.mark.parametrize("given", [(), ("nowhere",)])
def test_without_skills_it_says_so_at_once(given: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, NotFoundError)) as caught:
        Skills(*given)
    assert caught.value.hint


def test_a_session_has_its_host_already(root: Path) -> None:
    with pytest.raises(UsageError):
        Skills(Session(metier.discover(root)), services=SessionServices())
    with pytest.raises(UsageError):
        Skills(Session(metier.discover(root)), root)
    with pytest.raises(UsageError):
        Skills(metier.discover(root), root)


def test_conversations_are_kept_apart_and_found_again(root: Path) -> None:
    skills = Skills(root)
    run_now(skills.call("load_skill", {"skill_name": "chart"}, "one"))
    assert "run_skill_script" in names(skills, "one")
    assert "run_skill_script" not in names(skills, "two")
    assert skills.session("one").active_names == ("chart",)


def test_conversations_beyond_the_cache_are_found_in_the_store(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.adapters.skills._MOST_OPEN", 2)
    skills = Skills(root)
    run_now(skills.call("load_skill", {"skill_name": "chart"}, "first"))
    before = skills.session("first")
    for number in range(5):
        skills.tools(f"other-{number}")
    assert skills.session("first") is not before
    assert skills.session("first").active_names == ("chart",)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"skill_name": ', "not JSON"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        ("", "skill_name"),
        (None, "skill_name"),
        ('{"skill_name": 7}', "skill_name"),
    ],
)
def test_broken_arguments_are_reported_and_not_raised(root: Path, arguments: str | None, expected: str) -> None:
    reply = run_now(Skills(root).call("load_skill", arguments))
    assert not reply.ok
    assert expected in reply.text


def test_an_unknown_tool_is_answered_with_the_known_ones(root: Path) -> None:
    reply = run_now(Skills(root).call("chart", {}))
    assert (reply.ok, reply.code) == (False, "unknown-tool")
    assert "load_skill" in reply.text


def test_a_call_finds_the_tool_that_the_call_before_it_brought(root: Path) -> None:
    skills = Skills(metier.discover(root), services=SessionServices(runner=FakeRunner("drawn\n")))
    skills.tools()
    run_now(skills.call("load_skill", {"skill_name": "chart"}))
    assert "drawn" in run_now(skills.call("chart_go", {})).text


def test_a_catalog_that_does_not_fit_is_ranked_for_the_request(tmp_path: Path) -> None:
    for number in range(60):
        skill_folder(tmp_path, f"filler-{number:02}")
    skill_folder(tmp_path, "zebra-stripes")
    skills = Skills(tmp_path, budget=Budget(tokens=600))
    plain, ranked = skills.instructions(), skills.instructions(request="paint zebra stripes")
    assert "Does zebra-stripes." not in plain
    assert "Does zebra-stripes." in ranked
    assert "more skills are not listed here" in ranked


def test_without_a_search_tool_the_catalog_does_not_mention_one(tmp_path: Path) -> None:
    for number in range(60):
        skill_folder(tmp_path, f"filler-{number:02}")
    skills = Skills(Session(metier.discover(tmp_path)), budget=Budget(tokens=300))
    assert "search_skills" not in names(skills)
    assert "search_skills" not in skills.instructions(request="anything")
    assert "more: call list_skills." in skills.instructions()


def test_the_catalog_is_the_same_for_every_request_while_it_fits(root: Path) -> None:
    skills = Skills(root)
    assert skills.instructions(request="draw a chart") == skills.instructions(request="write a poem")


def test_a_confident_match_can_be_active_before_the_model_is_asked(root: Path) -> None:
    skills = Skills(root, auto_select=True)
    text = skills.instructions(request="$chart, please")
    assert '<skill_content name="chart">' in text
    assert skills.session().active_names == ("chart",)
    assert '<skill_content name="poems">' not in text


def test_a_skill_that_the_model_loaded_is_not_repeated_in_the_prompt(root: Path) -> None:
    skills = Skills(root)
    run_now(skills.call("load_skill", {"skill_name": "chart"}))
    assert "skill_content" not in skills.instructions()
    skills.session().activate("forms")
    assert '<skill_content name="forms">' in skills.instructions()


def test_a_skill_whose_instructions_are_included_is_not_offered_for_loading(root: Path) -> None:
    skills = Skills(root)
    before = skills.instructions()
    skills.session().activate("chart")
    assert ("<name>chart</name>" in before, "<name>chart</name>" in skills.instructions()) == (True, False)
    assert "<name>forms</name>" in run_now(skills.instructions_async())
    skills.session().deactivate("chart")
    assert skills.instructions() == before


def test_dependencies_of_what_the_user_activated_are_in_the_prompt_too(tmp_path: Path) -> None:
    skill_folder(tmp_path, "base", body="The base.")
    skill_folder(tmp_path, "top", head="metadata:\n  dependencies: base", body="The top.")
    skills = Skills(tmp_path)
    skills.session().activate("top")
    text = skills.instructions()
    assert text.index("The base.") < text.index("The top.")


def test_a_skill_that_vanished_meanwhile_breaks_nothing(root: Path) -> None:
    skills = Skills(root)
    skills.session().activate("poems")
    (root / "poems" / "SKILL.md").unlink()
    assert "chart" in skills.instructions()
    assert "load_skill" in names(skills)


def test_another_catalog_is_used_in_every_conversation(root: Path) -> None:
    skills = Skills(root)
    before = skills.instructions("one")
    skill_folder(root, "songs")
    skills.use(metier.discover(root))
    assert "songs" not in before
    assert "songs" in skills.instructions("one")
    assert "songs" in run_now(skills.call("search_skills", {"query": "songs"}, "one")).text


def test_standing_tools_say_what_is_missing_when_they_are_called_too_early(root: Path) -> None:
    skills = Skills(metier.discover(root), services=SessionServices(runner=FakeRunner()))
    offered = {tool.name for tool in skills.static_tools()}
    assert offered == {"list_skills", "load_skill", "unload_skill", "read_skill_resource", "run_skill_script"}
    early = run_now(skills.call("run_skill_script", {"skill_name": "chart", "script_name": "scripts/go.py"}))
    assert "load_skill" in early.text
    run_now(skills.call("load_skill", {"skill_name": "chart"}))
    assert run_now(skills.call("run_skill_script", {"skill_name": "chart", "script_name": "scripts/go.py"})).ok


def test_standing_tools_leave_out_what_could_never_work(tmp_path: Path) -> None:
    skill_folder(tmp_path, "poems")
    session = Session(metier.discover(tmp_path), services=SessionServices(runner=FakeRunner()))
    assert "run_skill_script" not in {tool.name for tool in static_tools(session)}
    (tmp_path / "empty").mkdir()
    assert static_tools(Session(metier.discover(tmp_path / "empty"))) == ()


def test_waiting_works_where_a_loop_runs_already(root: Path) -> None:
    skills = Skills(root)

    async def inside() -> str:
        return run_in_background(skills.call("list_skills", {})).text

    assert "chart" in asyncio.run(inside())
    assert "chart" in run_in_background(skills.call("list_skills", {})).text


def test_many_threads_may_wait_at_once(root: Path) -> None:
    events = EventRecorder()
    services = SessionServices()
    services.bus.subscribe(events)
    skills = Skills(metier.discover(root), services=services, options=SessionOptions(max_active=1))
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            assert run_in_background(skills.call("load_skill", {"skill_name": "chart"}, str(number))).ok
        except BaseException as error:  # so that the test sees it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(events.of(SkillActivated)) == 16


@pytest.mark.parametrize(
    ("adapter", "sdk", "extra"),
    [
        ("openai", "openai", "openai"),
        ("openai_agents", "agents", "openai-agents"),
        ("litellm", "litellm", "litellm"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("langchain", "langchain", "langchain"),
        ("agent_framework", "agent_framework", "agent-framework"),
        ("claude", "claude_agent_sdk", "claude"),
    ],
)
def test_a_missing_sdk_is_one_sentence_with_the_command_that_installs_it(adapter: str, sdk: str, extra: str) -> None:
    code = f"import sys; sys.modules[{sdk!r}] = None\nimport metier.adapters.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(f"{extra} is not installed; run `{install_command(extra)}`")
    assert "another exception" not in done.stderr
    assert issubclass(MissingSdkError, ImportError)


def test_no_sdk_is_imported_before_it_is_used() -> None:
    modules = "metier.adapters.skills, metier.adapters.chat_completions, metier.adapters.skills_folder"
    code = f"import sys, {modules}; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"openai", "agents", "litellm", "pydantic_ai", "langchain", "agent_framework", "claude_agent_sdk", "mcp"} & set(
        loaded
    )


def test_an_adapter_stays_small_and_speaks_to_one_sdk_only() -> None:
    sdks = {"openai", "agents", "litellm", "pydantic_ai", "langchain", "agent_framework", "claude_agent_sdk", "weakincentives"}
    folder = Path(metier.__path__[0]) / "adapters"
    for file in folder.glob("*.py"):
        lines = file.read_text(encoding="utf-8").splitlines()
        words = [line.split() for line in lines if line.strip().startswith(("import ", "from "))]
        imported = {each[1].partition(".")[0] for each in words} & sdks
        assert len(lines) < 280, file.name
        assert len(imported) <= 1, (file.name, imported)


def test_a_loop_gets_the_same_instructions_with_or_without_the_cache(tmp_path: Path) -> None:
    skill_folder(tmp_path, "chart", body="Ask for the city first.")
    skills = Skills(tmp_path)

    async def asked() -> tuple[str, str, str]:
        first = await skills.instructions_async("ann", request="Draw.")
        second = await skills.instructions_async("ann", request="Draw.")
        skills.session("ann").activate("chart")
        return first, second, await skills.instructions_async("ann", request="Draw.")

    first, second, third = asyncio.run(asked())
    assert first == second == Skills(tmp_path).instructions("ann", request="Draw.")
    assert "Ask for the city first." in third, "what the user activated is read, although the catalog was at hand"


def test_general_tools_are_offered_if_they_are_wanted(root: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("alpha\n")
    assert "run_command" not in names(Skills(root))
    skills = Skills(root, general_tools=True, workspace=tmp_path / "work")
    assert {"list_files", "read_file", "search_files", "write_file", "edit_file", "run_command", "run_code"} <= names(skills)
    assert "1\talpha" in run_now(skills.call("read_file", {"path": "a.txt"})).text
    assert {"read_output", "stop_command"} <= {tool.name for tool in skills.static_tools()}
    with pytest.raises(UsageError):
        Skills(skills.session(), general_tools=True)
    skills.session().close()
