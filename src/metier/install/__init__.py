"""Installs skills from anywhere: refs, fetchers, git, transactions, the lock and the folders of other agents.

The use cases are `install`, `restore`, `update`, `outdated`, `remove` and `verify`; each works on a `SkillStore`.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clawhub_registry import ClawHubRegistry
    from .configured_plugins import ConfiguredPlugin, not_installed, read_plugins
    from .diff import diff_text
    from .export.export_files import ExportResult, export_folders
    from .export.export_formats import Export, ExportFormat, SkillToExport, export_skills
    from .fetch.cache import CacheSize, SkillCache
    from .fetch.cooldown import Cooldown, read_duration
    from .fetch.credentials import CLAWHUB, RegistrySource, SourceKind, grant_purpose, parse_header, read_sources
    from .fetch.dispatch import fetch_ref
    from .fetch.job import Access, Choose, FetchProgress, FetchStage, Progress, ignore_progress
    from .fetch.lock_fetcher import LockFetcher
    from .fetch.repository import FoundSkill, select_skills
    from .fetch.tree import read_folder
    from .history import SkillHistory, history_source, skill_history
    from .hooks import HookPlace, HookState, hook_command, plan_hook, plan_removal
    from .host_files import HostFileChange, apply_change, read_host_file
    from .installation import install, list_source, parse_source_ref, restore_and_install
    from .jsonc import JsoncError, read_jsonc, with_member
    from .lock.foreign_locks import ForeignLock, ForeignLockFormat, LockedRef, read_foreign_lock, render_foreign_lock
    from .lock.import_lock import import_lock
    from .lock.lock_file import REGISTRY_KINDS, Lock, LockEntry, Origin, publisher_of_origin
    from .lock.locked_packages import LockedPackage, LockedPackages
    from .lock.restore import restore
    from .lock.verify import LockCondition, LockVerdict, verify
    from .merge import MergeConflict, MergeReason
    from .oci_publish import OciPublishResult, publish_oci
    from .options import ConflictAction, ConflictAnswer, HiddenSkill, InstallOptions, InstallResult, VersionAction
    from .packages.environments import BuiltPackage, EnvironmentCache, EnvironmentsSize, PackageDownloads, PackageEnvironment
    from .packages.programs import NPM_HINT, UV_HINT, PackagePrograms
    from .packages.skill_packages import SkillPackages, SkillPackageStatus, package_changes
    from .prepare import AdvisedScan, PreparedSkill, cached_scan
    from .protocols import Fetched, FetchedSkill, Fetcher, FetchResult, NewestVersion, Scan
    from .refs.parsing import parse_ref
    from .refs.ref_types import (
        ArchiveFile,
        GitRef,
        HttpArchive,
        HttpSkillFile,
        LocalName,
        LocalPath,
        OciRef,
        Ref,
        RegistryRef,
        WellKnown,
    )
    from .refs.secrets import mask_command_secrets
    from .refs.source_rules import SourceList, SourceRules, is_source_pattern
    from .removal import remove
    from .sbom import SbomSkill, build_sbom
    from .skill_switches import SWITCH_FILES, SkillSwitches, plan_switch_off, read_switches
    from .source_scan import ScannedSkill, UnscannedSkill, scan_folder, scan_folders, scan_ref
    from .store import SkillStore, group_by_store, store_of
    from .targets.agent_visibility import AgentVisibility
    from .targets.agents_md import AgentsMd, write_agents_md
    from .targets.scope import NO_TARGETS, InstallMode, InstallScope, ScopeLevel, default_targets, read_targets
    from .transaction.doctor import Leftover, find_leftovers, repair
    from .transaction.steps import Edits, InstallStep, StepReason, Verb, changes
    from .trial import TrialSkill, try_skill
    from .updates import SkillUpdate, UpdateState, UpdateStatus, abort_updates, outdated, update

__all__ = [
    "CLAWHUB",
    "NO_TARGETS",
    "NPM_HINT",
    "REGISTRY_KINDS",
    "SWITCH_FILES",
    "UV_HINT",
    "Access",
    "AdvisedScan",
    "AgentVisibility",
    "AgentsMd",
    "ArchiveFile",
    "BuiltPackage",
    "CacheSize",
    "Choose",
    "ClawHubRegistry",
    "ConfiguredPlugin",
    "ConflictAction",
    "ConflictAnswer",
    "Cooldown",
    "Edits",
    "EnvironmentCache",
    "EnvironmentsSize",
    "Export",
    "ExportFormat",
    "ExportResult",
    "FetchProgress",
    "FetchResult",
    "FetchStage",
    "Fetched",
    "FetchedSkill",
    "Fetcher",
    "ForeignLock",
    "ForeignLockFormat",
    "FoundSkill",
    "GitRef",
    "HiddenSkill",
    "HookPlace",
    "HookState",
    "HostFileChange",
    "HttpArchive",
    "HttpSkillFile",
    "InstallMode",
    "InstallOptions",
    "InstallResult",
    "InstallScope",
    "InstallStep",
    "JsoncError",
    "Leftover",
    "LocalName",
    "LocalPath",
    "Lock",
    "LockCondition",
    "LockEntry",
    "LockFetcher",
    "LockVerdict",
    "LockedPackage",
    "LockedPackages",
    "LockedRef",
    "MergeConflict",
    "MergeReason",
    "NewestVersion",
    "OciPublishResult",
    "OciRef",
    "Origin",
    "PackageDownloads",
    "PackageEnvironment",
    "PackagePrograms",
    "PreparedSkill",
    "Progress",
    "Ref",
    "RegistryRef",
    "RegistrySource",
    "SbomSkill",
    "Scan",
    "ScannedSkill",
    "ScopeLevel",
    "SkillCache",
    "SkillHistory",
    "SkillPackageStatus",
    "SkillPackages",
    "SkillStore",
    "SkillSwitches",
    "SkillToExport",
    "SkillUpdate",
    "SourceKind",
    "SourceList",
    "SourceRules",
    "StepReason",
    "TrialSkill",
    "UnscannedSkill",
    "UpdateState",
    "UpdateStatus",
    "Verb",
    "VersionAction",
    "WellKnown",
    "abort_updates",
    "apply_change",
    "build_sbom",
    "cached_scan",
    "changes",
    "default_targets",
    "diff_text",
    "export_folders",
    "export_skills",
    "fetch_ref",
    "find_leftovers",
    "grant_purpose",
    "group_by_store",
    "history_source",
    "hook_command",
    "ignore_progress",
    "import_lock",
    "install",
    "is_source_pattern",
    "list_source",
    "mask_command_secrets",
    "not_installed",
    "outdated",
    "package_changes",
    "parse_header",
    "parse_ref",
    "parse_source_ref",
    "plan_hook",
    "plan_removal",
    "plan_switch_off",
    "publish_oci",
    "publisher_of_origin",
    "read_duration",
    "read_folder",
    "read_foreign_lock",
    "read_host_file",
    "read_jsonc",
    "read_plugins",
    "read_sources",
    "read_switches",
    "read_targets",
    "remove",
    "render_foreign_lock",
    "repair",
    "restore",
    "restore_and_install",
    "scan_folder",
    "scan_folders",
    "scan_ref",
    "select_skills",
    "skill_history",
    "store_of",
    "try_skill",
    "update",
    "verify",
    "with_member",
    "write_agents_md",
]

# A type checker reads the imports above.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.install.configured_plugins": (
                "ConfiguredPlugin",
                "not_installed",
                "read_plugins",
            ),
            "metier.install.diff": ("diff_text",),
            "metier.install.export.export_files": ("ExportResult", "export_folders"),
            "metier.install.export.export_formats": ("Export", "ExportFormat", "SkillToExport", "export_skills"),
            "metier.install.fetch.cache": (
                "CacheSize",
                "SkillCache",
            ),
            "metier.install.fetch.cooldown": (
                "Cooldown",
                "read_duration",
            ),
            "metier.install.clawhub_registry": ("ClawHubRegistry",),
            "metier.install.fetch.credentials": (
                "CLAWHUB",
                "RegistrySource",
                "SourceKind",
                "grant_purpose",
                "parse_header",
                "read_sources",
            ),
            "metier.install.fetch.dispatch": ("fetch_ref",),
            "metier.install.fetch.job": (
                "Access",
                "Choose",
                "FetchProgress",
                "FetchStage",
                "Progress",
                "ignore_progress",
            ),
            "metier.install.fetch.lock_fetcher": ("LockFetcher",),
            "metier.install.fetch.repository": (
                "FoundSkill",
                "select_skills",
            ),
            "metier.install.fetch.tree": ("read_folder",),
            "metier.install.history": ("SkillHistory", "history_source", "skill_history"),
            "metier.install.hooks": ("HookPlace", "HookState", "hook_command", "plan_hook", "plan_removal"),
            "metier.install.skill_switches": ("SWITCH_FILES", "SkillSwitches", "plan_switch_off", "read_switches"),
            "metier.install.host_files": ("HostFileChange", "apply_change", "read_host_file"),
            "metier.install.jsonc": ("JsoncError", "read_jsonc", "with_member"),
            "metier.install.installation": (
                "install",
                "list_source",
                "parse_source_ref",
                "restore_and_install",
            ),
            "metier.install.lock.foreign_locks": (
                "ForeignLock",
                "ForeignLockFormat",
                "LockedRef",
                "read_foreign_lock",
                "render_foreign_lock",
            ),
            "metier.install.lock.import_lock": ("import_lock",),
            "metier.install.lock.lock_file": (
                "REGISTRY_KINDS",
                "Lock",
                "LockEntry",
                "Origin",
                "publisher_of_origin",
            ),
            "metier.install.lock.locked_packages": (
                "LockedPackage",
                "LockedPackages",
            ),
            "metier.install.lock.restore": ("restore",),
            "metier.install.lock.verify": (
                "LockCondition",
                "LockVerdict",
                "verify",
            ),
            "metier.install.merge": (
                "MergeConflict",
                "MergeReason",
            ),
            "metier.install.options": (
                "ConflictAction",
                "ConflictAnswer",
                "VersionAction",
                "InstallOptions",
                "HiddenSkill",
                "InstallResult",
            ),
            "metier.install.packages.environments": (
                "BuiltPackage",
                "PackageEnvironment",
                "EnvironmentCache",
                "EnvironmentsSize",
                "PackageDownloads",
            ),
            "metier.install.packages.programs": ("NPM_HINT", "UV_HINT", "PackagePrograms"),
            "metier.install.packages.skill_packages": (
                "SkillPackageStatus",
                "SkillPackages",
                "package_changes",
            ),
            "metier.install.prepare": (
                "AdvisedScan",
                "PreparedSkill",
                "cached_scan",
            ),
            "metier.install.protocols": (
                "FetchResult",
                "Fetched",
                "FetchedSkill",
                "Fetcher",
                "NewestVersion",
                "Scan",
            ),
            "metier.install.refs.parsing": ("parse_ref",),
            "metier.install.oci_publish": ("OciPublishResult", "publish_oci"),
            "metier.install.sbom": ("SbomSkill", "build_sbom"),
            "metier.install.refs.ref_types": (
                "ArchiveFile",
                "GitRef",
                "HttpArchive",
                "HttpSkillFile",
                "LocalName",
                "LocalPath",
                "OciRef",
                "Ref",
                "RegistryRef",
                "WellKnown",
            ),
            "metier.install.refs.secrets": ("mask_command_secrets",),
            "metier.install.refs.source_rules": (
                "SourceList",
                "SourceRules",
                "is_source_pattern",
            ),
            "metier.install.removal": ("remove",),
            "metier.install.source_scan": (
                "ScannedSkill",
                "UnscannedSkill",
                "scan_folder",
                "scan_folders",
                "scan_ref",
            ),
            "metier.install.store": (
                "SkillStore",
                "group_by_store",
                "store_of",
            ),
            "metier.install.targets.agent_visibility": ("AgentVisibility",),
            "metier.install.targets.agents_md": (
                "AgentsMd",
                "write_agents_md",
            ),
            "metier.install.targets.scope": (
                "InstallMode",
                "InstallScope",
                "ScopeLevel",
                "NO_TARGETS",
                "default_targets",
                "read_targets",
            ),
            "metier.install.transaction.doctor": (
                "Leftover",
                "find_leftovers",
                "repair",
            ),
            "metier.install.transaction.steps": (
                "Edits",
                "InstallStep",
                "StepReason",
                "Verb",
                "changes",
            ),
            "metier.install.trial": ("TrialSkill", "try_skill"),
            "metier.install.updates": (
                "SkillUpdate",
                "UpdateState",
                "UpdateStatus",
                "abort_updates",
                "outdated",
                "update",
            ),
        },
    )
