"""metier gives any agent the right skill at the right moment, safely."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metier.catalog import Catalog, Entry, State
    from metier.disclosure import render_prompt
    from metier.errors import MetierError, SkillNotFoundError
    from metier.runtime import Session
    from metier.selection import Selection, Selector
    from metier.sources import SkillLoader, discover, load_folder, open_selector, select
    from metier.spec import Manifest, Problem, Report, Severity, Skill, Verdict, check, load, parse

__version__ = "0.1.0"

__all__ = [
    "Catalog",
    "Entry",
    "Manifest",
    "MetierError",
    "Problem",
    "Report",
    "Selection",
    "Selector",
    "Session",
    "Severity",
    "Skill",
    "SkillLoader",
    "SkillNotFoundError",
    "State",
    "Verdict",
    "__version__",
    "check",
    "discover",
    "load",
    "load_folder",
    "open_selector",
    "parse",
    "render_prompt",
    "select",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.catalog": ("Catalog", "Entry", "State"),
            "metier.disclosure": ("render_prompt",),
            "metier.errors": ("MetierError", "SkillNotFoundError"),
            "metier.runtime": ("Session",),
            "metier.selection": ("Selection", "Selector"),
            "metier.sources": ("SkillLoader", "discover", "load_folder", "open_selector", "select"),
            "metier.spec": ("Manifest", "Problem", "Report", "Severity", "Skill", "Verdict", "check", "load", "parse"),
        },
    )
