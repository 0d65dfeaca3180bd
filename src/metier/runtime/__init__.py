"""A conversation with skills: activate them, read their files, run their scripts in a sandbox, and report events.

session = Session(metier.discover("skills"))
session.activate("fill-forms").text       # the instructions that a model gets
for tool in session.tools(): ...          # the tools that it can call

This is the public face of the package. `metier.runtime.sandbox` is the face of the sandbox alone.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .activation import ActivatedBy, Activation, ActivationMode, ActiveSkill
    from .async_bridge import in_thread, wait_for
    from .containers.engine import ContainerOptions, EngineKind
    from .containers.runner import ContainerRunner
    from .database import Database, SqlConnection, is_address, open_database
    from .events import (
        ActionRefused,
        ActionTaken,
        Event,
        EventBus,
        ResourceRead,
        ScriptFinished,
        ScriptStarted,
        SelectionMade,
        SkillActivated,
        SkillDeactivated,
        SkillsChanged,
        SkillShadowed,
        Subscriber,
        ToolCalled,
    )
    from .health import HealthCheck, check_health
    from .network.connections import Connection, ConnectionDecision, MaskedSecret, SecretPlace
    from .operations import Operation, OperationKind, Tracer
    from .policy.approvals import Approval, Approvals, FileApprovals, MemoryApprovals, StoredApprovals
    from .policy.capability_limits import CapabilityList
    from .policy.paths import PathContext
    from .policy.patterns import ToolPattern, ToolRequest, tool_request
    from .policy.permissions import (
        ApprovalAnswer,
        ApprovalHook,
        Permissions,
        Policy,
        PolicyDecision,
        PolicyVerdict,
        Question,
        Requester,
        parse_patterns,
        workspace_write_request,
    )
    from .policy.sql_approvals import SqlApprovals
    from .sandbox.isolation import Guard, Isolation, IsolationLevel
    from .script_run import Limits, Outcome, OutputFile, ScriptRun, check_output_paths, printable, write_outputs
    from .scripts.interpreters import Interpreters
    from .scripts.packages import PackageMount, PackagePlan, PackageProvider, refuse_denied_packages
    from .scripts.run_script import ScriptRequest
    from .scripts.runner import Runner, check_argument_limits
    from .scripts.script import is_script
    from .secrets.names import check_secret_name, is_secret_name
    from .secrets.needs import NeededVariable, needed_variables
    from .secrets.store import SecretStore
    from .secrets.stored_secret import MemorySecrets, SecretSource, StoredSecret
    from .secrets.vaults import VaultKind
    from .selection_prior import Corrections, SelectionPrior
    from .session import Session, activated_by
    from .session_options import (
        LazyRunner,
        LazySelector,
        RunnerKind,
        ScriptChecker,
        ScriptRunner,
        SessionOptions,
        SessionServices,
        SkillSelector,
    )
    from .skill_access import FindCapabilities, RemoteFiles, approval_digest
    from .store import MemorySessionStore, SessionStore, SqlSessionStore, StoredSession, complete_id, find_session
    from .store_schema import SqlDialect, StoreSchema
    from .telemetry import Telemetry, otlp_telemetry, provider_telemetry
    from .tool_errors import BadArgumentsError, NotActiveError, OverBudgetError, error_text
    from .tools.general.general_tools import general_tools
    from .tools.schema import Schema, object_schema
    from .tools.script_tools import connection_notes, script_reply
    from .tools.session_tools import read_file_text, static_tools
    from .tools.tool import Tool, ToolFunction, ToolReply
    from .tools.tool_calls import UnknownToolError, call_tool, error_reply, read_arguments
    from .usage import Allowance, Budgets, PastAction, PastActionKind, Usage, UsageRow, UsageSummary, summarize_usage
    from .workspace import AppliedChanges, FileChange, FileChangeKind, Workspace, WorkspaceMount, remove_abandoned_layers

_EXPORTS = {
    "metier.runtime.workspace": (
        "AppliedChanges",
        "FileChange",
        "FileChangeKind",
        "Workspace",
        "WorkspaceMount",
        "remove_abandoned_layers",
    ),
    "metier.runtime.policy.capability_limits": ("CapabilityList",),
    "metier.runtime.skill_access": (
        "FindCapabilities",
        "RemoteFiles",
        "approval_digest",
    ),
    "metier.runtime.activation": (
        "Activation",
        "ActiveSkill",
        "ActivatedBy",
        "ActivationMode",
    ),
    "metier.runtime.async_bridge": (
        "wait_for",
        "in_thread",
    ),
    "metier.runtime.database": (
        "Database",
        "SqlConnection",
        "is_address",
        "open_database",
    ),
    "metier.runtime.events": (
        "EventBus",
        "SkillDeactivated",
        "Event",
        "ActionRefused",
        "ActionTaken",
        "ResourceRead",
        "ScriptFinished",
        "ScriptStarted",
        "SelectionMade",
        "SkillShadowed",
        "SkillsChanged",
        "SkillActivated",
        "Subscriber",
        "ToolCalled",
    ),
    "metier.runtime.operations": (
        "Operation",
        "OperationKind",
        "Tracer",
    ),
    "metier.runtime.health": (
        "HealthCheck",
        "check_argument_limits",
        "check_health",
    ),
    "metier.runtime.network.connections": (
        "Connection",
        "ConnectionDecision",
        "MaskedSecret",
        "SecretPlace",
    ),
    "metier.runtime.secrets.names": ("check_secret_name", "is_secret_name"),
    "metier.runtime.secrets.needs": ("NeededVariable", "needed_variables"),
    "metier.runtime.secrets.store": ("SecretStore",),
    "metier.runtime.secrets.stored_secret": ("MemorySecrets", "SecretSource", "StoredSecret"),
    "metier.runtime.secrets.vaults": ("VaultKind",),
    "metier.runtime.policy.approvals": (
        "Approval",
        "Approvals",
        "FileApprovals",
        "MemoryApprovals",
        "StoredApprovals",
    ),
    "metier.runtime.policy.sql_approvals": ("SqlApprovals",),
    "metier.runtime.policy.paths": ("PathContext",),
    "metier.runtime.policy.patterns": (
        "ToolPattern",
        "ToolRequest",
        "tool_request",
    ),
    "metier.runtime.policy.permissions": (
        "Requester",
        "ApprovalAnswer",
        "ApprovalHook",
        "PolicyDecision",
        "Permissions",
        "Policy",
        "Question",
        "Requester",
        "PolicyVerdict",
        "parse_patterns",
        "workspace_write_request",
    ),
    "metier.runtime.containers.engine": ("ContainerOptions", "EngineKind"),
    "metier.runtime.containers.runner": ("ContainerRunner",),
    "metier.runtime.sandbox.isolation": (
        "Guard",
        "Isolation",
        "IsolationLevel",
    ),
    "metier.runtime.script_run": (
        "Limits",
        "Outcome",
        "OutputFile",
        "ScriptRun",
        "printable",
        "check_output_paths",
        "write_outputs",
    ),
    "metier.runtime.scripts.interpreters": ("Interpreters",),
    "metier.runtime.scripts.packages": ("PackageMount", "PackagePlan", "PackageProvider", "refuse_denied_packages"),
    "metier.runtime.scripts.run_script": ("ScriptRequest",),
    "metier.runtime.scripts.runner": ("Runner", "check_argument_limits"),
    "metier.runtime.scripts.script": ("is_script",),
    "metier.runtime.session": (
        "Session",
        "activated_by",
    ),
    "metier.runtime.session_options": (
        "SessionServices",
        "LazyRunner",
        "LazySelector",
        "SessionOptions",
        "RunnerKind",
        "ScriptChecker",
        "ScriptRunner",
        "SkillSelector",
    ),
    "metier.runtime.selection_prior": ("Corrections", "SelectionPrior"),
    "metier.runtime.store_schema": ("SqlDialect", "StoreSchema"),
    "metier.runtime.store": (
        "MemorySessionStore",
        "SessionStore",
        "SqlSessionStore",
        "StoredSession",
        "complete_id",
        "find_session",
    ),
    "metier.runtime.telemetry": (
        "Telemetry",
        "otlp_telemetry",
        "provider_telemetry",
    ),
    "metier.runtime.tool_errors": (
        "BadArgumentsError",
        "NotActiveError",
        "OverBudgetError",
        "error_text",
    ),
    "metier.runtime.tools.general.general_tools": ("general_tools",),
    "metier.runtime.tools.schema": (
        "Schema",
        "object_schema",
    ),
    "metier.runtime.tools.script_tools": ("connection_notes", "script_reply"),
    "metier.runtime.tools.session_tools": (
        "read_file_text",
        "static_tools",
    ),
    "metier.runtime.tools.tool": (
        "ToolReply",
        "Tool",
        "ToolFunction",
    ),
    "metier.runtime.tools.tool_calls": ("UnknownToolError", "call_tool", "error_reply", "read_arguments"),
    "metier.runtime.usage": (
        "Allowance",
        "Budgets",
        "PastAction",
        "PastActionKind",
        "Usage",
        "UsageRow",
        "UsageSummary",
        "summarize_usage",
    ),
}
__all__ = [
    "ActionRefused",
    "ActionTaken",
    "ActivatedBy",
    "Activation",
    "ActivationMode",
    "ActiveSkill",
    "Allowance",
    "AppliedChanges",
    "Approval",
    "ApprovalAnswer",
    "ApprovalHook",
    "Approvals",
    "BadArgumentsError",
    "Budgets",
    "CapabilityList",
    "Connection",
    "ConnectionDecision",
    "ContainerOptions",
    "ContainerRunner",
    "Corrections",
    "Database",
    "EngineKind",
    "Event",
    "EventBus",
    "FileApprovals",
    "FileChange",
    "FileChangeKind",
    "FindCapabilities",
    "Guard",
    "HealthCheck",
    "Interpreters",
    "Isolation",
    "IsolationLevel",
    "LazyRunner",
    "LazySelector",
    "Limits",
    "MaskedSecret",
    "MemoryApprovals",
    "MemorySecrets",
    "MemorySessionStore",
    "NeededVariable",
    "NotActiveError",
    "Operation",
    "OperationKind",
    "Outcome",
    "OutputFile",
    "OverBudgetError",
    "PackageMount",
    "PackagePlan",
    "PackageProvider",
    "PastAction",
    "PastActionKind",
    "PathContext",
    "Permissions",
    "Policy",
    "PolicyDecision",
    "PolicyVerdict",
    "Question",
    "RemoteFiles",
    "Requester",
    "ResourceRead",
    "Runner",
    "RunnerKind",
    "Schema",
    "ScriptChecker",
    "ScriptFinished",
    "ScriptRequest",
    "ScriptRun",
    "ScriptRunner",
    "ScriptStarted",
    "SecretPlace",
    "SecretSource",
    "SecretStore",
    "SelectionMade",
    "SelectionPrior",
    "Session",
    "SessionOptions",
    "SessionServices",
    "SessionStore",
    "SkillActivated",
    "SkillDeactivated",
    "SkillSelector",
    "SkillShadowed",
    "SkillsChanged",
    "SqlApprovals",
    "SqlConnection",
    "SqlDialect",
    "SqlSessionStore",
    "StoreSchema",
    "StoredApprovals",
    "StoredSecret",
    "StoredSession",
    "Subscriber",
    "Telemetry",
    "Tool",
    "ToolCalled",
    "ToolFunction",
    "ToolPattern",
    "ToolReply",
    "ToolRequest",
    "Tracer",
    "UnknownToolError",
    "Usage",
    "UsageRow",
    "UsageSummary",
    "VaultKind",
    "Workspace",
    "WorkspaceMount",
    "activated_by",
    "approval_digest",
    "call_tool",
    "check_argument_limits",
    "check_health",
    "check_output_paths",
    "check_secret_name",
    "complete_id",
    "connection_notes",
    "error_reply",
    "error_text",
    "find_session",
    "general_tools",
    "in_thread",
    "is_address",
    "is_script",
    "is_secret_name",
    "needed_variables",
    "object_schema",
    "open_database",
    "otlp_telemetry",
    "parse_patterns",
    "printable",
    "provider_telemetry",
    "read_arguments",
    "read_file_text",
    "refuse_denied_packages",
    "remove_abandoned_layers",
    "script_reply",
    "static_tools",
    "summarize_usage",
    "tool_request",
    "wait_for",
    "workspace_write_request",
    "write_outputs",
]

if not TYPE_CHECKING:  # a type checker reads the imports above and finds a misspelled name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
