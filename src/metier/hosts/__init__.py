"""Other agent programs: their names, skill folders, environment variables, and whether they are installed."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .headless import HEADLESS_AGENTS, HeadlessAgent
    from .host_lists import HostListing, HostSkill, ListedSkill, render_listing
    from .known_hosts import HOST_ALIASES, HOSTS, SHARED_FOLDER, Host, detect_hosts, expand_folder
    from .listing_budgets import LISTING_BUDGETS, Cut, ListingBudget, OwnSkill
    from .prompt_hooks import PROMPT_HOOKS, PromptHook
    from .rule_files import ConvertedSkill, convert_file, is_convertible
    from .skill_places import project_skill_folders, user_skill_folders

__all__ = [
    "HEADLESS_AGENTS",
    "HOSTS",
    "HOST_ALIASES",
    "HOST_VARIABLES",
    "LISTING_BUDGETS",
    "PROMPT_HOOKS",
    "SHARED_FOLDER",
    "ConvertedSkill",
    "Cut",
    "HeadlessAgent",
    "Host",
    "HostListing",
    "HostSkill",
    "ListedSkill",
    "ListingBudget",
    "OwnSkill",
    "PromptHook",
    "convert_file",
    "detect_hosts",
    "expand_folder",
    "is_convertible",
    "project_skill_folders",
    "render_listing",
    "user_skill_folders",
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
            "metier.hosts.host_lists": ("HostListing", "HostSkill", "ListedSkill", "render_listing"),
            "metier.hosts.listing_budgets": ("LISTING_BUDGETS", "Cut", "ListingBudget", "OwnSkill"),
            "metier.hosts.prompt_hooks": ("PROMPT_HOOKS", "PromptHook"),
            "metier.hosts.rule_files": ("ConvertedSkill", "convert_file", "is_convertible"),
            "metier.hosts.skill_places": ("project_skill_folders", "user_skill_folders"),
        },
    )
