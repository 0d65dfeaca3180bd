"""Skills for the Claude Agent SDK, in two ways.

    with SkillsWorkspace("skills") as workspace:                     # as files, which Claude Code reads itself
        query(prompt=…, options=workspace.options(ClaudeAgentOptions(…)))

    query(prompt=…, options=with_skills(ClaudeAgentOptions(…), "skills"))    # as tools, with our sandbox

As files, Claude Code reads the skills directly; hooks tell the session what was read, and the user's policy decides about the
`allowed-tools` of a skill. As tools, the skills are an MCP server in this process.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from metier.errors import MetierError, UsageError
from metier.runtime import ActivatedBy, PolicyVerdict, ResourceRead, Tool, in_thread, parse_patterns, tool_request
from metier.spec import SKILL_FILE, is_name
from metier.values import replace

from .chat_completions import append_text
from .prompt import included_instructions
from .skills import MissingSdkError, Skills, Source
from .skills_folder import SkillMount, SkillsFolder

try:
    from claude_agent_sdk import (
        CanUseTool,
        ClaudeAgentOptions,
        HookMatcher,
        McpSdkServerConfig,
        PermissionResultAllow,
        PermissionResultDeny,
        ToolPermissionContext,
    )
    from mcp import types
    from mcp.server import Server
except ImportError:
    raise MissingSdkError("claude") from None

# Any: inputs of tools and hooks are JSON of Claude Code's making.

__all__ = ["SkillsWorkspace", "skills_server", "with_skills"]

Permission = PermissionResultAllow | PermissionResultDeny
_WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_READS = ("Read", "Glob", "Grep", "LS")
_ARGUMENTS = ("command", "file_path", "notebook_path", "path", "url", "pattern", "query", "skill")
"""The inputs of Claude Code's tools that a permission is about."""


class SkillsWorkspace:
    """The skills of one conversation, mounted read-only where Claude Code finds them, until it is closed.

    Without `folder`, that is a temporary folder outside of your project.
    """

    def __init__(
        self, *skills: Skills | Source, folder: str | os.PathLike[str] | None = None, how: SkillMount = SkillMount.COPY,
        conversation: str = "",
    ) -> None:  # fmt: skip
        self.skills = Skills.of(*skills)
        self.session = self.skills.session(conversation or uuid4().hex)
        # Claude Code accepts only names that follow the standard; other skills are available as tools.
        usable = [entry for entry in self.session.skills.for_models if is_name(entry.name)]
        self.files = SkillsFolder(usable, folder=folder, how=how)

    def options(self, own: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """Returns your options with the skills. Your settings stay: your hooks run too, and your `can_use_tool` decides what
        neither policy nor skill decides."""
        own = own or ClaudeAgentOptions()
        if own.setting_sources is not None and "project" not in own.setting_sources:
            raise UsageError(
                "Claude Code finds skills in a folder only with the setting source 'project'",
                hint="add it to setting_sources, or use with_skills, which needs no files",
            )
        hooks = dict(own.hooks or {})
        hooks["PreToolUse"] = [*hooks.get("PreToolUse", ()), HookMatcher(hooks=[self._before(own)])]
        after = HookMatcher(matcher="Read|Skill|Bash", hooks=[self._after_reading])
        hooks["PostToolUse"] = [*hooks.get("PostToolUse", ()), after]
        listed = own.skills if own.skills == "all" else [*(own.skills or ()), *self.files.names]
        text = "\n\n".join(included_instructions(self.session))
        return replace(
            own, add_dirs=[*own.add_dirs, self.files.folder], skills=listed, hooks=hooks,
            can_use_tool=self._permission_hook(own),
            system_prompt=_append(own.system_prompt, text),
        )  # fmt: skip

    def close(self) -> None:
        self.files.close()
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _before(self, own: ClaudeAgentOptions) -> Callable[[Any, str | None, Any], Awaitable[Any]]:
        """Denies writes to skills, and grants `allowed-tools` of a skill only by policy.

        Claude Code grants the `allowed-tools` of an invoked skill. Here the user's policy decides: what it leaves open is
        asked, unless the agent's own options allow it.
        """
        granted = parse_patterns(own.allowed_tools)

        async def before(call: Any, _: str | None, __: Any) -> Any:
            tool, given = call["tool_name"], call["tool_input"]
            argument = _argument(given)
            if tool in _WRITES and self.files.find(argument, cwd=call.get("cwd", "")) is not None:
                return _decision("deny", "skills are mounted read-only")
            decision = await in_thread(self.session.permissions.check, tool, argument)
            if decision.verdict is PolicyVerdict.DENY:
                return _decision("deny", decision.rule)
            # A rule of the policy applies only to what an active skill requests.
            is_open = decision.verdict is PolicyVerdict.ASK and decision.rule.startswith("policy.")
            if is_open and not any(pattern.grants(tool_request(tool, argument)) for pattern in granted):
                return _decision("ask", decision.rule)
            return {}

        return before

    async def _after_reading(self, call: Any, _: str | None, __: Any) -> Any:
        notes = [text for name, path in self._read(call) if (text := await in_thread(self._notice, name, path))]
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "\n".join(notes)}} if notes else {}

    def _read(self, call: Any) -> list[tuple[str, str]]:
        """The files of skills that a call has read."""
        given, cwd = call["tool_input"], call.get("cwd", "")
        match call["tool_name"]:
            case "Skill":
                name = str(given.get("skill") or "").lstrip("/")
                return [(name, SKILL_FILE)] if name in self.files.names else []
            case "Read":
                found = self.files.find(str(given.get("file_path") or ""), cwd=cwd)
                return [found] if found else []
            case _:
                command = str(given.get("command") or "")
                return [(name, SKILL_FILE) for name in self.files.names if f"skills/{name}/{SKILL_FILE}" in command]

    def _notice(self, name: str, path: str) -> str:
        """Records the read in the session. Returns a note for the model."""
        session = self.session
        if path != SKILL_FILE:
            size = os.path.getsize(self.files.path_of(name, path))
            session.mark_used(name)
            session.emit(ResourceRead(session=session.id, timestamp=session.services.clock(), name=name, path=path, size=size))
            return ""
        try:
            left = session.activate(name, by=ActivatedBy.MODEL).evicted
        except MetierError:
            # It was read all the same; the session has emitted the reason why it is not active.
            return ""
        return f"Unloaded to make room: {', '.join(left)}. Do not follow its instructions any longer." if left else ""

    def _permission_hook(self, own: ClaudeAgentOptions) -> CanUseTool:
        async def can_use_tool(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> Permission:
            argument = _argument(given)
            if tool in _READS and self.files.find(argument, cwd=os.fspath(own.cwd or "")) is not None:
                return PermissionResultAllow()
            decision = await in_thread(self.session.permissions.check, tool, argument)
            if decision.verdict is PolicyVerdict.ALLOW:
                return PermissionResultAllow()
            if decision.verdict is PolicyVerdict.ASK and own.can_use_tool is not None:
                return await own.can_use_tool(tool, given, context)
            return PermissionResultDeny(message=f"{tool} is not allowed here: {decision.rule}")

        return can_use_tool


def _argument(given: Any) -> str:
    return next((str(given[key]) for key in _ARGUMENTS if given.get(key)), "")


def _decision(what: str, why: str) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": what, "permissionDecisionReason": why}}


def with_skills(own: ClaudeAgentOptions, *skills: Skills | Source, conversation: str = "") -> ClaudeAgentOptions:
    """Returns your options with the skills as tools. Needs no files and no settings; scripts run in our sandbox."""
    if not isinstance(own.mcp_servers, dict):
        raise UsageError("mcp_servers is a file", hint="pass the servers as a dict, so that one can be added")
    server = skills_server(*skills, conversation=conversation)
    if not server["instance"].instructions:
        return own
    servers = {**own.mcp_servers, "skills": server}
    if own.can_use_tool is None:
        return replace(own, mcp_servers=servers, allowed_tools=[*own.allowed_tools, "mcp__skills"])
    return replace(own, mcp_servers=servers, can_use_tool=_allow_prefix("mcp__skills__", own.can_use_tool))


def _allow_prefix(ours: str, ask: CanUseTool) -> CanUseTool:
    """Allows our tools, because the session decides about them. The SDK would warn about an entry in `allowed_tools`."""

    async def can_use_tool(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> Permission:
        return PermissionResultAllow() if tool.startswith(ours) else await ask(tool, given, context)

    return can_use_tool


def skills_server(*skills: Skills | Source, conversation: str = "") -> McpSdkServerConfig:
    """The skills as an MCP server in this process, for `ClaudeAgentOptions.mcp_servers`. Its instructions are the catalog."""
    shared = Skills.of(*skills)
    conversation = conversation or uuid4().hex

    async def listed(_: object, __: object) -> types.ListToolsResult:
        # Claude Code lists tools only once, so they must not depend on the active skills.
        return types.ListToolsResult(tools=[_mcp_tool(tool) for tool in await in_thread(shared.static_tools, conversation)])

    async def called(_: object, call: types.CallToolRequestParams) -> types.CallToolResult:
        reply = await shared.call(call.name, call.arguments, conversation)
        return types.CallToolResult(content=[types.TextContent(type="text", text=reply.text)], is_error=not reply.ok)

    text = shared.instructions(conversation) or None
    server: Server[Any] = Server("skills", instructions=text, on_list_tools=listed, on_call_tool=called)
    return McpSdkServerConfig(type="sdk", name="skills", instance=server)


def _mcp_tool(tool: Tool) -> types.Tool:
    # Otherwise Claude Code may hide it until the model searches for tools.
    shown = {"anthropic/alwaysLoad": True}
    return types.Tool.model_validate(
        {"name": tool.name, "description": tool.description, "inputSchema": tool.schema, "_meta": shown}
    )


def _append(own: Any, text: str) -> Any:
    """Appends text to a system prompt in any of its forms."""
    if not text:
        return own
    match own:
        case None:
            return text
        case str():
            return append_text(own, text)
        case {"type": "preset"}:
            return {**own, "append": append_text(own.get("append") or "", text).strip()}
        case {"type": "custom"}:
            return {**own, "prompt": append_text(own["prompt"], text)}
    raise UsageError(
        "text cannot be added to a system prompt from a file", hint="pass it as text, or activate no skill beforehand"
    )
