"""`metier run` and `metier chat` without a terminal."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.chat.chat_setup import counting
from cli.shell import Shell
from guards import eventually
from metier.extras import install_command
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, fails, says


def script(request: ModelRequest) -> ModelAnswer:
    if "count" in request.user and request.body["messages"][-1]["role"] == "user":
        return calls("word-count_count", args=["one two three"])
    if "slow" in request.user:
        return says("word " * 500, pause=0.05)
    if "refuse" in request.user:
        return fails(401, "who are you?")
    return says(f"You said **{request.user}**.")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(script) as server:
        yield server


@pytest.fixture
def shell(shell: Shell, model: ModelServer) -> Shell:
    return counting(shell, model)


def typed(shell: Shell, text: str) -> str:
    file = shell.project / "typed"
    file.write_text(text)
    return str(file)


def test_one_request_is_done(shell: Shell) -> None:
    assert shell("run", "please", "count", "them").ok().out == "You said **please count them**.\n"


def test_a_program_gets_everything_that_happened(shell: Shell) -> None:
    data = shell("run", "count them", "--json").data
    assert (data["answer"], data["status"], data["model"]) == ("You said **count them**.", "done", "gpt-4o")
    assert [match["name"] for match in data["selected"]] == ["word-count"]
    (call,) = data["tools"]
    assert (call["tool"], call["ok"], call["level"], "3 words" in call["text"]) == ("word-count_count", True, "namespace", True)
    assert (data["usage"]["requests"], data["usage"]["calls"]) == (2, 1)
    again = shell("run", "and again", "--session", data["session"], "--json").data
    assert again["session"] == data["session"]


def test_a_request_may_be_piped_in(shell: Shell) -> None:
    assert shell("run", "-", stdin=typed(shell, "hello\nyou")).ok().out == "You said **hello\nyou**.\n"
    shell("run", "-").failed(2, "empty")


def test_a_skill_may_be_named(shell: Shell) -> None:
    shell.skill("pdf")
    assert "pdf" in shell("run", "hello", "--skill", "pdf", "--json").data["active"]
    shell("run", "hello", "--skill", "pfd").failed(3, "'pfd'")


def test_a_model_that_fails_is_one_sentence(shell: Shell) -> None:
    shell("run", "refuse me").failed(4, "rejected the API key: who are you?")
    assert shell("run", "refuse me", "--json").error["code"] == "unavailable"
    shell("run", "hello", "--model", "unknown:x").failed(4, "unknown:x")
    shell("run", "hello", "--agent", "missing").failed(3, "unknown agent 'missing'")


def test_without_a_model_you_see_what_it_would_receive(shell: Shell) -> None:
    ran = shell("run", "count them", METIER_MODEL_NAME=None, METIER_MODEL_BASE_URL=None)
    assert ran.code == 0
    assert "✓ word-count" in ran.out
    assert "A model would receive about" in ran.out
    assert "### word-count" in ran.out
    assert ran.err == "set a model with `metier config set model.name openai:NAME` (or anthropic:NAME, ollama:NAME, …)\n"
    data = shell("run", "count them", "--json", METIER_MODEL_NAME=None, METIER_MODEL_BASE_URL=None).data
    assert (data["status"], data["model"], data["active"]) == ("preview", "", ["word-count"])
    assert data["prompt"]["tokens"] == sum(data["prompt"][name] for name in ("base", "catalog", "active", "tools"))


def test_chat_without_a_model_does_the_same(shell: Shell) -> None:
    ran = shell("chat", stdin=typed(shell, "count them"), METIER_MODEL_NAME=None, METIER_MODEL_BASE_URL=None)
    assert (ran.code, "### word-count" in ran.out) == (0, True)
    assert ran.err.count("\n") == 1
    assert "metier config set model.name" in ran.err


def test_a_chat_works_in_a_pipe(shell: Shell) -> None:
    assert shell("chat", stdin=typed(shell, "hello\n")).ok().out == "You said **hello**.\n"
    data = shell("chat", "--json", stdin=typed(shell, "count them\n")).data
    (entry,) = data["entries"]
    assert (entry["message"], entry["answer"], entry["active"]) == ("count them", "You said **count them**.", ["word-count"])
    shell("chat").failed(2, "the message is empty")


def test_commands_and_messages_may_be_mixed(shell: Shell) -> None:
    text = "/skill word-count\nfirst line\nsecond line\n/unskill word-count\n/usage\n/etc/hosts is a file\n"
    entries = shell("chat", "--json", stdin=typed(shell, text)).data["entries"]
    assert [entry.get("command") or entry["message"] for entry in entries] == [
        "/skill word-count", "first line\nsecond line", "/unskill word-count", "/usage", "/etc/hosts is a file",
    ]  # fmt: skip
    assert "● word-count is active" in entries[0]["lines"][0]
    assert entries[1]["active"] == ["word-count"]
    assert entries[3]["lines"][0].startswith("1 request, ")


def test_every_command_answers(shell: Shell) -> None:
    words = ("skills", "tools", "why", "usage", "model", "help", "search COUNT", "resume", "save talk.md", "save talk.json")
    text = "count them\n" + "".join(f"/{word}\n" for word in words)
    entries = shell("chat", "--json", stdin=typed(shell, text)).data["entries"]
    lines = {entry["command"]: "\n".join(entry["lines"]) for entry in entries if "command" in entry}
    assert "● word-count" in lines["/skills"]
    assert "word-count_count" in lines["/tools"]
    assert "✓ word-count" in lines["/why"]
    assert "keyword 'count'" in lines["/why"]
    assert "word-count: 1 activation," in lines["/usage"]
    assert lines["/model"] == "model: gpt-4o"
    assert "/unskill NAME" in lines["/help"]
    assert "count them" in lines["/search COUNT"]
    assert "count them" in lines["/resume"]
    assert "**count them**" in (shell.project / "talk.md").read_text()
    assert json.loads((shell.project / "talk.json").read_text())["turns"][0]["message"] == "count them"


def test_a_skill_s_name_is_a_command_and_a_dollar_activates_it_too(shell: Shell) -> None:
    shell.skill("pdf", body="Fill in: $ARGUMENTS\n")
    entries = shell("chat", "--json", stdin=typed(shell, "/pdf the tax form\n")).data["entries"]
    assert entries[1]["message"] == "the tax form"
    assert "Fill in: the tax form" in entries[1]["prompt"]["text"]
    (entry,) = shell("chat", "--json", stdin=typed(shell, "use $pdf now\n")).data["entries"]
    assert [each["name"] for each in entry["activated"]] == ["pdf"]


def test_a_project_s_markdown_commands_are_used_once_it_is_trusted(shell: Shell) -> None:
    for folder, name in ((".claude/commands", "review"), (".agent/commands", "ship")):
        (shell.project / folder).mkdir(parents=True)
        (shell.project / folder / f"{name}.md").write_text(f"Please {name} $ARGUMENTS now.")
    text = typed(shell, "/review #12\n/ship it\n")
    before = shell("chat", "--json", stdin=text)
    assert "metier trust" in before.envelope["warnings"][0]
    assert [entry.get("command") for entry in before.data["entries"]] == ["/review #12\n/ship it"]
    shell("trust")
    entries = shell("chat", "--json", stdin=text).data["entries"]
    assert [entry["message"] for entry in entries] == ["Please review #12 now.", "Please ship it now."]


def test_a_conversation_is_listed_found_exported_and_gone_on_with(shell: Shell) -> None:
    data = shell("chat", "--json", stdin=typed(shell, "count the needles\n")).data
    (row,) = shell("chat", "--list", "--json").data["chats"]
    assert (row["id"], row["title"], row["turns"]) == (data["session"], "count the needles", 1)
    assert shell("chat", "--search", "NEEDLES", "--json").data["found"][0]["id"] == data["session"]
    assert "## You\n\ncount the needles" in shell("chat", "--export", data["session"]).ok().out
    more = shell("chat", "--session", data["session"], "--json", stdin=typed(shell, "go on\n")).data
    assert (more["session"], more["entries"][0]["active"]) == (data["session"], ["word-count"])
    shell("chat", "--export", "nope").failed(3, "nope")
    shell("chat", "--delete", data["session"]).ok()
    assert shell("chat", "--list").ok().out == "No conversations\n"
    assert shell("session", "list", "--json").data["sessions"] == []


def test_ctrl_c_ends_a_run_cleanly_and_keeps_the_text_so_far(shell: Shell, model: ModelServer) -> None:
    process = shell.start("run", "slow please", variables={"PYTHONUNBUFFERED": "1"})
    eventually(lambda: model.requests, "the model is asked")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out.startswith(b"word word")
    assert b"stopped by the user" in err
    assert b"Traceback" not in err
    (row,) = shell("chat", "--list", "--json").data["chats"]
    assert row["title"] == "slow please"


def test_a_missing_extra_is_one_sentence(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/pydantic_ai.py").write_text("raise ImportError('no', name='pydantic_ai')")
    other = {"PYTHONPATH": str(tmp_path / "hidden"), "METIER_MODEL_NAME": "groq:llama-x", "GROQ_API_KEY": "k"}
    shell.run("run", "hello", variables=other).failed(4, "pydantic_ai", install_command("models"))
    # Anthropic, OpenAI and compatible servers are asked without it, and without a model nothing of it is needed.
    assert shell.run("run", "hello", variables={"PYTHONPATH": str(tmp_path / "hidden")}).code == 0
    ran = shell.run("run", "hello", variables={"PYTHONPATH": str(tmp_path / "hidden"), "METIER_MODEL_NAME": None})
    assert ran.code == 0


NEEDY = "parameters:\n  city: {type: string, description: The city}\n  days: {type: integer, default: 1}\n"


def test_a_skill_that_was_picked_and_not_activated_says_why(shell: Shell) -> None:
    shell.skill("weather", description="Shows the weather. Use when the user asks for the weather.", head=NEEDY)
    ran = shell("run", "show me the weather")
    assert (ran.code, ran.out) == (0, "You said **show me the weather**.\n")
    assert "weather was not activated: parameter 'city' of weather needs a value" in ran.err
    data = shell("run", "show me the weather", "--json").data
    (refused,) = data["refused"]
    assert (refused["name"], refused["what"], refused["rule"]) == ("weather", "activate", "bad-arguments")
    assert data["activated"] == []
    lines = shell("chat", "--json", stdin=typed(shell, "show me the weather\n/why\n")).data["entries"][1]["lines"]
    assert lines[0].startswith("✗ weather")
    assert "not activated: parameter 'city' of weather needs a value" in lines[1]


def test_parameters_are_given_in_the_chat(shell: Shell) -> None:
    shell.skill("weather", body="For ${city}, ${days} days: $ARGUMENTS\n", head=NEEDY)
    text = "/skill weather city='New York' days=3 in Celsius\nhello\n"
    (command, turn) = shell("chat", "--json", stdin=typed(shell, text)).data["entries"]
    assert "● weather is active" in command["lines"][0]
    assert "For New York, 3 days: in Celsius" in turn["prompt"]["text"]
    (_, turn) = shell("chat", "--json", stdin=typed(shell, "/weather city=Paris is it warm?\n")).data["entries"]
    assert turn["message"] == "is it warm?"
    assert "For Paris, 1 days: is it warm?" in turn["prompt"]["text"]
    (wrong,) = shell("chat", "--json", stdin=typed(shell, "/skill weather town=Paris\n")).data["entries"]
    assert "unknown parameter 'town' of weather; it takes city, days" in wrong["lines"][0]
    (missing,) = shell("chat", "--json", stdin=typed(shell, "/skill weather\n")).data["entries"]
    assert "`/skill weather city=VALUE`" in missing["lines"][0]


def test_parameters_are_given_by_an_option_and_by_the_configuration(shell: Shell) -> None:
    shell.skill("weather", body="For ${city}, ${days} days\n", head=NEEDY)
    data = shell("run", "-p", "city=Rome", "-p", "weather.days=2", "--skill", "weather", "hello", "--json").data
    assert "For Rome, 2 days" in data["prompt"]["text"]
    shell("run", "-p", "ctiy=Rome", "hello").failed(2, "no skill has a parameter 'ctiy'", "did you mean 'city'?")
    shell("run", "-p", "city", "hello").failed(2, "'city' is not NAME=VALUE")
    assert shell("config", "set", "skills.parameters.weather.city", "Oslo").code == 0
    assert shell("config", "get", "skills.parameters.weather.city").ok().out == "Oslo\n"
    data = shell("chat", "-p", "days=5", "--json", stdin=typed(shell, "use $weather\n")).data
    assert "For Oslo, 5 days" in data["entries"][0]["prompt"]["text"]
    assert shell("config", "unset", "skills.parameters.weather.city").code == 0
    shell("config", "get", "skills.parameters.weather.city").failed(3, "is not set")


def test_the_latest_conversation_is_continued_and_ids_may_be_short(shell: Shell) -> None:
    shell("run", "hello", "--continue").failed(3, "no conversation to continue", "metier chat")
    first = shell("run", "one", "--skill", "word-count", "--json").data["session"]
    second = shell("run", "two", "--json").data["session"]
    assert shell("run", "three", "-c", "--json").data["session"] == second
    assert shell("run", "four", "--session", first[:6], "--json").data["session"] == first
    assert shell("chat", "--continue", "--json", stdin=typed(shell, "five\n")).data["session"] == first
    assert shell("chat", "--resume", second[:4], "--json", stdin=typed(shell, "six\n")).data["session"] == second
    assert [turn["message"] for turn in shell("chat", "--export", first[:5], "--json").data["turns"]] == ["one", "four", "five"]
    assert shell("session", "show", first[:5], "--json").data["id"] == first
    shell("chat", "--export", first[:3]).failed(3, "unknown conversation")
    shell("chat", "--resume", stdin=typed(shell, "x\n")).failed(2, "name the conversation", "--continue")
    lines = shell("chat", "--json", stdin=typed(shell, f"/resume {first[:4]}\n")).data["entries"][0]["lines"]
    assert lines[-1] == "You said **five**."
    assert shell("chat", "--delete", first[:5]).ok().out == f"Deleted conversation {first}\n"


def test_an_id_that_the_user_chose_is_never_taken_for_a_short_one(shell: Shell) -> None:
    shell("run", "one", "--session", "work-2")
    assert shell("run", "two", "--session", "work", "--json").data["session"] == "work"


@pytest.mark.parametrize("way", ["/skill {}", "/{}"])
def test_a_skill_that_cannot_be_used_says_why(shell: Shell, way: str) -> None:
    shell.skill("off")
    shell("skill", "disable", "off")
    (shell.skill("broken") / "SKILL.md").write_text("---\nname: broken\n---\n")
    untrusted = shell.project / ".claude/skills/local"
    untrusted.mkdir(parents=True)
    (untrusted / "SKILL.md").write_text("---\nname: local\ndescription: Does it. Use when asked.\n---\nDo it.\n")

    def said(name: str) -> str:
        (entry,) = shell("chat", "--json", stdin=typed(shell, way.format(name))).data["entries"]
        return str(entry["lines"][0])

    assert "off is disabled" in said("off")
    assert "`metier skill enable off`" in said("off")
    assert "broken is not a valid skill: " in said("broken")
    assert "`metier skill validate broken`" in said("broken")
    assert "local is in a folder that you do not trust" in said("local")
    assert "`metier trust`" in said("local")


def test_an_unusable_skill_that_a_message_names_is_not_ignored(shell: Shell) -> None:
    (shell.skill("broken") / "SKILL.md").write_text("---\nname: broken\n---\n")
    shell("run", "please use $broken").failed(4, "broken is not a valid skill")
    shell("skill", "activate", "broken").failed(1, "broken is not a valid skill")


def test_skills_are_listed_by_page_and_by_word(shell: Shell) -> None:
    for number in range(40):
        shell.skill(f"tool-{number:02}")
    shell.skill("pdf", description="Fills in forms. Use when there is a form.")
    text = "/skills\n/skills 2\n/skills pdf\n/skills forms\n/skills nothing\n/skills 9\n"
    first, second, *found, none, wrong = [
        entry["lines"] for entry in shell("chat", "--json", stdin=typed(shell, text)).data["entries"]
    ]
    assert len(first) == 31
    assert first[-1] == "Page 1 of 2, 42 skills; /skills 2 has the next. Use /skill NAME to activate one"
    assert second[-1] == "Page 2 of 2, 42 skills. Use /skill NAME to activate one"
    assert [[line.split()[0] for line in lines[:-1]] for lines in found] == [["pdf"], ["pdf"]]
    assert none == ["No skill mentions 'nothing'"]
    assert wrong == ["there is no page 9; /skills has 2 pages"]


def test_a_skill_that_appears_during_a_chat_is_used_at_once(shell: Shell, model: ModelServer) -> None:
    def write(request: ModelRequest) -> ModelAnswer:
        if "write" in request.user:
            shell.skill("late", description="Sings shanties. Use when the user wants a shanty.")
        return says("ok")

    with ModelServer(write) as writer:
        text = "please write it\n/skills\nsing a shanty\n"
        _, listed, turn = shell(
            "chat", "--json", stdin=typed(shell, text), METIER_MODEL_BASE_URL=writer.url
        ).data["entries"]  # fmt: skip
    assert any("late" in line for line in listed["lines"])
    assert turn["active"] == ["late"]


def test_an_answer_that_is_cut_off_is_marked(shell: Shell) -> None:
    with ModelServer(lambda _: says("Once upon a", cut_off=True)) as model:
        ran = shell("run", "a story", METIER_MODEL_BASE_URL=model.url)
        data = shell("run", "a story", "--json", METIER_MODEL_BASE_URL=model.url).envelope["data"]
        piped = shell("chat", stdin=typed(shell, "a story"), METIER_MODEL_BASE_URL=model.url)
    assert (ran.code, ran.out) == (1, "Once upon a\n")
    assert "the answer was cut off at the model's limit" in ran.err
    assert (data["status"], "cut off" in data["reason"]) == ("limited", True)
    assert "cut off" in piped.err


def test_later_messages_without_a_model_are_short(shell: Shell) -> None:
    ran = shell(
        "chat", stdin=typed(shell, "count them\n/usage\ncount more\n"), METIER_MODEL_NAME=None, METIER_MODEL_BASE_URL=None
    )
    assert ran.out.count("### word-count") == 1
    assert "/prompt shows them" in ran.out
