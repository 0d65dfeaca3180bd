"""Skills in other agent frameworks: one module and one extra for each, all over the same `Skills`.

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
    from .skills_folder import SkillMount, SkillsFolder
    from .weakincentives import AgentSkillsSection, SkillMetadata, SkippedSkill

_EXPORTS = {
    "metier.adapters.skills": ("MissingSdkError", "Skills"),
    "metier.adapters.skills_folder": ("SkillMount", "SkillsFolder"),
    "metier.adapters.weakincentives": ("AgentSkillsSection", "SkillMetadata", "SkippedSkill"),
}
__all__ = ["AgentSkillsSection", "MissingSdkError", "SkillMetadata", "SkillMount", "Skills", "SkillsFolder", "SkippedSkill"]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
