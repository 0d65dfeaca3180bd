"""The standard: one SKILL.md and its folder, as values. Pure: it is handed bytes and never opens a file."""

from .codes import CODES, Code, Verdict
from .document import Document, split
from .extensions import Extensions, Parameter, ParameterType, Toolset, Triggers
from .files import SKILL_FILE, FileEntry, Files, MemoryFiles, resource_path
from .manifest import STANDARD_KEYS, Manifest
from .name import SkillName, is_name
from .parse import Parsed, parse
from .problem import Problem, Report, Severity
from .skill import RESOURCE_LIMIT, Skill, check, load
from .tokens import estimated_tokens
from .tools import read_tools, write_tools
from .yaml import Json

__all__ = [
    "CODES",
    "RESOURCE_LIMIT",
    "SKILL_FILE",
    "STANDARD_KEYS",
    "Code",
    "Document",
    "Extensions",
    "FileEntry",
    "Files",
    "Json",
    "Manifest",
    "MemoryFiles",
    "Parameter",
    "ParameterType",
    "Parsed",
    "Problem",
    "Report",
    "Severity",
    "Skill",
    "SkillName",
    "Toolset",
    "Triggers",
    "Verdict",
    "check",
    "estimated_tokens",
    "is_name",
    "load",
    "parse",
    "read_tools",
    "resource_path",
    "split",
    "write_tools",
]
