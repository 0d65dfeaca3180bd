"""Skills on disk: discovery, bundled skills, the metadata cache, trust, watching, and the one way to write a file."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .atomic_write import (
        create_private_file,
        file_lock,
        make_private_folder,
        replace_bytes,
        replace_in_folder,
        replace_text,
    )
    from .discovery import DiscoveryLimits, build_catalog, discover
    from .disk_files import DiskFiles
    from .folder_hashes import hash_folder
    from .grants import Grant, Grants
    from .loader import SkillLoader, load_folder, unusable
    from .local_machine import LocalMachine, find_command, safe_environment
    from .metadata_cache import MetadataCache
    from .package_skills import PackageSkills, check_package, find_package_skills, package_folders
    from .project_parents import project_chain
    from .project_paths import inner_file, inner_folder, open_folder
    from .regular_file import open_regular, read_regular
    from .repository_folders import find_nested_folders
    from .selection_index import IndexedSkill, open_embeddings, open_selector, select
    from .skill_folders import SKIPPED_NAMES, FolderSearch, find_skill_folders
    from .skill_references import read_all_references
    from .skill_writer import SkillFix, delete_skill_folder, fix_skill_folder, refuse_bundled, write_skill_folder
    from .source_folders import BUNDLED, ProjectFolder, SourceFolder, standard_folders
    from .sqlite_file import DatabaseUse, delete_cache, open_cache, open_memory_database, open_sqlite
    from .trust import Trust
    from .watcher import CatalogChange, CatalogUpdate, ChangeKind, diff_catalogs, watch

__all__ = [
    "BUNDLED",
    "SKIPPED_NAMES",
    "CatalogChange",
    "CatalogUpdate",
    "ChangeKind",
    "DatabaseUse",
    "DiscoveryLimits",
    "DiskFiles",
    "FolderSearch",
    "Grant",
    "Grants",
    "IndexedSkill",
    "LocalMachine",
    "MetadataCache",
    "PackageSkills",
    "ProjectFolder",
    "SkillFix",
    "SkillLoader",
    "SourceFolder",
    "Trust",
    "build_catalog",
    "check_package",
    "create_private_file",
    "delete_cache",
    "delete_skill_folder",
    "diff_catalogs",
    "discover",
    "file_lock",
    "find_command",
    "find_nested_folders",
    "find_package_skills",
    "find_skill_folders",
    "fix_skill_folder",
    "hash_folder",
    "inner_file",
    "inner_folder",
    "load_folder",
    "make_private_folder",
    "open_cache",
    "open_embeddings",
    "open_folder",
    "open_memory_database",
    "open_regular",
    "open_selector",
    "open_sqlite",
    "package_folders",
    "project_chain",
    "read_all_references",
    "read_regular",
    "refuse_bundled",
    "replace_bytes",
    "replace_in_folder",
    "replace_text",
    "safe_environment",
    "select",
    "standard_folders",
    "unusable",
    "watch",
    "write_skill_folder",
]

# A cached listing needs `skill_folders` and `sqlite_file`, and `local_machine` if a skill needs a command. No other module is
# imported with it.
if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.sources.atomic_write": (
                "create_private_file",
                "file_lock",
                "make_private_folder",
                "replace_bytes",
                "replace_in_folder",
                "replace_text",
            ),
            "metier.sources.discovery": ("DiscoveryLimits", "build_catalog", "discover"),
            "metier.sources.disk_files": ("DiskFiles",),
            "metier.sources.folder_hashes": ("hash_folder",),
            "metier.sources.project_paths": ("inner_file", "inner_folder", "open_folder"),
            "metier.sources.loader": ("SkillLoader", "load_folder", "unusable"),
            "metier.sources.local_machine": ("LocalMachine", "find_command", "safe_environment"),
            "metier.sources.metadata_cache": ("MetadataCache",),
            "metier.sources.regular_file": ("open_regular", "read_regular"),
            "metier.sources.selection_index": ("IndexedSkill", "open_embeddings", "open_selector", "select"),
            "metier.sources.repository_folders": ("find_nested_folders",),
            "metier.sources.package_skills": ("PackageSkills", "check_package", "find_package_skills", "package_folders"),
            "metier.sources.project_parents": ("project_chain",),
            "metier.sources.skill_folders": ("SKIPPED_NAMES", "FolderSearch", "find_skill_folders"),
            "metier.sources.skill_references": ("read_all_references",),
            "metier.sources.skill_writer": (
                "SkillFix",
                "delete_skill_folder",
                "fix_skill_folder",
                "refuse_bundled",
                "write_skill_folder",
            ),
            "metier.sources.source_folders": ("BUNDLED", "ProjectFolder", "SourceFolder", "standard_folders"),
            "metier.sources.sqlite_file": ("DatabaseUse", "delete_cache", "open_cache", "open_memory_database", "open_sqlite"),
            "metier.sources.grants": ("Grant", "Grants"),
            "metier.sources.trust": ("Trust",),
            "metier.sources.watcher": ("CatalogChange", "CatalogUpdate", "ChangeKind", "diff_catalogs", "watch"),
        },
    )
