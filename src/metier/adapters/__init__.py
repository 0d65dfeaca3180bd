"""Skills in every framework. Each speaks to its SDK in one file and needs one extra; all stand on the same neutral tools.

from metier.adapters.openai import OpenAISkills
from metier.adapters.openai_agents import with_skills
from metier.adapters.claude import SkillsWorkspace
...
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .skills import MissingSdkError, Skills
    from .weakincentives import AgentSkillsSection, SkillMetadata

__all__ = ["AgentSkillsSection", "MissingSdkError", "SkillMetadata", "Skills"]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.adapters.skills": ("MissingSdkError", "Skills"),
            "metier.adapters.weakincentives": ("AgentSkillsSection", "SkillMetadata"),
        },
    )
