"""Edits of SKILL.md that keep every other byte as its author wrote it: mechanical repairs, a new description, a new name."""

from .edit import replace_description, replace_name
from .fix import FixResult, fix_skill_file
from .frontmatter import AppliedFix

__all__ = ["AppliedFix", "FixResult", "fix_skill_file", "replace_description", "replace_name"]
