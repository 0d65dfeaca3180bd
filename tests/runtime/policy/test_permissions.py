"""Permissions: what a skill requests, what the user's policy allows, and what was approved."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metier
from metier.archive import digest
from metier.errors import ConfigError, MetierError, RefusedError, UsageError
from metier.runtime import (
    ApprovalAnswer,
    Approvals,
    EventBus,
    FileApprovals,
    MemoryApprovals,
    Permissions,
    Policy,
    PolicyVerdict,
    Question,
    Session,
    SessionServices,
    SqlApprovals,
    StoredApprovals,
    ToolPattern,
    ToolRequest,
    events,
)
from metier.runtime.policy.patterns import command_request, plain_words
from metier.runtime.policy.permissions import Requester, script_tool_request
from metier.sources import DiskFiles
from metier.testing import (
    ApprovalsConformance,
    EventRecorder,
    FakeRunner,
    StoredApprovalsConformance,
    run_now,
    skill_folder,
)


class TestMemoryApprovals(ApprovalsConformance):
    def new_approvals(self, folder: Path) -> Approvals:
        return MemoryApprovals()


class TestFileApprovals(StoredApprovalsConformance):
    def new_approvals(self, folder: Path) -> StoredApprovals:
        return FileApprovals(folder / "approvals.json")


class TestSqliteApprovals(StoredApprovalsConformance):
    def new_approvals(self, folder: Path) -> StoredApprovals:
        return SqlApprovals(folder / "approvals.sqlite")


def granted(pattern: str, command: str, **options: Any) -> bool:
    return ToolPattern.parse(pattern).grants(command_request("Bash", command), **options)


def test_an_absolute_path_counts_only_if_it_is_the_very_file_on_the_trusted_path() -> None:
    which = {"git": "/usr/bin/git"}.get
    assert granted("Bash(git:*)", "/usr/bin/git status", which=which)
    assert not granted("Bash(git:*)", "/tmp/git status", which=which)
    assert not granted("Bash(git:*)", "/usr/bin/git status")


def test_an_allowed_command_is_answered_with_the_very_file_so_that_no_path_can_shadow_it() -> None:
    permissions = Permissions(policy=Policy.of(allow=["Bash(git:*)"]), which={"git": "/usr/bin/git"}.get)
    decision = permissions.check("Bash", "git status", skills=[Requester(name="x", tools=("Bash(git:*)",))])
    assert (decision.verdict, decision.argv) == (PolicyVerdict.ALLOW, ("/usr/bin/git", "status"))


@pytest.mark.parametrize("text", ["", "Bash(", "(x)", "Bash)x(", "two words", "Ba$h"])
def test_an_invalid_pattern_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a tool pattern"):
        ToolPattern.parse(text)


def test_plain_words_are_words_and_anything_else_is_nothing() -> None:
    assert plain_words("git log --format='%h %s'") == ("git", "log", "--format=%h %s")
    assert plain_words("echo $HOME") == ()
    assert plain_words("ls *.py") == ()


def asker(*tools: str, bundled: bool = False) -> Requester:
    return Requester(name="pdf", tools=tools, digest=lambda: "sha256:1", bundled=bundled)


@pytest.mark.parametrize(("tools", "allow", "deny", "verdict"), [
    (("Bash(git:*)",), ("Bash(git:*)",), (), PolicyVerdict.ALLOW),
    (("Bash(git:*)",), (), (), PolicyVerdict.ASK),
    ((), ("Bash(git:*)",), (), PolicyVerdict.ASK),
    (("Read",), ("Bash(git:*)",), (), PolicyVerdict.ASK),
    (("Bash(git:*)",), ("Bash(git:*)",), ("Bash",), PolicyVerdict.DENY),
    (("Bash(*)",), ("Bash(git status)",), (), PolicyVerdict.ALLOW),
    (("*",), ("*",), (), PolicyVerdict.ALLOW),
    (("Bash(*)",), (), ("Bash(git:*)",), PolicyVerdict.DENY),
])  # fmt: skip
def test_what_a_skill_may_do_is_what_it_asks_for_and_the_policy_allows(
    tools: tuple[str, ...], allow: tuple[str, ...], deny: tuple[str, ...], verdict: PolicyVerdict
) -> None:
    permissions = Permissions(policy=Policy.of(allow=allow, deny=deny))
    assert permissions.check("Bash", "git status", skills=[asker(*tools)]).verdict is verdict


def test_without_an_active_skill_the_verdict_is_ask() -> None:
    assert Permissions(policy=Policy.of(allow=["*"])).check("Read", "x").verdict is PolicyVerdict.ASK


def test_a_decision_is_never_mistaken_for_yes() -> None:
    with pytest.raises(TypeError):
        bool(Permissions().check("Read"))


@pytest.mark.parametrize(
    ("tools", "allowed"),
    [
        ((), True),
        (("Bash(python3:*)",), True),
        (("Bash(python:*)", "Read"), True),
        (("Bash",), True),
        (("Script(scripts/*)",), True),
        (("Bash(scripts/go.py:*)",), True),
        (("Bash(./scripts/go.py:*)",), True),
        (("run_skill_script",), True),
        (("pdf_go",), True),
        (("Bash(python3 scripts/go.py *)",), True),
        (("Read", "Grep"), False),
        (("Bash(node:*)",), False),
        (("Script(scripts/other.py)",), False),
        (("Bash(python3 scripts/other.py:*)",), False),
    ],
)
def test_a_script_runs_only_if_a_skill_that_lists_its_tools_asks_for_it(tools: tuple[str, ...], allowed: bool) -> None:
    verdict = Permissions().decide(script_tool_request("pdf", "scripts/go.py", ["a"]), asker(*tools)).verdict
    assert verdict is (PolicyVerdict.ALLOW if allowed else PolicyVerdict.DENY)


def test_network_and_toolsets_are_asked_for_by_default_and_refused_without_anyone_to_ask() -> None:
    for tool in ("Network", "Toolset"):
        assert Permissions().decide(ToolRequest(tool=tool), asker()).verdict is PolicyVerdict.ASK
        with pytest.raises(RefusedError, match="pdf may not use") as refused:
            Permissions().authorise(ToolRequest(tool=tool), asker())
        assert f"metier policy allow '{tool}' --skill pdf" in refused.value.hint


def test_the_hook_decides_what_must_be_asked() -> None:
    asked: list[Question] = []

    def hook(question: Question) -> ApprovalAnswer:
        asked.append(question)
        return ApprovalAnswer.ONCE if len(asked) == 1 else ApprovalAnswer.NO

    permissions = Permissions(approve=hook)
    permissions.authorise(ToolRequest(tool="Network"), asker())
    with pytest.raises(RefusedError, match="the user refused"):
        permissions.authorise(ToolRequest(tool="Network"), asker())
    assert (asked[0].skill, asked[0].digest, str(asked[0].request)) == ("pdf", "sha256:1", "Network")


def test_a_plain_yes_or_no_and_a_coroutine_are_answers_too() -> None:
    async def later(_: Question) -> ApprovalAnswer:
        return ApprovalAnswer.ALWAYS

    Permissions(approve=lambda _: True).authorise(ToolRequest(tool="Network"), asker())
    Permissions(approve=later).authorise(ToolRequest(tool="Network"), asker())
    with pytest.raises(RefusedError):
        Permissions(approve=lambda _: False).authorise(ToolRequest(tool="Network"), asker())


def test_always_is_remembered_for_this_version_of_the_skill_and_ends_when_it_changes(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path, "pdf", files={"scripts/go.py": "print(1)\n"})
    questions: list[str] = []

    def hook(question: Question) -> ApprovalAnswer:
        questions.append(question.digest)
        return ApprovalAnswer.ALWAYS

    permissions = Permissions(approve=hook, approvals=FileApprovals(tmp_path / "approvals.json"))
    skill = Requester(name="pdf", digest=lambda: digest(DiskFiles(folder)))
    for _ in range(3):
        permissions.authorise(ToolRequest(tool="Network"), skill)
    assert len(questions) == 1
    (folder / "scripts" / "go.py").write_text("print(2)\n")
    permissions.authorise(ToolRequest(tool="Network"), skill)
    assert len(set(questions)) == 2


@pytest.mark.parametrize("change", ["content", "new file", "removed", "executable", "renamed"])
def test_every_change_of_a_skill_changes_its_digest(tmp_path: Path, change: str) -> None:
    folder = skill_folder(tmp_path, "pdf", files={"scripts/go.py": "print(1)\n"})
    before = digest(DiskFiles(folder))
    script = folder / "scripts" / "go.py"
    match change:
        case "content":
            script.write_text("print(2)\n")
        case "new file":
            (folder / "new.md").write_text("")
        case "removed":
            script.unlink()
        case "executable":
            script.chmod(0o755)
        case "renamed":
            script.rename(folder / "scripts" / "run.py")
    assert digest(DiskFiles(folder)) != before


def test_touching_a_file_does_not_change_the_digest(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path, "pdf")
    before = digest(DiskFiles(folder))
    (folder / "SKILL.md").touch()
    assert digest(DiskFiles(folder)) == before


def test_a_broken_list_of_approvals_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    file.write_text('{"approvals": 3}')
    with pytest.raises(ConfigError, match="invalid list of approvals"):
        FileApprovals(file).add("pdf", "sha256:1", "Network")
    assert file.read_text() == '{"approvals": 3}'


def session_with(root: Path, **options: Any) -> tuple[Session, EventRecorder]:
    recorder, bus = EventRecorder(), EventBus()
    bus.subscribe(recorder)
    return Session(
        metier.discover(root), services=SessionServices(runner=FakeRunner(), bus=bus, permissions=Permissions(**options))
    ), recorder


def test_a_session_answers_for_the_tools_of_its_host(tmp_path: Path) -> None:
    skill_folder(tmp_path, "committer", head="allowed-tools: Bash(git:*) Read")
    session, _ = session_with(tmp_path, policy=Policy.of(allow=["Bash(git:*)", "Read"], deny=["Bash(git push:*)"]))
    assert session.permissions.check("Bash", "git status").verdict is PolicyVerdict.ASK
    session.activate("committer")
    assert session.permissions.check("Bash", "git status").verdict is PolicyVerdict.ALLOW
    assert session.permissions.check("Bash", "git push").verdict is PolicyVerdict.DENY
    assert session.permissions.check("Bash", "git status; id").verdict is PolicyVerdict.ASK
    assert session.permissions.check("Read", "/x").verdict is PolicyVerdict.ALLOW
    assert session.permissions.check("Write", "/x").verdict is PolicyVerdict.ASK


def test_a_refused_script_is_an_event_and_never_starts(tmp_path: Path) -> None:
    skill_folder(tmp_path, "pdf", head="allowed-tools: Read", files={"scripts/go.py": "print(1)\n"})
    session, recorder = session_with(tmp_path)
    with pytest.raises(RefusedError, match="the skill does not request it"):
        run_now(session.run_script("pdf", "scripts/go.py"))
    assert [(event.name, event.what) for event in recorder.of(events.ActionRefused)] == [("pdf", "Script(scripts/go.py)")]
    assert recorder.of(events.ScriptStarted) == []


def test_the_network_is_given_only_when_the_policy_gives_it(tmp_path: Path) -> None:
    skill_folder(tmp_path, "pdf", files={"scripts/go.py": "print(1)\n"})
    session, _ = session_with(tmp_path)
    with pytest.raises(RefusedError, match=r"Network\(api\.example\.com\)") as refused:
        run_now(session.run_script("pdf", "scripts/go.py", hosts=("api.example.com",)))
    assert "metier policy allow 'Network(api.example.com)' --skill pdf" in refused.value.hint
    allowed, _ = session_with(tmp_path, policy=Policy.of(allow=["Network(*.example.com)"]))
    run_now(allowed.run_script("pdf", "scripts/go.py", hosts=("api.example.com",)))
    with pytest.raises(RefusedError, match="Network"):
        run_now(allowed.run_script("pdf", "scripts/go.py", hosts=("api.example.com:8443",)))
    runner = allowed.services.runner
    assert isinstance(runner, FakeRunner)
    assert [run.hosts for run in runner.ran] == [("api.example.com",)]


def test_a_request_can_lower_the_timeout_and_never_raise_it(tmp_path: Path) -> None:
    skill_folder(tmp_path, "pdf", files={"scripts/go.py": "print(1)\n"})
    session, _ = session_with(tmp_path)
    runner = session.services.runner
    assert isinstance(runner, FakeRunner)
    run_now(session.run_script("pdf", "go.py", seconds=5))
    run_now(session.run_script("pdf", "go", seconds=9_999))
    assert [run.limits.seconds for run in runner.ran] == [5, 60]


@pytest.mark.parametrize(
    "script", ["../other/scripts/x.py", "/bin/sh", "SKILL.md", "references/x.py", "scripts", "scripts/missing.py", ""]
)
def test_only_a_script_of_the_skill_can_be_named(tmp_path: Path, script: str) -> None:
    skill_folder(tmp_path, "pdf", files={"scripts/go.py": "print(1)\n", "references/x.py": "print(1)\n"})
    session, _ = session_with(tmp_path)
    with pytest.raises(MetierError) as error:
        run_now(session.run_script("pdf", script))
    assert error.value.code in ("refused", "bad-arguments")


@pytest.mark.parametrize(
    ("pattern", "tool", "argument", "expected"),
    [
        ("Read(src/*)", "Read", "src/a.py", True),
        ("Read(src/*)", "Read", "src/../../etc/passwd", False),
        ("Read(src/*)", "Read", "etc/x", False),
        ("Read", "Read", "../x", True),
        ("mcp__docs__*", "mcp__docs__search", "", True),
        ("mcp__docs__*", "mcp__other__x", "", False),
        ("Bash(git:*)", "shell", "git status", True),
        ("read", "Read", "x", True),
    ],
)
def test_patterns_for_other_tools(pattern: str, tool: str, argument: str, expected: bool) -> None:
    request = command_request(tool, argument) if tool == "shell" else ToolRequest(tool=tool, argument=argument)
    assert ToolPattern.parse(pattern).grants(request) is expected


def test_a_toolset_function_that_the_user_denied_by_name_is_not_offered(tmp_path: Path) -> None:
    source = "def good() -> str:\n    return 'x'\ndef bad() -> str:\n    return 'y'\nboth = [good, bad]\n"
    skill_folder(tmp_path, "hello", head="toolsets: ['toolsets/index:both']", files={"toolsets/index.py": source})
    session, _ = session_with(tmp_path, policy=Policy.of(allow=["Toolset"], deny=["bad"]))
    session.activate("hello")
    assert [tool.name for tool in session.tools() if tool.skill] == ["good"]


@pytest.fixture(scope="module")
def only_git(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with one program in it, which prints its words."""
    folder = tmp_path_factory.mktemp("bin")
    git = folder / "git"
    git.write_text("#!/bin/sh\nprintf '[git]'\nfor word in \"$@\"; do printf '<%s>' \"$word\"; done\n")
    git.chmod(0o755)
    return folder


_PARTS = [
    "a",
    "-s",
    "'a b'",
    '"a b"',
    "''",
    '""',
    "'$(id)'",
    '"$x"',
    "a'b'c",
    'a"b"c',
    "--x='y z'",
    "a=b",
    "^",
    "%s",
    "{a,b}",
    "é",
    ";",
    "&&",
    "'",
    '"',
    "\\\\",
    "\\ ",
    "!",
    "'!'",
    "#",
    "a#b",
    "~",
    "*",
    "'*'",
    "\n",
    ",",
    ":",
    "@",
    "+",
    "..",
    "/",
    "2>x",
    "[a]",
    "`",
    "$'a'",
    "--",
    "'a\nb'",
    "\xa0",
    "\u3000",
]
_tails = st.lists(st.tuples(st.sampled_from(_PARTS), st.sampled_from(["", " ", "\t", "  "])), max_size=6).map(
    lambda pairs: "".join(part + gap for part, gap in pairs)
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_tails | st.text(alphabet="git as;|&$(){}<>`'\"\\\n\t*?~#=!-c[]%^,:@+/.é", max_size=24))
def test_what_a_pattern_grants_a_real_shell_runs_as_exactly_those_words(only_git: Path, tail: str) -> None:
    command = f"git {tail}"
    if not granted("Bash(git:*)", command):
        return
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        env={"PATH": str(only_git)},
        cwd=only_git,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    words = plain_words(command)
    assert done.stdout == "[git]" + "".join(f"<{word}>" for word in words[1:]), (command, done)
    assert sorted(file.name for file in only_git.iterdir()) == ["git"]


def test_a_skill_that_cannot_be_bound_to_a_version_is_asked_about_every_time() -> None:
    """Its digest is empty, for instance because it has too many files; an approval of it would hold for every version."""
    approvals = MemoryApprovals()
    asked: list[Question] = []

    def always(question: Question) -> ApprovalAnswer:
        asked.append(question)
        return ApprovalAnswer.ALWAYS

    permissions = Permissions(approvals=approvals, approve=always)
    for _ in range(2):
        decision = permissions.authorise(ToolRequest(tool="Network"), Requester(name="big"))
        assert (decision.verdict, decision.rule) == (PolicyVerdict.ALLOW, "approved once")
    assert (len(asked), approvals.of_skill("big")) == (2, ())
    approvals.add("big", "", "Network")
    assert permissions.decide(ToolRequest(tool="Network"), Requester(name="big")).verdict is PolicyVerdict.ASK


@pytest.mark.parametrize("command", ["rm *", "ls [ab].txt", "echo a:*", "git status; id", "git commit -m 'a b'", "cat ?"])
def test_an_approved_command_is_approved_as_it_was_shown_and_nothing_else(command: str) -> None:
    approvals = MemoryApprovals()
    permissions = Permissions(approvals=approvals, approve=lambda _: ApprovalAnswer.ALWAYS)
    skill = asker("Bash")
    permissions.authorise(command_request("Bash", command), skill)
    later = Permissions(approvals=approvals)
    assert later.check("Bash", command, skills=[skill]).verdict is PolicyVerdict.ALLOW
    for other in ("rm x", "rm -rf /", "ls a.txt", "echo a:b", "git status", "git commit -m a", "cat x", f"{command} x"):
        assert later.check("Bash", other, skills=[skill]).verdict is PolicyVerdict.ASK


def test_the_hint_of_a_refusal_names_only_the_refused_command() -> None:
    with pytest.raises(RefusedError) as refused:
        Permissions().authorise(command_request("Bash", "rm * 'x'"), asker("Bash"))
    assert """metier policy allow 'Bash(rm [*] '"'"'x'"'"')' --skill pdf""" in refused.value.hint


@pytest.mark.parametrize(("allow", "verdict"), [
    (["Bash(mytool:*)"], PolicyVerdict.ALLOW), (["Bash"], PolicyVerdict.ALLOW), ([], PolicyVerdict.ASK),
])  # fmt: skip
def test_an_unknown_program_is_allowed_by_the_user_and_never_by_the_skill_alone(
    allow: list[str], verdict: PolicyVerdict
) -> None:
    permissions = Permissions(policy=Policy.of(allow=allow, tools=PolicyVerdict.ALLOW))
    skill = asker("Bash(mytool:*)", "Bash(git log:*)")
    assert permissions.check("Bash", "mytool x", skills=[skill]).verdict is verdict
    assert permissions.check("Bash", "git log --oneline", skills=[skill]).verdict is PolicyVerdict.ALLOW
    assert permissions.check("Bash", "git log --output=x", skills=[skill]).verdict is PolicyVerdict.ASK


def test_arguments_of_a_script_are_no_shell_text() -> None:
    permissions = Permissions(policy=Policy.of(deny=["Bash(git push:*)", "Bash(rm:*)"]))
    request = script_tool_request("pdf", "scripts/go.py", ["it's", "$x", "git push", "`id`"])
    assert permissions.decide(request, asker("Bash(python3:*)")).verdict is PolicyVerdict.ALLOW


def test_a_denied_interpreter_denies_the_scripts_that_it_runs() -> None:
    permissions = Permissions(policy=Policy.of(deny=["Bash(python3:*)"]))
    assert permissions.decide(script_tool_request("pdf", "scripts/go.py", []), asker()).verdict is PolicyVerdict.DENY
