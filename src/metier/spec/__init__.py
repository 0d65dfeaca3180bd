"""The Agent Skills standard: one SKILL.md and its folder, as values. Pure: it is given bytes and never opens a file."""

from metier.lazy import lazy_exports

from .capabilities import (
    ANY,
    CAPABILITY_KINDS,
    COMPUTED,
    EVERYDAY_COMMANDS,
    Capabilities,
    clean_capability,
    package_name,
)
from .codes import CODES, Code, Verdict, apply_verdict, problem
from .document import MAX_FRONTMATTER_BYTES, Document, split_document
from .extensions import (
    EXTENSION_KEYS,
    EXTENSION_SPELLINGS,
    Extensions,
    Parameter,
    ParameterType,
    Toolset,
    Triggers,
    is_file_of,
    toolset_problem,
)
from .fields import SkillName, format_tools, is_name, parse_tools
from .files import SKILL_FILE, FileEntry, Files, Link, LinkedFiles, MemoryFiles, OwnFiles, resource_path, too_large_error
from .manifest import STANDARD_KEYS, Manifest, manifest_from
from .parse import ParseResult, parse
from .report import Problem, Report, Severity
from .rules import MAX_DESCRIPTION_LENGTH
from .skill import MAX_RESOURCE_BYTES, MAX_SKILL_FILE_BYTES, Skill, check, load
from .text import estimate_tokens, first_sentence, script_summary
from .yaml import Json, MapNode, read_yaml, to_json, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .advice import advise, find_overlaps, lint
    from .fast_yaml import FastFields, fast_fields
    from .host_pattern import DEFAULT_PORTS, HostPattern, clean_host, host_problem, parse_host
    from .render import render_skill_file
    from .repairs import AppliedFix, FixResult, fix_skill_file, replace_description, replace_name
    from .script_packages import (
        DeclaredPackages,
        InlineMetadata,
        PackageEcosystem,
        declared_packages,
        inline_metadata,
        packages_of_script,
        script_files,
    )
    from .templates import SKILL_TEMPLATES, SkillTemplate, new_skill_files
    from .variables import read_variables
    from .versions import Version, VersionRange, is_version, newest_version

__all__ = [
    "ANY",
    "CAPABILITY_KINDS",
    "CODES",
    "COMPUTED",
    "DEFAULT_PORTS",
    "EVERYDAY_COMMANDS",
    "EXTENSION_KEYS",
    "EXTENSION_SPELLINGS",
    "MAX_DESCRIPTION_LENGTH",
    "MAX_FRONTMATTER_BYTES",
    "MAX_RESOURCE_BYTES",
    "MAX_SKILL_FILE_BYTES",
    "SKILL_FILE",
    "SKILL_TEMPLATES",
    "STANDARD_KEYS",
    "AppliedFix",
    "Capabilities",
    "Code",
    "DeclaredPackages",
    "Document",
    "Extensions",
    "FastFields",
    "FileEntry",
    "Files",
    "FixResult",
    "HostPattern",
    "InlineMetadata",
    "Json",
    "Link",
    "LinkedFiles",
    "Manifest",
    "MapNode",
    "MemoryFiles",
    "OwnFiles",
    "PackageEcosystem",
    "Parameter",
    "ParameterType",
    "ParseResult",
    "Problem",
    "Report",
    "Severity",
    "Skill",
    "SkillName",
    "SkillTemplate",
    "Toolset",
    "Triggers",
    "Verdict",
    "Version",
    "VersionRange",
    "advise",
    "apply_verdict",
    "check",
    "clean_capability",
    "clean_host",
    "declared_packages",
    "estimate_tokens",
    "fast_fields",
    "find_overlaps",
    "first_sentence",
    "fix_skill_file",
    "format_tools",
    "host_problem",
    "inline_metadata",
    "is_file_of",
    "is_name",
    "is_version",
    "lint",
    "load",
    "manifest_from",
    "new_skill_files",
    "newest_version",
    "package_name",
    "packages_of_script",
    "parse",
    "parse_host",
    "parse_tools",
    "problem",
    "read_variables",
    "read_yaml",
    "render_skill_file",
    "replace_description",
    "replace_name",
    "resource_path",
    "script_files",
    "script_summary",
    "split_document",
    "to_json",
    "to_text",
    "too_large_error",
    "toolset_problem",
]

if not TYPE_CHECKING:  # most commands only read skills: they neither lint nor fix them, nor compare versions
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.spec.advice": ("advise", "find_overlaps", "lint"),
            "metier.spec.fast_yaml": ("FastFields", "fast_fields"),
            "metier.spec.host_pattern": ("DEFAULT_PORTS", "HostPattern", "clean_host", "host_problem", "parse_host"),
            "metier.spec.render": ("render_skill_file",),
            "metier.spec.repairs": ("AppliedFix", "FixResult", "fix_skill_file", "replace_description", "replace_name"),
            "metier.spec.script_packages": (
                "DeclaredPackages",
                "InlineMetadata",
                "PackageEcosystem",
                "declared_packages",
                "inline_metadata",
                "packages_of_script",
                "script_files",
            ),
            "metier.spec.templates": ("SKILL_TEMPLATES", "SkillTemplate", "new_skill_files"),
            "metier.spec.variables": ("read_variables",),
            "metier.spec.versions": ("Version", "VersionRange", "is_version", "newest_version"),
        },
    )
