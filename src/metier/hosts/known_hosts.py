"""The known hosts, and the folders in which each one looks for skills.

For each host: its folder in a project, its folder under the user's home, and the folder that shows that it is installed. Most
hosts read the shared `.agents/skills` of a project, so one copy serves them all; the others get a link to it. The folders are
those of the other Agent Skills installers (see docs/targets.md).
"""

from __future__ import annotations

import os
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HOSTS", "HOST_ALIASES", "SHARED_FOLDER", "Host", "detect_hosts", "expand_folder"]

SHARED_FOLDER = ".agents/skills"


class Host(NamedTuple):
    """`~` is the user's home, `~c` its configuration folder ($XDG_CONFIG_HOME or ~/.config)."""

    name: str
    project: str
    """Relative to the project."""
    user: str | None
    """None if the host has no user folder."""
    marker: str
    """A folder that exists where the host is installed; empty if there is none."""
    variable: str = ""
    """An environment variable that replaces `marker`, also at the start of `user`."""

    def user_folder(self, home: str, environment: Mapping[str, str]) -> str | None:
        if self.user is None:
            return None
        return expand_folder(self.user, home, environment, moved=self)

    def project_folder(self, project: str) -> str:
        return os.path.join(project, self.project)

    def marker_folder(self, home: str, environment: Mapping[str, str]) -> str | None:
        moved = environment.get(self.variable) if self.variable else None
        text = moved or self.marker
        return _expand(text, home, environment) if text else None


def expand_folder(text: str, home: str, environment: Mapping[str, str], *, moved: Host | None = None) -> str:
    """Returns the path of a user's folder or file. A host's variable moves what is below its marker."""
    folder = environment.get(moved.variable) if moved and moved.variable else None
    if moved and folder and text.startswith(f"{moved.marker}/"):
        return os.path.join(_expand(folder, home, environment), text[len(moved.marker) + 1 :])
    return _expand(text, home, environment)


def _expand(text: str, home: str, environment: Mapping[str, str]) -> str:
    if text.startswith("~c/"):
        return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), text[3:])
    return os.path.join(home, text[2:]) if text.startswith("~/") else os.path.join(home, text)


def _shared(name: str, user: str | None, marker: str, variable: str = "") -> Host:
    return Host(name, SHARED_FOLDER, user, marker, variable)


def _own(folder: str, name: str = "", variable: str = "") -> Host:
    """An agent that keeps to `.folder/skills`, in the project and at home."""
    return Host(name or folder, f".{folder}/skills", f"~/.{folder}/skills", f"~/.{folder}", variable)


HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
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
HOST_ALIASES = {
    "claude": "claude-code",
    "copilot": "github-copilot",
    "gemini": "gemini-cli",
    "factory": "droid",
    "qwen-code": "qwen",
}


def detect_hosts(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the names of the hosts on this machine, by their marker folders."""
    markers = ((name, host.marker_folder(home, environment)) for name, host in HOSTS.items())
    return tuple(name for name, marker in markers if marker and os.path.isdir(marker))
