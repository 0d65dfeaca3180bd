"""What a skill names in its text and tools: shown, never blocking, and completed from the same source."""

from __future__ import annotations

import json

from builders import write_skill
from cli.shell import Shell

BODY = "Use the `csv-tools` skill first.\n\n```bash\nffmpeg -i a.mp4\n```\n"


def source(shell: Shell) -> None:
    write_skill(shell.project / "given/skills", "pdf", head="allowed-tools: mcp__github__create_issue\n", body=BODY)
    write_skill(shell.project / "given/skills", "csv-tools")


def test_show_and_doctor_list_what_is_missing(shell: Shell) -> None:
    shell.skill("pdf", head="allowed-tools: mcp__github__create_issue\n", body=BODY)
    expected = ["MCP server github", "skill csv-tools (named in its text)", "ffmpeg (in its code blocks; not on PATH)"]
    row = shell("skill", "show", "pdf", "--json").data
    assert row["missing"] == expected
    assert row["state"] == "enabled"
    (check,) = [one for one in shell("doctor", "--json").data["checks"] if one["name"] == "pdf"]
    assert check["level"] == "warning"
    assert all(text in check["text"] for text in expected)
    shell.skill("csv-tools")
    shell.install("ffmpeg")
    (shell.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"github": {"command": "x"}}}))
    assert shell("skill", "show", "pdf", "--json").data["missing"] == []


def test_install_names_the_command_that_completes_a_skill(shell: Shell) -> None:
    source(shell)
    ran = shell("skill", "install", "./given", "--skill", "pdf", "--target", "none")
    assert ran.code == 0
    hint = "metier skill install ./given --skill csv-tools"
    assert f"names csv-tools, which the same source has; install with: {hint}" in ran.err
    assert shell(*hint.split()[1:], "--target", "none").code == 0
    assert "same source" not in shell("skill", "install", "./given", "--skill", "pdf", "--target", "none").err


def test_install_asks_on_a_terminal(shell: Shell) -> None:
    source(shell)
    with shell.terminal("skill", "install", "./given", "--skill", "pdf", "--target", "none", "--user") as keys:
        keys.expect("The text of pdf names csv-tools")
        keys.expect("Install it too")
        keys.send("y")
        keys.expect("Installed 2 skills|Install")
        keys.send("y")
        keys.expect("2 skills")
    assert (shell.home / ".metier/plugins/csv-tools/SKILL.md").exists()
