"""The standard: one SKILL.md and its folder, as values. Pure: it is handed bytes and never opens a file."""

from .codes import CODES, Code, Verdict
from .document import Document, split_document
from .extensions import Extensions, Parameter, ParameterType, Toolset, Triggers
from .fields import SkillName, is_name
from .files import SKILL_FILE, FileEntry, Files, MemoryFiles, resource_path
from .manifest import STANDARD_KEYS, Manifest
from .parse import ParseResult, parse
from .report import Problem, Report, Severity
from .skill import MAX_RESOURCE_BYTES, Skill, check, load
from .text import estimate_tokens
from .tools import format_tools, parse_tools
from .yaml import Json

__all__ = [
    "CODES",
    "MAX_RESOURCE_BYTES",
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
    "ParseResult",
    "Problem",
    "Report",
    "Severity",
    "Skill",
    "SkillName",
    "Toolset",
    "Triggers",
    "Verdict",
    "check",
    "estimate_tokens",
    "format_tools",
    "is_name",
    "load",
    "parse",
    "parse_tools",
    "resource_path",
    "split_document",
]
