"""An installed skill is held to its list: what is beyond it asks, whatever the defaults say."""

from __future__ import annotations

from pathlib import Path

import pytest

import metier
from metier.errors import RefusedError
from metier.runtime import (
    ApprovalAnswer,
    ApprovalHook,
    CapabilityList,
    MemoryApprovals,
    PathContext,
    Permissions,
    Policy,
    PolicyVerdict,
    Question,
    Session,
    SessionServices,
    ToolRequest,
    tool_request,
)
from metier.runtime.policy.permissions import Requester
from metier.spec import ANY, COMPUTED, Capabilities
from metier.testing import FakeRunner, run_now, skill_folder
from metier.values import replace

OPEN = Policy(network=PolicyVerdict.ALLOW, secrets=PolicyVerdict.ALLOW, tools=PolicyVerdict.ALLOW, packages=PolicyVerdict.ALLOW)
LISTED = Capabilities(
    hosts=(COMPUTED, "*.example.org", "api.example.com"), commands=("git", "jq"), variables=("API_KEY",),
    reads=("~/.notes",), packages=("polars",),
)  # fmt: skip
HERE = PathContext(folder="/home/me/shop", home="/home/me")


def requester(listed: Capabilities | None = LISTED, *tools: str, is_agreed: bool = True) -> Requester:
    limit = None if listed is None else CapabilityList(listed=listed, is_agreed=is_agreed)
    return Requester(name="weather", digest=lambda: "sha256:1", tools=tools, limit=limit)


def verdict(request: ToolRequest, skill: Requester, policy: Policy = OPEN) -> PolicyVerdict:
    return Permissions(policy=policy, context=HERE).decide(request, skill).verdict


def command(line: str) -> ToolRequest:
    return replace(tool_request("Bash", line), is_confined=True)


WITHIN = [
    ToolRequest(tool="Network", argument="api.example.com"),
    ToolRequest(tool="Network", argument="a.example.org:8443"),
    ToolRequest(tool="Secret", argument="API_KEY@api.example.com"),
    ToolRequest(tool="Packages", argument="sha256:2", packages=("polars",)),
    ToolRequest(tool="Script", argument="scripts/a.py"),
    command("git status"),
    command("git log | head -3"),
    command("ls -l && cat notes.txt"),
]
BEYOND = [
    ToolRequest(tool="Network", argument="evil.example"),
    ToolRequest(tool="Network", argument="api.example.com,evil.example"),
    ToolRequest(tool="Secret", argument="GITHUB_TOKEN"),
    ToolRequest(tool="Secret", argument="API_KEY@evil.example"),
    ToolRequest(tool="Packages", argument="sha256:2", packages=("polars", "event-stream")),
    ToolRequest(tool="Python", argument="print(1)", is_confined=True),
    command("curl https://api.example.com"),
    command("git status; npm test"),
    command("./git status"),
    command("$x status"),
    command("git log > $y"),
    command("sort --compress-program=id notes.txt"),
]


@pytest.mark.parametrize("request_", WITHIN, ids=str)
def test_what_is_in_the_list_is_decided_as_without_a_list(request_: ToolRequest) -> None:
    assert verdict(request_, requester()) is verdict(request_, requester(None)) is PolicyVerdict.ALLOW


@pytest.mark.parametrize("request_", BEYOND, ids=str)
def test_what_is_not_in_the_list_asks(request_: ToolRequest) -> None:
    assert verdict(request_, requester(None)) is PolicyVerdict.ALLOW
    assert verdict(request_, requester()) is PolicyVerdict.ASK


def test_the_list_grants_nothing_by_itself() -> None:
    asking = Policy()
    for request in WITHIN[:4]:
        assert verdict(request, requester(), asking) is PolicyVerdict.ASK
    denying = replace(OPEN, network=PolicyVerdict.DENY)
    assert verdict(WITHIN[0], requester(), denying) is PolicyVerdict.DENY


def test_the_tools_of_a_host_ask_for_files_outside_the_folder() -> None:
    skill = requester(LISTED, "Read", "Write")
    assert verdict(tool_request("Read", "/home/me/shop/a.txt"), skill) is PolicyVerdict.ALLOW
    assert verdict(tool_request("Read", "a.txt"), skill) is PolicyVerdict.ALLOW
    assert verdict(tool_request("Read", "~/.notes/today.md"), skill) is PolicyVerdict.ALLOW
    assert verdict(tool_request("Read", "~/.aws/credentials"), skill) is PolicyVerdict.ASK
    assert verdict(tool_request("Read", "../../.aws/credentials"), skill) is PolicyVerdict.ASK
    assert verdict(tool_request("Write", "~/.notes/today.md"), skill) is PolicyVerdict.ASK


def test_allowed_tools_do_not_reach_beyond_the_list() -> None:
    skill = requester(Capabilities(), "Bash(npm:*)")
    assert verdict(command("npm test"), replace(skill, limit=None), Policy()) is PolicyVerdict.ALLOW
    assert verdict(command("npm test"), skill, Policy()) is PolicyVerdict.ASK


def test_a_decision_of_the_user_by_name_counts_and_a_bare_pattern_does_not() -> None:
    evil = ToolRequest(tool="Network", argument="evil.example")
    assert verdict(evil, requester(), Policy.of(allow=["Network(evil.example)"])) is PolicyVerdict.ALLOW
    assert verdict(evil, requester(), Policy.of(allow=["Network"])) is PolicyVerdict.ASK
    assert verdict(evil, requester(), Policy.of(allow=["Network(*)"])) is PolicyVerdict.ASK
    approvals = MemoryApprovals()
    approvals.add("weather", "sha256:1", "Network(evil.example)")
    assert Permissions(approvals=approvals).decide(evil, requester()).verdict is PolicyVerdict.ALLOW
    assert Permissions(approvals=approvals).decide(evil, replace(requester(), digest=lambda: "sha256:2")).verdict is (
        PolicyVerdict.ASK
    )


def test_a_list_that_the_user_has_not_seen_is_empty() -> None:
    skill = requester(Capabilities(hosts=("api.example.com",), commands=(ANY,)), is_agreed=False)
    decision = Permissions(policy=OPEN).decide(WITHIN[0], skill)
    assert decision.verdict is PolicyVerdict.ASK
    assert "`metier skill install` shows it" in decision.rule
    assert verdict(command("git status"), skill) is PolicyVerdict.ASK


def session_for(tmp_path: Path, limit: CapabilityList | None, approve: ApprovalHook | None = None) -> Session:
    skill_folder(tmp_path, "weather", files={"scripts/a.py": "print(1)\n"})
    services = SessionServices(
        runner=FakeRunner(), permissions=Permissions(policy=OPEN, approve=approve), capabilities=lambda _folder: limit
    )
    return Session(metier.discover(str(tmp_path)), services=services)


def test_a_run_that_names_another_host_is_refused_with_a_sentence_and_a_hint(tmp_path: Path) -> None:
    session = session_for(tmp_path, CapabilityList(listed=LISTED))
    with pytest.raises(RefusedError) as refused:
        run_now(session.run_script("weather", "a", hosts=("evil.example",)))
    assert refused.value.rule == "capabilities"
    assert "may not use Network(evil.example): capabilities: not in the list" in str(refused.value)
    assert "metier policy allow 'Network(evil.example)' --skill weather" in refused.value.hint


def test_the_user_is_asked_and_the_answer_counts(tmp_path: Path) -> None:
    asked: list[Question] = []

    def approve(question: Question) -> ApprovalAnswer:
        asked.append(question)
        return ApprovalAnswer.ONCE

    session = session_for(tmp_path, CapabilityList(listed=LISTED), approve=approve)
    run_now(session.run_script("weather", "a", hosts=("api.example.com", "other.example")))
    assert [(str(one.request), one.reason) for one in asked] == [
        ("Network(other.example)", "capabilities: not in the list that it was installed with")
    ]


def test_a_skill_that_no_lock_installed_is_not_limited(tmp_path: Path) -> None:
    session = session_for(tmp_path, None)
    assert run_now(session.run_script("weather", "a", hosts=("evil.example",))).ok
