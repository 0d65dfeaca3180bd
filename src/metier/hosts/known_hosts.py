"""The agents that people use, and the folders in which each one looks for skills.

A table and nothing else: where they read from in a project, where under the user's home, and which folder shows that the
agent is on this machine. Most agents read the shared `.agents/skills` of a project, so there one copy serves them all; the
others are given a link to it. The table is that of the Agent Skills installers (see docs/targets.md).
"""

from __future__ import annotations

import os
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALIASES", "HOSTS", "SHARED_FOLDER", "Host"]

SHARED_FOLDER = ".agents/skills"


class Host(NamedTuple):
    """`~` is the user's home, `~c` its configuration folder ($XDG_CONFIG_HOME or ~/.config)."""

    name: str
    project: str
    """Relative to the project."""
    user: str | None
    """None where the agent has no folder of its own under the home."""
    mark: str
    """It exists where the agent is installed; empty where nothing tells."""
    variable: str = ""
    """An environment variable that takes the place of `mark`, also at the start of `user`."""

    def user_folder(self, home: str, environment: Mapping[str, str]) -> str | None:
        if self.user is None:
            return None
        moved = environment.get(self.variable) if self.variable else None
        if moved and self.user.startswith(f"{self.mark}/"):
            return os.path.join(_expanded(moved, home, environment), self.user[len(self.mark) + 1 :])
        return _expanded(self.user, home, environment)

    def project_folder(self, project: str) -> str:
        return os.path.join(project, self.project)

    def marked_folder(self, home: str, environment: Mapping[str, str]) -> str | None:
        moved = environment.get(self.variable) if self.variable else None
        text = moved or self.mark
        return _expanded(text, home, environment) if text else None


def _expanded(text: str, home: str, environment: Mapping[str, str]) -> str:
    if text.startswith("~c/"):
        return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), text[3:])
    return os.path.join(home, text[2:]) if text.startswith("~/") else os.path.join(home, text)


def _shared(name: str, user: str | None, mark: str, variable: str = "") -> Host:
    return Host(name, SHARED_FOLDER, user, mark, variable)


def _own(folder: str, name: str = "", variable: str = "") -> Host:
    """An agent that keeps to `.folder/skills`, in the project and at home."""
    return Host(name or folder, f".{folder}/skills", f"~/.{folder}/skills", f"~/.{folder}", variable)


HOSTS: dict[str, Host] = {
    client.name: client
    for client in (
        Host("claude-code", ".claude/skills", "~/.claude/skills", "~/.claude", "CLAUDE_CONFIG_DIR"),
        _shared("amp", "~c/agents/skills", "~c/amp"),
        _shared("replit", "~c/agents/skills", ""),
        _shared("universal", "~c/agents/skills", ""),
        _shared("antigravity", "~/.gemini/antigravity/skills", "~/.gemini/antigravity"),
        _shared("antigravity-cli", "~/.gemini/antigravity-cli/skills", "~/.gemini/antigravity-cli"),
        _shared("cline", "~/.agents/skills", "~/.cline"),
        _shared("dexto", "~/.agents/skills", "~/.dexto"),
        _shared("kimi-code-cli", "~/.agents/skills", "~/.kimi"),
        _shared("loaf", "~/.agents/skills", "~/.loaf"),
        _shared("sarvam-code", "~/.agents/skills", "~/.sarvam"),
        _shared("warp", "~/.agents/skills", "~/.warp"),
        _shared("zed", "~/.agents/skills", "~c/zed"),
        _shared("codex", "~/.codex/skills", "~/.codex", "CODEX_HOME"),
        _shared("cursor", "~/.cursor/skills", "~/.cursor"),
        _shared("deepagents", "~/.deepagents/agent/skills", "~/.deepagents"),
        _shared("droid", "~/.factory/skills", "~/.factory"),
        _shared("firebender", "~/.firebender/skills", "~/.firebender"),
        _shared("gemini-cli", "~/.gemini/skills", "~/.gemini"),
        _shared("github-copilot", "~/.copilot/skills", "~/.copilot"),
        _shared("kilo", "~/.kilo/skills", "~/.kilo"),
        _shared("opencode", "~c/opencode/skills", "~c/opencode"),
        _shared("promptscript", None, ""),
        *map(_own, (
            "aider-desk", "augment", "bob", "codebuddy", "codemaker", "codestudio", "continue", "fx",
            "inferencesh", "jazz", "junie", "iflow", "kiro", "kode", "lingma", "mcpjam", "minimax", "moxby",
            "mux", "openhands", "ona", "qoder", "qwen", "reasonix", "rovodev", "roo", "terramind", "tinycloud",
            "trae", "zcode", "zencoder", "neovate", "pochi", "adal",
        )),
        _own("codeartsdoer", "codearts"),
        _own("codewhale", variable="CODEWHALE_HOME"),
        _own("commandcode", "command-code"),
        _own("forge", "forgecode"),
        _own("grok", variable="GROK_HOME"),
        _own("hermes", variable="HERMES_HOME"),
        _own("vibe", "mistral-vibe", "VIBE_HOME"),
        _own("autohand", variable="AUTOHAND_HOME"),
        Host("zenflow", ".zencoder/skills", "~/.zencoder/skills", "~/.zencoder"),
        Host("cortex", ".cortex/skills", "~/.snowflake/cortex/skills", "~/.snowflake/cortex"),
        Host("crush", ".crush/skills", "~/.config/crush/skills", "~/.config/crush"),
        Host("devin", ".devin/skills", "~c/devin/skills", "~c/devin"),
        Host("goose", ".goose/skills", "~c/goose/skills", "~c/goose"),
        Host("kimchi", ".kimchi/skills", "~/.config/kimchi/harness/skills", "~/.config/kimchi"),
        Host("pi", ".pi/skills", "~/.pi/agent/skills", "~/.pi"),
        Host("posit-assistant", ".posit/assistant/skills", "~/.posit/assistant/skills", "~/.posit"),
        Host("tabnine", ".tabnine/agent/skills", "~/.tabnine/agent/skills", "~/.tabnine"),
        Host("windsurf", ".windsurf/skills", "~/.codeium/windsurf/skills", "~/.codeium/windsurf"),
        Host("qoder-cn", ".qoder/skills", "~/.qoder-cn/skills", "~/.qoder-cn"),
        Host("trae-cn", ".trae/skills", "~/.trae-cn/skills", "~/.trae-cn"),
        Host("openclaw", "skills", "~/.openclaw/skills", "~/.openclaw"),
        Host("astrbot", "data/skills", "~/.astrbot/data/skills", "~/.astrbot"),
        Host("eve", "agent/skills", None, ""),
    )
}  # fmt: skip
ALIASES = {
    "claude": "claude-code",
    "copilot": "github-copilot",
    "gemini": "gemini-cli",
    "factory": "droid",
    "qwen-code": "qwen",
}
