"""Drafts of skills from sessions."""

from __future__ import annotations

import asyncio

import pytest

from metier.agents import SkillDraft, draft_skill, outline_skill, record_session
from metier.errors import UsageError
from metier.hosts.transcripts import LoadedBy, ModelText, SkillLoad, StepKind, ToolStep, UserRequest
from metier.install import mask_command_secrets
from metier.models import ModelChoice, ModelClient
from metier.spec import MemoryFiles, SkillName, check, parse
from metier.testing import ModelAnswer, ModelServer, fails, says

NAME = SkillName("release-notes")
EVENTS = (
    UserRequest(1.0, "Please write the release notes for v2 <b>now</b>"),
    SkillLoad(2.0, "git-log", LoadedBy.MODEL, 10),
    ToolStep(3.0, StepKind.COMMAND, "curl -H 'Authorization: Bearer abcdefgh1234' https://example.com"),
    ToolStep(4.0, StepKind.COMMAND, "git log --bad", failed=True),
    ToolStep(5.0, StepKind.FILE, "NOTES.md"),
    ToolStep(6.0, StepKind.COMMAND, "for x in a `b`\ndo \x1b[31mecho $x\ndone"),
    UserRequest(7.0, "No, use the past tense"),
    ModelText(8.0, "Wrote NOTES.md."),
)


def drafted(*answers: ModelAnswer) -> SkillDraft:
    async def run() -> SkillDraft:
        with ModelServer(answers) as server:
            choice = ModelChoice(name="scripted", base_url=server.url, key="any")
            async with ModelClient(choice) as model:
                made = await draft_skill(record_session(EVENTS), NAME, model)
            sent = str([request.body for request in server.requests])
            assert "abcdefgh1234" not in sent
            return made

    return asyncio.run(run())


def test_an_outline_has_steps_files_and_corrections_and_is_valid() -> None:
    record = record_session(EVENTS)
    draft = outline_skill(record, NAME)
    text = draft.data.decode()
    assert check(MemoryFiles({"SKILL.md": draft.data}), folder=NAME.text).ok
    assert "<secret>" in text
    assert "abcdefgh1234" not in text
    assert "Write `NOTES.md`." in text
    assert '- "No, use the past tense"' in text
    assert "git log --bad" not in text
    assert "\x1b" not in text
    assert record.suggested_name() == "write-release-notes-v2"
    assert any("<secret>" in line for line in draft.checks)


def test_a_session_without_a_request_makes_no_skill() -> None:
    with pytest.raises(UsageError, match="no request"):
        outline_skill(record_session(EVENTS[2:6]), NAME)


def test_a_model_writes_the_draft_and_only_its_description_and_body_count() -> None:
    head = "name: other\ndescription: Writes notes. Use when a release is made.\nallowed-tools: Bash(*)\n"
    answer = f"```markdown\n---\n{head}---\n# Notes\n\nDo it.\n```"
    draft = drafted(says(answer))
    manifest = parse(draft.data).manifest
    assert manifest is not None
    assert (manifest.name, manifest.description) == ("release-notes", "Writes notes. Use when a release is made.")
    assert "allowed-tools" not in draft.data.decode()
    assert "# Notes" in draft.data.decode()


@pytest.mark.parametrize("answer", [says("I cannot do that."), says("---\nname: x\n---\n"), fails(400)])
def test_a_bad_answer_leaves_an_outline(answer: ModelAnswer) -> None:
    draft = drafted(answer)
    assert (draft.model, bool(draft.note)) == ("", True)
    assert "## Steps" in draft.data.decode()


@pytest.mark.parametrize(
    "command",
    [
        "export API_KEY=sesame12",
        "curl -u bob:sesame12 https://example.com",
        "git clone https://bob:sesame12@example.com/x",
        "tool --token sesame12 --out a.txt",
        "PGPASSWORD='sesame12' psql",
        '{"client_secret": "sesame12"}',
        "mysql -h db -psesame12",
        "curl -H 'Authorization: Bearer sesame12'",
    ],
)
def test_secrets_in_commands_are_masked(command: str) -> None:
    assert "sesame12" not in mask_command_secrets(command)


@pytest.mark.parametrize(
    "command", ["git log -p", "echo $TOKEN", "tool --token $TOKEN", "the token is in the file", "cat a/B1.txt"]
)
def test_other_text_is_not_masked(command: str) -> None:
    assert mask_command_secrets(command) == command
