"""Every sentence we say to a model."""

from .available import Listed, available_skills, skills_section

__all__ = ["Listed", "available_skills", "skills_section"]
