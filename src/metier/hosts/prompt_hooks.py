"""The hooks by which other agents let a program add text to a prompt, and the skills that each of them can see.

Each row follows the agent's documentation of November 2026; docs/router.md names the pages. The agents that can be
installed from npm are also run by the tests.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PROMPT_HOOKS", "PromptHook"]

_SECONDS = 5


class PromptHook(NamedTuple):
    """`~` is the user's home, `~c` its configuration folder; other paths are relative to the project."""

    host: str
    user_file: str
    project_file: str
    event: str
    """The key of the hook in the agent's configuration; empty for a plugin."""
    user_folders: tuple[str, ...]
    """The user's folders in which the agent looks for skills, lowest precedence first."""
    project_folders: tuple[str, ...]
    load: str
    """Tells the model how to load a skill in this agent; `{name}` and `{file}` are filled in."""
    prompt_key: str = "prompt"
    """The key of the user's message in the JSON that the agent sends."""
    note: str = ""
    """Shown after the hook was installed."""

    @property
    def is_plugin(self) -> bool:
        return not self.event

    def entry(self, command: str) -> dict[str, object]:
        """Returns the entry of the agent's configuration file that starts the command."""
        match self.host:
            case "cursor":
                return {"command": command, "timeout": _SECONDS}
            case "github-copilot":
                return {"type": "command", "bash": command, "timeoutSec": _SECONDS}
            case "gemini-cli":
                inner = {"type": "command", "name": "metier", "command": command, "timeout": _SECONDS * 1000}
                return {"hooks": [inner]}
            case _:
                return {"hooks": [{"type": "command", "command": command, "timeout": _SECONDS}]}

    def answer(self, text: str) -> Mapping[str, object]:
        """Returns the JSON by which the agent adds this text to the prompt."""
        match self.host:
            case "cursor":
                return {"continue": True, "additional_context": text}
            case "github-copilot" | "opencode":
                return {"additionalContext": text}
            case _:
                return {"hookSpecificOutput": {"hookEventName": self.event, "additionalContext": text}}


PROMPT_HOOKS: dict[str, PromptHook] = {
    hook.host: hook
    for hook in (
        PromptHook(
            "claude-code", "~/.claude/settings.json", ".claude/settings.json", "UserPromptSubmit",
            ("~/.claude/skills",), (".claude/skills",),
            "Load it with the Skill tool (skill: {name}) before you start.",
        ),
        PromptHook(
            "codex", "~/.codex/hooks.json", ".codex/hooks.json", "UserPromptSubmit",
            ("~/.agents/skills", "~/.codex/skills"), (".agents/skills", ".codex/skills"),
            "Read {file} before you start, and follow it.",
            note="Codex runs a new hook only after you have trusted it: start codex and answer its question, or type /hooks.",
        ),
        PromptHook(
            "gemini-cli", "~/.gemini/settings.json", ".gemini/settings.json", "BeforeAgent",
            ("~/.gemini/skills", "~/.agents/skills"), (".gemini/skills", ".agents/skills"),
            "Load it with activate_skill (name: {name}) before you start.",
        ),
        PromptHook(
            "cursor", "~/.cursor/hooks.json", ".cursor/hooks.json", "beforeSubmitPrompt",
            ("~/.codex/skills", "~/.claude/skills", "~/.agents/skills", "~/.cursor/skills"),
            (".codex/skills", ".claude/skills", ".agents/skills", ".cursor/skills"),
            "Read {file} before you start, and follow it.",
        ),
        PromptHook(
            "github-copilot", "~/.copilot/hooks/metier.json", ".github/hooks/metier.json", "userPromptSubmitted",
            ("~/.agents/skills", "~/.copilot/skills"),
            (".claude/skills", ".agents/skills", ".github/skills"),
            "Load it with the skill tool (skill: {name}) before you start.",
        ),
        PromptHook(
            "opencode", "~c/opencode/plugin/metier.js", ".opencode/plugin/metier.js", "",
            ("~/.claude/skills", "~/.agents/skills", "~c/opencode/skill", "~c/opencode/skills"),
            (".claude/skills", ".agents/skills", ".opencode/skill", ".opencode/skills"),
            "Load it with the skill tool (name: {name}) before you start.",
        ),
    )
}  # fmt: skip
