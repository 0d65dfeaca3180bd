"""Hosts and secrets of a run: named by the caller, or declared by the skill and granted by the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metier
from metier.errors import NotFoundError, RefusedError, UsageError
from metier.runtime import (
    ApprovalAnswer,
    EventBus,
    MemoryApprovals,
    MemorySecrets,
    Permissions,
    Policy,
    Question,
    ScriptRun,
    Session,
    SessionServices,
    StoredSecret,
    events,
)
from metier.testing import EventRecorder, FakeRunner, run_now, skill_folder

HEAD = "metadata:\n  network: api.example.com *.example.org:8443\n  env: API_KEY"
KEY = (StoredSecret(name="API_KEY", hosts=("api.example.com",)), "the value")


class Asked:
    """A user who answers every question in one way, and remembers them."""

    def __init__(self, answer: ApprovalAnswer) -> None:
        self.answer = answer
        self.questions: list[str] = []

    def __call__(self, question: Question) -> ApprovalAnswer:
        self.questions.append(str(question.request))
        return self.answer


def session_of(
    root: Path, *, approve: Callable[[Question], ApprovalAnswer] | None = None, secrets: MemorySecrets | None = None,
    head: str = HEAD, **policy: Any,
) -> tuple[Session, EventRecorder]:  # fmt: skip
    skill_folder(root, "caller", head=head, files={"scripts/go.py": "print(1)\n"})
    recorder, bus = EventRecorder(), EventBus()
    bus.subscribe(recorder)
    permissions = Permissions(policy=Policy.of(**policy), approve=approve, approvals=MemoryApprovals())
    return Session(
        metier.discover(root),
        services=SessionServices(runner=FakeRunner(), bus=bus, permissions=permissions, secrets=secrets),
    ), recorder


def last_run(session: Session) -> ScriptRun:
    runner = session.services.runner
    assert isinstance(runner, FakeRunner)
    return runner.ran[-1]


def test_declared_hosts_and_secrets_are_asked_once_each_and_remembered(tmp_path: Path) -> None:
    user = Asked(ApprovalAnswer.ALWAYS)
    session, recorder = session_of(tmp_path, approve=user, secrets=MemorySecrets(KEY))
    for _ in range(2):
        outcome = run_now(session.run_script("caller", "go"))
        assert outcome.notes == ()
    wanted = ["Network(api.example.com)", "Network(*.example.org:8443)", "Secret(API_KEY@api.example.com)"]
    assert user.questions == wanted
    run = last_run(session)
    assert run.hosts == ("api.example.com", "*.example.org:8443")
    assert [(each.name, each.value, each.hosts) for each in run.masked] == [("API_KEY", "the value", ("api.example.com",))]
    assert run.secrets == {}
    assert "the value" not in repr(run) + repr(recorder.events)


def test_a_run_goes_on_without_what_the_user_refuses_and_is_not_asked_again(tmp_path: Path) -> None:
    user = Asked(ApprovalAnswer.NO)
    session, recorder = session_of(tmp_path, approve=user, secrets=MemorySecrets(KEY))
    for _ in range(2):
        outcome = run_now(session.run_script("caller", "go"))
        assert len(outcome.notes) == 3
    assert len(user.questions) == 3
    assert (last_run(session).hosts, last_run(session).masked) == ((), ())
    assert len(recorder.of(events.ActionRefused)) == 3


def test_without_a_hook_the_notes_name_commands_that_help(tmp_path: Path) -> None:
    session, _ = session_of(tmp_path, secrets=MemorySecrets())
    notes = run_now(session.run_script("caller", "go")).notes
    assert "metier policy allow 'Network(api.example.com)' --skill caller" in notes[0]
    assert notes[-1] == "API_KEY is not set; run `metier secret set API_KEY --skill caller`"


def test_what_the_caller_names_must_be_granted(tmp_path: Path) -> None:
    session, _ = session_of(tmp_path, head="", secrets=MemorySecrets(KEY))
    with pytest.raises(RefusedError, match=r"Network\(b\.example\)"):
        run_now(session.run_script("caller", "go", hosts=["b.example"]))
    with pytest.raises(RefusedError, match=r"Secret\(API_KEY@api\.example\.com\)"):
        run_now(session.run_script("caller", "go", secrets=["API_KEY"]))
    with pytest.raises(NotFoundError, match="no secret is named OTHER"):
        run_now(session.run_script("caller", "go", secrets=["OTHER"]))
    with pytest.raises(UsageError, match="not a host"):
        run_now(session.run_script("caller", "go", hosts=["https://b.example"]))


def test_a_secret_brings_its_hosts_unless_the_policy_denies_one(tmp_path: Path) -> None:
    session, _ = session_of(tmp_path, head="", secrets=MemorySecrets(KEY), allow=["Secret(API_KEY)"])
    run_now(session.run_script("caller", "go", secrets=["API_KEY"]))
    assert last_run(session).hosts == ("api.example.com",)
    denied, _ = session_of(
        tmp_path / "other", head="", secrets=MemorySecrets(KEY), allow=["Secret(API_KEY)"], deny=["Network(*.example.com)"]
    )
    outcome = run_now(denied.run_script("caller", "go", secrets=["API_KEY"]))
    assert last_run(denied).masked == ()
    assert "policy.deny: Network(*.example.com)" in outcome.notes[0]


@pytest.mark.parametrize(
    ("secret", "hosts", "masked"),
    [
        (StoredSecret(name="API_KEY"), (), False),
        (StoredSecret(name="API_KEY"), ("a.example",), True),
        (StoredSecret(name="API_KEY", in_clear=True), ("a.example",), False),
        (StoredSecret(name="API_KEY", hosts=("b.example",)), (), True),
    ],
)
def test_a_secret_is_masked_when_its_hosts_are_known(
    tmp_path: Path, secret: StoredSecret, hosts: tuple[str, ...], masked: bool
) -> None:
    session, _ = session_of(tmp_path, head="", secrets=MemorySecrets((secret, "v")), allow=["Secret(API_KEY)", "Network"])
    run_now(session.run_script("caller", "go", hosts=hosts, secrets=["API_KEY"]))
    run = last_run(session)
    assert (len(run.masked), run.secrets) == ((1, {}) if masked else (0, {"API_KEY": "v"}))


@pytest.mark.parametrize(
    ("pattern", "request_", "granted"),
    [
        ("Network", "a.example", True),
        ("Network(a.example)", "a.example:443", True),
        ("Network(a.example:443)", "a.example", False),
        ("Network(*.example.com)", "*.a.example.com", True),
    ],
)
def test_a_pattern_grants_the_hosts_that_it_covers(tmp_path: Path, pattern: str, request_: str, granted: bool) -> None:
    session, _ = session_of(tmp_path, head="", allow=[pattern])
    if granted:
        run_now(session.run_script("caller", "go", hosts=[request_]))
        return
    with pytest.raises(RefusedError):
        run_now(session.run_script("caller", "go", hosts=[request_]))


@pytest.mark.parametrize(
    "denied", ["Network", "Network(a.example.com)", "Network(a.example.com:443)", "Network(*.example.com)"]
)
def test_a_denied_host_is_denied_inside_a_wider_request(tmp_path: Path, denied: str) -> None:
    session, _ = session_of(tmp_path, head="", allow=["Network"], deny=[denied])
    with pytest.raises(RefusedError, match=r"policy\.deny"):
        run_now(session.run_script("caller", "go", hosts=["*.example.com"]))
