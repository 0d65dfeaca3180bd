"""Other agent programs: their names, skill folders, environment variables, and whether they are installed."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .headless import HEADLESS_AGENTS, HeadlessAgent
    from .known_hosts import HOST_ALIASES, HOSTS, SHARED_FOLDER, Host, detect_hosts, expand_folder
    from .prompt_hooks import PROMPT_HOOKS, PromptHook

__all__ = [
    "HEADLESS_AGENTS",
    "HOSTS",
    "HOST_ALIASES",
    "HOST_VARIABLES",
    "PROMPT_HOOKS",
    "SHARED_FOLDER",
    "HeadlessAgent",
    "Host",
    "PromptHook",
    "detect_hosts",
    "expand_folder",
]

# Here and not computed from the table: a cached listing compares these variables and imports nothing else.
HOST_VARIABLES = (
    "XDG_CONFIG_HOME",
    "AUTOHAND_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEWHALE_HOME",
    "CODEX_HOME",
    "GROK_HOME",
    "HERMES_HOME",
    "VIBE_HOME",
)
"""Environment variables that move the folders of hosts."""

# A type checker reads the imports above.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.hosts.headless": ("HEADLESS_AGENTS", "HeadlessAgent"),
            "metier.hosts.known_hosts": ("HOSTS", "HOST_ALIASES", "SHARED_FOLDER", "Host", "detect_hosts", "expand_folder"),
            "metier.hosts.prompt_hooks": ("PROMPT_HOOKS", "PromptHook"),
        },
    )
