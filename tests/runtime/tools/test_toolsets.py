"""Python toolsets inside a skill: with consent, and without a trace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import metier
from metier.runtime import ApprovalAnswer, EventBus, Permissions, Policy, Session, SessionServices, ToolReply, events
from metier.testing import EventRecorder, run_now, skill_folder

TOOLSET = '''
import enum
from .words import greeting

class Tone(enum.Enum):
    KIND = "kind"
    CURT = "curt"

def greet(name: str, times: int = 1) -> str:
    """Greet a person.

    Args:
        name: Whom to greet.
    """
    return (greeting() + " " + name + " ") * times

async def wave(tone: Tone) -> dict[str, str]:
    """Wave."""
    return {"tone": tone.name}

def fails() -> None:
    """Fails."""
    raise ValueError("no luck")

HelloToolset = [greet, wave, fails]

class Counter:
    def __init__(self) -> None:
        self.n = 0
    def count(self) -> int:
        """Count on."""
        self.n += 1
        return self.n
    def _hidden(self) -> None: ...
'''
WORDS = "def greeting() -> str:\n    return 'Hello'\n"
HEAD = "toolsets:\n  - toolsets/index:HelloToolset\n"
ALLOWED = Permissions(policy=Policy.of(allow=["Toolset"]))


def session_over(root: Path, permissions: Permissions = ALLOWED, recorder: EventRecorder | None = None) -> Session:
    bus = EventBus()
    if recorder is not None:
        bus.subscribe(recorder)
    return Session(metier.discover(root), services=SessionServices(permissions=permissions, bus=bus))


def call(session: Session, name: str, /, **arguments: Any) -> ToolReply:
    return run_now({tool.name: tool for tool in session.tools()}[name].call(arguments))


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    skill_folder(tmp_path, "hello", head=HEAD, files={"toolsets/index.py": TOOLSET, "toolsets/words.py": WORDS})
    return tmp_path


def names(session: Session) -> set[str]:
    return {tool.name for tool in session.tools() if tool.skill}


def test_functions_with_type_hints_become_tools_while_the_skill_is_active(skills: Path) -> None:
    session = session_over(skills)
    assert names(session) == set()
    assert session.activate("hello").warnings == ()
    assert names(session) == {"greet", "wave", "fails"}
    greet = next(tool for tool in session.tools() if tool.name == "greet")
    assert greet.description == "Greet a person."
    assert greet.schema["properties"] == {
        "name": {"type": "string", "description": "Whom to greet."}, "times": {"type": "integer", "default": 1},
    }  # fmt: skip
    assert call(session, "greet", name="Ada", times=2).text == "Hello Ada Hello Ada "
    assert call(session, "wave", tone="kind").text == '{"tone": "KIND"}'
    session.deactivate("hello")
    assert names(session) == set()


def test_a_class_is_made_once_and_its_public_methods_are_tools(tmp_path: Path) -> None:
    skill_folder(
        tmp_path,
        "counting",
        head="toolsets: ['toolsets/index:Counter']",
        files={"toolsets/index.py": TOOLSET, "toolsets/words.py": WORDS},
    )
    session = session_over(tmp_path)
    session.activate("counting")
    assert names(session) == {"count"}
    assert [call(session, "count").text for _ in range(2)] == ["1", "2"]


def test_without_consent_nothing_is_loaded_and_a_warning_says_how_to_give_it(skills: Path) -> None:
    recorder = EventRecorder()
    session = session_over(skills, Permissions(), recorder)
    [warning] = session.activate("hello").warnings
    assert "metier policy allow" in warning
    assert "--skill hello" in warning
    assert names(session) == set()
    assert [event.what for event in recorder.of(events.ActionRefused)][:1] == ["Toolset"]


def test_the_hook_is_asked_once_and_its_answer_decides(skills: Path) -> None:
    asked: list[str] = []

    def hook(question: Any) -> ApprovalAnswer:
        asked.append(str(question.request))
        return ApprovalAnswer.ONCE

    session = session_over(skills, Permissions(approve=hook))
    session.activate("hello")
    session.activate("hello")
    assert asked == ["Toolset(toolsets/index:HelloToolset)"]
    assert "greet" in names(session)


def test_an_asynchronous_hook_is_asked_through_the_tool(skills: Path) -> None:
    async def hook(_: Any) -> ApprovalAnswer:
        return ApprovalAnswer.ALWAYS

    session = session_over(skills, Permissions(approve=hook))
    assert call(session, "load_skill", skill_name="hello").ok
    assert "greet" in names(session)


def test_nothing_is_left_in_sys_modules_or_on_the_path(tmp_path: Path) -> None:
    source = "import sys\nsys.path.insert(0, __file__.rpartition('/')[0])\nimport words\n"
    source += "def f() -> str:\n    return words.greeting()\n"
    for name in ("one", "two"):
        words = f"def greeting():\n    return {name!r}\n"
        skill_folder(
            tmp_path, name, head="toolsets: 'toolsets/index:f'", files={"toolsets/index.py": source, "toolsets/words.py": words}
        )
    path, modules, finders = list(sys.path), set(sys.modules), list(sys.meta_path)
    session = session_over(tmp_path)
    session.activate("one")
    session.activate("two")
    assert sys.path == path
    assert "words" not in sys.modules
    replies = [run_now(tool.call({})).text for tool in session.tools() if tool.skill]
    assert sorted(replies) == ["one", "two"]
    session.deactivate("one")
    session.deactivate("two")
    assert {name for name in set(sys.modules) - modules if "metier_skill" in name or name == "words"} == set()
    assert sys.meta_path == finders


def test_loading_writes_no_bytecode_into_the_skill(skills: Path) -> None:
    session = session_over(skills)
    session.activate("hello")
    assert not list(skills.rglob("__pycache__"))


@pytest.mark.parametrize(("source", "said"), [
    ("import no_such_module_anywhere\n", "ModuleNotFoundError"),
    ("def broken(:\n", "SyntaxError"),
    ("raise SystemExit(3)\n", "SystemExit"),
    ("HelloToolset = 3\n", "no functions"),
    ("x = 1\n", "has no 'HelloToolset'"),
    ("HelloToolset = ['text']\n", "is not a function"),
    ("def f(*a): ...\nHelloToolset = [f]\n", "cannot be passed by name"),
])  # fmt: skip
def test_a_toolset_that_cannot_be_loaded_is_a_warning_and_the_rest_works(tmp_path: Path, source: str, said: str) -> None:
    head = "toolsets: ['toolsets/index:HelloToolset', 'toolsets/good:fine']"
    good = "def fine() -> str:\n    '''Fine.'''\n    return 'fine'\n"
    skill_folder(
        tmp_path, "hello", head=head, files={"toolsets/index.py": source, "toolsets/good.py": good, "references/x.md": "x"}
    )
    session = session_over(tmp_path)
    activation = session.activate("hello")
    assert said in activation.warnings[0]
    assert "toolsets/index:HelloToolset of hello" in activation.warnings[0]
    assert activation.injected
    assert call(session, "fine").text == "fine"


def test_a_toolset_that_links_out_of_the_skill_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("raise RuntimeError('ran')\n")
    folder = skill_folder(tmp_path / "skills", "hello", head=HEAD, files={"toolsets/words.py": WORDS})
    (folder / "toolsets" / "index.py").symlink_to(tmp_path / "evil.py")
    activation = session_over(tmp_path / "skills").activate("hello")
    assert "ran" not in activation.warnings[0]
    assert "cannot load toolset" in activation.warnings[0]


def test_an_error_in_a_tool_is_a_reply_to_the_model(skills: Path) -> None:
    session = session_over(skills)
    session.activate("hello")
    reply = call(session, "fails")
    assert (reply.ok, reply.code) == (False, "tool-failed")
    assert "fails failed: ValueError: no luck" in reply.text


def test_arguments_of_a_toolset_are_validated(skills: Path) -> None:
    session = session_over(skills)
    session.activate("hello")
    assert call(session, "wave", tone="rude").code == "bad-arguments"
    assert call(session, "greet", name="x", times="2").code == "bad-arguments"


def test_a_refusal_is_reported_once_and_not_for_every_list_of_tools(skills: Path) -> None:
    recorder = EventRecorder()
    session = session_over(skills, Permissions(), recorder)
    session.activate("hello")
    for _ in range(3):
        session.tools()
    assert len(recorder.of(events.ActionRefused)) == 1


def test_an_asynchronous_hook_called_from_inside_the_loop_is_a_refusal_and_not_a_deadlock(skills: Path) -> None:
    async def hook(_: Any) -> ApprovalAnswer:
        return ApprovalAnswer.ONCE

    session = session_over(skills, Permissions(approve=hook))

    async def main() -> tuple[str, ...]:
        return session.activate("hello").warnings

    [warning] = run_now(main())
    assert "cannot wait for an asynchronous hook" in warning


def test_after_a_restart_an_approved_toolset_is_there_again_without_asking(skills: Path) -> None:
    from metier.runtime import MemorySessionStore

    store = MemorySessionStore()
    for _ in range(2):
        session = Session(metier.discover(skills), id="s", services=SessionServices(permissions=ALLOWED, store=store))
        if not session.active:
            session.activate("hello")
        assert "greet" in names(session)
        session.close()


def test_a_typescript_toolset_is_a_clear_warning_and_not_an_import_error(tmp_path: Path) -> None:
    skill_folder(tmp_path, "hello", head=HEAD, files={"toolsets/index.ts": "export const HelloToolset = [];\n"})
    [warning] = session_over(tmp_path).activate("hello").warnings
    assert warning == (
        "cannot load toolset toolsets/index:HelloToolset of hello: "
        "toolsets/index.ts is TypeScript, and metier loads Python toolsets"
    )


def test_one_bad_annotation_drops_only_its_own_method(tmp_path: Path) -> None:
    source = (
        "class HelloToolset:\n    def a(self, x: object()) -> str: ...\n    def b(self, x: 'Missing') -> str: ...\n"
        "    def c(self) -> str:\n        return 'fine'\n"
    )
    skill_folder(tmp_path, "hello", head=HEAD, files={"toolsets/index.py": source})
    session = session_over(tmp_path)
    first, second = session.activate("hello").warnings
    assert first.startswith("a in toolsets/index:HelloToolset of hello is not offered: ")
    assert second.startswith("b in toolsets/index:HelloToolset of hello is not offered: name 'Missing'")
    assert names(session) == {"c"}


def test_a_malformed_toolset_or_dependency_is_a_warning_of_the_activation(tmp_path: Path) -> None:
    skill_folder(tmp_path, "hello", head="toolsets: ['index:Hello']\ndependencies: ['base-style>=2.0']")
    toolset, dependency = session_over(tmp_path).activate("hello").warnings
    assert "hello: toolsets: 'index:Hello' is not of the form toolsets/module:Name" in toolset
    assert "hello: dependencies: 'base-style>=2.0' is not a skill name; write the name of a skill" in dependency
