"""metier gives any agent the right skill at the right moment, safely.

The names of `__all__` are the public API, with those that each package exports. They load on first use. The library reads
no configuration, except through `App` and the functions named after a use case (`install_skills`, `publish_skill`, ...).
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metier.app import (
        App,
        install_skills,
        publish_skill,
        remove_skills,
        scan_skill,
        search_skills,
        update_skills,
    )
    from metier.catalog import Catalog, Entry, Source, State
    from metier.disclosure import Disclosure, PromptOptions, render_prompt
    from metier.errors import (
        AmbiguousError,
        ConfigError,
        ConflictError,
        InvalidNameError,
        InvalidSkillError,
        MetierError,
        NotFoundError,
        RefusedError,
        SkillNotFoundError,
        UnavailableError,
        UsageError,
    )
    from metier.runtime import Activation, Outcome, Session, Tool
    from metier.scan import ScanReport, ScanVerdict
    from metier.selection import Match, Selection, Selector
    from metier.sources import SkillLoader, discover, load_folder, open_selector, select
    from metier.spec import Manifest, Problem, Report, Severity, Skill, SkillName, Verdict, check, load, parse

__version__ = "0.2.0"

__all__ = [
    "Activation",
    "AmbiguousError",
    "App",
    "Catalog",
    "ConfigError",
    "ConflictError",
    "Disclosure",
    "Entry",
    "InvalidNameError",
    "InvalidSkillError",
    "Manifest",
    "Match",
    "MetierError",
    "NotFoundError",
    "Outcome",
    "Problem",
    "PromptOptions",
    "RefusedError",
    "Report",
    "ScanReport",
    "ScanVerdict",
    "Selection",
    "Selector",
    "Session",
    "Severity",
    "Skill",
    "SkillLoader",
    "SkillName",
    "SkillNotFoundError",
    "Source",
    "State",
    "Tool",
    "UnavailableError",
    "UsageError",
    "Verdict",
    "__version__",
    "check",
    "discover",
    "install_skills",
    "load",
    "load_folder",
    "open_selector",
    "parse",
    "publish_skill",
    "remove_skills",
    "render_prompt",
    "scan_skill",
    "search_skills",
    "select",
    "update_skills",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.app": (
                "App", "install_skills", "publish_skill", "remove_skills", "scan_skill", "search_skills",
                "update_skills",
            ),
            "metier.catalog": ("Catalog", "Entry", "Source", "State"),
            "metier.disclosure": ("Disclosure", "PromptOptions", "render_prompt"),
            "metier.errors": (
                "AmbiguousError", "ConfigError", "ConflictError", "InvalidNameError", "InvalidSkillError", "MetierError",
                "NotFoundError", "RefusedError", "SkillNotFoundError", "UnavailableError", "UsageError",
            ),
            "metier.runtime": ("Activation", "Outcome", "Session", "Tool"),
            "metier.scan": ("ScanReport", "ScanVerdict"),
            "metier.selection": ("Match", "Selection", "Selector"),
            "metier.sources": ("SkillLoader", "discover", "load_folder", "open_selector", "select"),
            "metier.spec": (
                "Manifest", "Problem", "Report", "Severity", "Skill", "SkillName", "Verdict", "check", "load", "parse",
            ),
        },
    )  # fmt: skip
