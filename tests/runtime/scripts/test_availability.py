"""Scripts that cannot run are not offered, and the activation says why."""

from __future__ import annotations

from pathlib import Path

import pytest

import metier
from metier.errors import RefusedError
from metier.runtime import MemoryApprovals, Outcome, Permissions, Policy, ScriptRun, Session, SessionServices
from metier.runtime.scripts.interpreters import Interpreters
from metier.runtime.skill_access import approval_digest
from metier.sources import DiskFiles
from metier.testing import run_now, skill_folder


class OneMachine:
    """A runner on a machine with these programs."""

    def __init__(self, *programs: str) -> None:
        self._interpreters = Interpreters(which=lambda name: "/bin/sh" if name in programs else None)

    def problem(self, script: str, data: bytes) -> str:
        return self._interpreters.problem(script, data)

    async def run(self, run: ScriptRun) -> Outcome:
        raise AssertionError(run)


def session_over(root: Path, *programs: str, permissions: Permissions | None = None) -> Session:
    services = SessionServices(runner=OneMachine("python3", "sh", *programs), permissions=permissions or Permissions())
    return Session(metier.discover(root), services=services)


def offered(session: Session) -> set[str]:
    return {tool.name for tool in session.tools() if tool.skill}


def runnable(session: Session) -> list[str]:
    schema = {tool.name: tool.schema for tool in session.tools()}.get("run_skill_script")
    return schema["properties"]["script_name"]["enum"] if schema else []  # type: ignore[index, call-overload, return-value]


def test_a_script_without_an_interpreter_on_this_machine_is_not_offered(tmp_path: Path) -> None:
    skill_folder(tmp_path, "draw", files={"scripts/a.py": "", "scripts/b.rb": "puts 1\n", "scripts/c.ts": "1\n"})
    session = session_over(tmp_path)
    ruby, typescript = session.activate("draw").warnings
    assert ruby == "draw: scripts/b.rb is not offered: the script needs ruby, which is not installed; install Ruby"
    assert typescript.startswith("draw: scripts/c.ts is not offered: the script needs typescript")
    assert offered(session) == {"draw_a"}
    assert runnable(session) == ["scripts/a.py"]


def test_it_is_offered_where_the_interpreter_is_installed(tmp_path: Path) -> None:
    skill_folder(tmp_path, "draw", files={"scripts/b.rb": "puts 1\n"})
    session = session_over(tmp_path, "ruby")
    assert session.activate("draw").warnings == ()
    assert offered(session) == {"draw_b"}


@pytest.mark.parametrize(
    ("file", "text", "interpreter"),
    [("x.pl", "#!/usr/bin/env perl\nprint 1;\n", "/usr/bin/env perl"), ("x.pl", "print 1;\n", "perl"), ("x.R", "1\n", "R")],
)
def test_a_script_in_a_language_that_is_not_run_says_so(tmp_path: Path, file: str, text: str, interpreter: str) -> None:
    skill_folder(tmp_path, "draw", files={f"scripts/{file}": text})
    session = session_over(tmp_path, "perl")
    [warning] = session.activate("draw").warnings
    assert f"needs the interpreter {interpreter!r}, which is not supported; use python3" in warning
    assert (offered(session), runnable(session)) == (set(), [])


def test_a_script_that_the_allowed_tools_leave_out_is_not_offered_and_the_user_learns_how_to_allow_it(tmp_path: Path) -> None:
    skill_folder(tmp_path, "draw", head='allowed-tools: "Bash(git:*) Read"', files={"scripts/a.py": ""})
    session = session_over(tmp_path)
    [warning] = session.activate("draw").warnings
    assert warning == (
        "draw: scripts/a.py is not offered: allowed-tools: the skill does not request it; the user can allow it with "
        "`metier policy allow 'Script(scripts/a.py)' --skill draw`, or its author with Script(scripts/a.py) in allowed-tools"
    )
    assert offered(session) == set()
    with pytest.raises(RefusedError) as refused:
        run_now(session.run_script("draw", "a.py"))
    assert "metier policy allow 'Script(scripts/a.py)' --skill draw" in refused.value.hint


def test_what_the_user_allows_for_this_version_is_offered_although_the_author_did_not_ask(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path, "draw", head='allowed-tools: "Bash(git:*) Read"', files={"scripts/a.py": ""})
    approvals = MemoryApprovals()
    approvals.add("draw", approval_digest(DiskFiles(str(folder))), "Script(scripts/a.py)")
    session = session_over(tmp_path, permissions=Permissions(approvals=approvals))
    assert session.activate("draw").warnings == ()
    assert offered(session) == {"draw_a"}
    (folder / "scripts/a.py").write_text("print('other')\n")
    assert offered(session) == set()


def test_a_general_permission_of_the_policy_does_not_widen_the_allowed_tools(tmp_path: Path) -> None:
    skill_folder(tmp_path, "draw", head="allowed-tools: Read", files={"scripts/a.py": ""})
    session = session_over(tmp_path, permissions=Permissions(policy=Policy.of(allow=["Script"])))
    session.activate("draw")
    assert offered(session) == set()


@pytest.mark.parametrize("tools", ["Bash(python3:*)", "Bash(python3 scripts/a.py --check)", "Script(scripts/*)", "Bash"])
def test_a_script_that_the_allowed_tools_name_in_any_way_is_offered(tmp_path: Path, tools: str) -> None:
    skill_folder(tmp_path, "draw", head=f"allowed-tools: {tools}", files={"scripts/a.py": ""})
    session = session_over(tmp_path)
    assert session.activate("draw").warnings == ()
    assert offered(session) == {"draw_a"}


def test_a_script_that_the_policy_denies_is_not_offered(tmp_path: Path) -> None:
    skill_folder(tmp_path, "draw", files={"scripts/a.py": "", "scripts/b.py": ""})
    session = session_over(tmp_path, permissions=Permissions(policy=Policy.of(deny=["Script(scripts/b.py)"])))
    [warning] = session.activate("draw").warnings
    assert "scripts/b.py is not offered: policy.deny: Script(scripts/b.py)" in warning
    assert offered(session) == {"draw_a"}


def test_only_the_scripts_that_the_manifest_declares_are_offered_with_its_descriptions(tmp_path: Path) -> None:
    head = "scripts:\n  - path: tool\n    description: Draws a chart.\n"
    skill_folder(tmp_path, "draw", head=head, files={"scripts/tool.py": '"""Other words."""\n', "scripts/helpers.py": ""})
    session = session_over(tmp_path)
    session.activate("draw")
    [tool] = [tool for tool in session.tools() if tool.skill]
    assert (tool.name, tool.description) == ("draw_tool", "Draws a chart.")
    assert runnable(session) == ["scripts/tool.py"]


def test_a_list_of_scripts_that_are_all_missing_has_no_effect(tmp_path: Path) -> None:
    skill_folder(tmp_path, "draw", head="scripts: [gone.py]", files={"scripts/tool.py": ""})
    session = session_over(tmp_path)
    session.activate("draw")
    assert offered(session) == {"draw_tool"}
