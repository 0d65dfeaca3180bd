"""Text of a model on a terminal: nothing in it hides where a link leads."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from cli.shell import Shell
from metier.agents import events
from metier.cli.chat.view import View

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def shown(text: str) -> str:
    """Everything that a terminal is sent for this answer."""
    stream = io.StringIO()
    view = View(Console(file=stream, force_terminal=True, width=200, highlight=False))
    view(events.AnswerText(timestamp=NOW, text=f"{text}\n\n"))
    view.pause()
    return stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "[https://bank.example](https://evil.example/x)", "[bank](https://evil.example/x 'bank.example')",
        "[bank][1]\n\n[1]: https://evil.example/x",
    ],
)  # fmt: skip
def test_a_link_is_shown_with_its_target(text: str) -> None:
    sent = shown(text)
    assert "https://evil.example/x" in sent
    assert "\x1b]8;" not in sent


def test_a_terminals_own_link_in_the_text_is_not_sent() -> None:
    sent = shown("\x1b]8;;https://evil.example\x1b\\bank\x1b]8;;\x1b\\")
    assert "\x1b]8;" not in sent


def test_the_instructions_of_a_skill_are_shown_with_the_targets_of_links(shell: Shell) -> None:
    shell.skill("pdf", body="See [https://bank.example](https://evil.example/x).\n")
    _, sent = shell.on_terminal("skill", "show", "pdf", "--body")
    assert "https://evil.example/x" in sent
    assert "\x1b]8;" not in sent


def call_line(tool: str, arguments: str, **finished: Any) -> str:
    stream = io.StringIO()
    view = View(Console(file=stream, width=120, highlight=False))
    view(events.ToolCallStarted(timestamp=NOW, id="1", tool=tool, arguments=arguments))
    view(events.ToolCallFinished(timestamp=NOW, id="1", tool=tool, text="", **finished))
    return stream.getvalue().strip()


def test_a_call_of_a_general_tool_is_one_line_that_says_what_it_did() -> None:
    done = {"duration": 0.12, "level": "namespace"}
    line = call_line("run_command", '{"command": "git diff HEAD", "timeout": 5}', summary="exit code 0, 1,204 bytes", **done)
    assert line == "✓ run_command git diff HEAD  exit code 0, 1,204 bytes, 0.1 s, namespace sandbox"
    line = call_line("write_file", '{"path": "a.md", "content": "long\\ntext"}', summary="9 bytes", **done)
    assert line == "✓ write_file a.md  9 bytes, 0.1 s, namespace sandbox"
    line = call_line("run_command", '{"command": "false"}', ok=False, code="command-failed", summary="exit code 1, 0 bytes")
    assert line == "✗ run_command false  exit code 1, 0 bytes"
    assert call_line("run_command", '["false"]', ok=False, code="bad-arguments") == "✗ run_command false  bad-arguments"
