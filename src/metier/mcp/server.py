"""The MCP server: the Skills extension, plain resources, tools and prompts, all over the current snapshot.

It uses the SDK's low-level server, because the answers are plain JSON already and the high-level one would validate them again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from metier import __version__
from metier.errors import MetierError, UsageError
from metier.runtime import ActivatedBy, Tool, in_thread
from metier.spec import Json, Manifest

from .general_tools import GeneralTools
from .notifications import ChangeNotifier
from .published_skill import EXTENSION
from .resources import TEMPLATE, read, resource
from .tools import OpenSession
from .watcher import SkillWatcher

__all__ = ["PAGE", "SkillServer", "page"]

_INSTRUCTIONS = (
    "Skills are instructions for tasks, written by people who know them. Before a task that a skill may cover, call "
    "search_skills; load what fits with load_skill and follow it. Paths in a skill are relative to its folder."
)
# Nothing may be cached: a file may change at any time, and a notification announces it.
_FRESH: Mapping[str, Json] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_ABOUT = {
    "search_skills": types.ToolAnnotations(title="Search skills", read_only_hint=True, open_world_hint=False),
    "load_skill": types.ToolAnnotations(title="Load a skill", read_only_hint=True, open_world_hint=False),
    "read_skill_resource": types.ToolAnnotations(title="Read a file of a skill", read_only_hint=True, open_world_hint=False),
    "run_skill_script": types.ToolAnnotations(
        title="Run a script of a skill", read_only_hint=False, destructive_hint=False, open_world_hint=False
    ),
}
Context = Any  # Any: the SDK's ServerRequestContext, whose type parameters say nothing here


class GetSkillParams(types.RequestParams):
    uri: str


class ReadDirectoryParams(types.PaginatedRequestParams):
    uri: str


class SkillServer:
    """An SDK server over a SkillWatcher. `server` and `options` are what a transport runs."""

    def __init__(self, watcher: SkillWatcher, open_session: OpenSession, general: GeneralTools | None = None) -> None:
        self.watcher, self._open_session, self._general = watcher, open_session, general
        self.notifier = ChangeNotifier()
        watcher.on_change(self.notifier)
        self.server: Server[Any] = Server(
            "metier", version=__version__, title="metier", instructions=_INSTRUCTIONS,
            on_list_tools=self._tools, on_call_tool=self._call,
            on_list_resources=self._resources, on_list_resource_templates=_templates, on_read_resource=self._read,
            on_list_prompts=self._prompts, on_get_prompt=self._prompt,
            on_subscriptions_listen=self.notifier.listen,
        )  # fmt: skip
        self.server.extensions = {EXTENSION: {"directoryRead": True}}
        self.server.add_request_handler("skills/list", types.PaginatedRequestParams, _handler(self._list))
        self.server.add_request_handler("skills/get", GetSkillParams, _handler(self._get))
        self.server.add_request_handler("resources/directory/read", ReadDirectoryParams, _handler(self._directory))
        self.server.add_notification_handler("notifications/initialized", types.NotificationParams, self.notifier.greeted)
        if general is not None:
            changed = "notifications/roots/list_changed"
            self.server.add_notification_handler(changed, types.NotificationParams, general.roots_changed)

    @property
    def options(self) -> InitializationOptions:
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return self.server.create_initialization_options(changes)

    async def _list(self, params: types.PaginatedRequestParams) -> dict[str, Json]:
        served = (await self.watcher.now()).catalog
        part, after = page(served.listed, params.cursor, lambda skill: skill.name)
        return _page({"skills": [skill.entry for skill in part]}, after)

    async def _get(self, params: GetSkillParams) -> dict[str, Json]:
        served = (await self.watcher.now()).catalog
        skill = await in_thread(served.skill, params.uri)
        return {"skill": skill.entry, **_FRESH}

    async def _directory(self, params: ReadDirectoryParams) -> dict[str, Json]:
        served = (await self.watcher.now()).catalog
        part, after = page(served.directory(params.uri), params.cursor, lambda child: str(child["name"]))
        return _page({"resources": list(part)}, after)

    async def _resources(self, _: Context, params: types.PaginatedRequestParams | None) -> Any:
        served = (await self.watcher.now()).catalog
        part, after = _with_client_errors(page)(served.listed, params.cursor if params else None, lambda skill: skill.name)
        return _page({"resources": [resource(skill) for skill in part]}, after)

    async def _read(self, _: Context, params: types.ReadResourceRequestParams) -> Any:
        served = (await self.watcher.now()).catalog
        uri = str(params.uri)
        content = await in_thread(_with_client_errors(read, uri=uri), served, uri)
        return {"contents": [content], **_FRESH}

    async def _tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        general = await self._general.list(context.session) if self._general is not None else ()
        tools = (*(await self.watcher.now()).tools, *general)
        return types.ListToolsResult(tools=[_wire_tool(tool) for tool in tools])

    async def _call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if self._general is not None and self._general.offers(params.name):
            return await self._general.call(context.session, params)
        for tool in (await self.watcher.now()).tools:
            if tool.name == params.name:
                reply = await tool.call(params.arguments)
                return types.CallToolResult(content=[types.TextContent(text=reply.text)], is_error=not reply.ok)
        raise MCPError(code=types.INVALID_PARAMS, message=f"unknown tool {params.name!r}")

    async def _prompts(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        people = (await self.watcher.now()).catalog.for_people
        part, after = _with_client_errors(page)(sorted(people), params.cursor if params else None, str)
        return types.ListPromptsResult(prompts=[_wire_prompt(people[name]) for name in part], next_cursor=after)

    async def _prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        served = (await self.watcher.now()).catalog
        manifest = served.for_people.get(params.name)
        if manifest is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"unknown prompt {params.name!r}")
        given = dict(params.arguments or {})
        words = given.pop("arguments", "")

        def activated() -> str:
            session = self._open_session(served.catalog)
            return session.activate(params.name, by=ActivatedBy.USER, arguments=words, parameters=given).text

        text = await in_thread(_with_client_errors(activated))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=manifest.description, messages=[message])


def _handler(work: Callable[[Any], Awaitable[dict[str, Json]]]) -> Callable[[Context, Any], Awaitable[dict[str, Json]]]:
    """Wraps a method of the extension as an SDK handler; errors become INVALID_PARAMS."""

    async def answer(_: Context, params: Any) -> dict[str, Json]:
        try:
            return await work(params)
        except (MetierError, UnicodeDecodeError) as error:
            raise _invalid(error, getattr(params, "uri", None)) from None

    return answer


def _with_client_errors(function: Callable[..., Any], *, uri: str | None = None) -> Callable[..., Any]:
    """Wraps a function so that its errors reach the client as INVALID_PARAMS."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (MetierError, UnicodeDecodeError) as error:
            raise _invalid(error, uri) from None

    return call


def _invalid(error: Exception, uri: str | None) -> MCPError:
    hint = getattr(error, "hint", "")
    data = ({"uri": uri} if uri else {}) | ({"hint": hint} if hint else {})
    return MCPError(code=types.INVALID_PARAMS, message=str(error), data=data or None)


def _page(answer: dict[str, Json], after: str | None) -> dict[str, Json]:
    return {**answer, **_FRESH, **({"nextCursor": after} if after else {})}


async def _templates(_: Context, __: types.PaginatedRequestParams | None) -> Any:
    return {"resourceTemplates": [dict(TEMPLATE)], **_FRESH}


def _wire_tool(tool: Tool) -> types.Tool:
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=_ABOUT.get(tool.name))


def _wire_prompt(manifest: Manifest) -> types.Prompt:
    extensions = manifest.extensions
    arguments: Sequence[types.PromptArgument] = [
        types.PromptArgument(
            name="arguments", description=extensions.argument_hint or "What to do, in your words.", required=False
        ),
        *(
            types.PromptArgument(name=each.name, description=each.description or None, required=each.default is None)
            for each in extensions.parameters
        ),
    ]
    return types.Prompt(name=manifest.name, description=manifest.description, arguments=list(arguments))


PAGE = 250
_MARK = "after "
T = TypeVar("T")


def page(
    items: Sequence[T], cursor: str | None, key: Callable[[T], str], *, size: int = PAGE
) -> tuple[Sequence[T], str | None]:
    """The items after the cursor, which are sorted by their key, and the cursor of the page after that."""
    start = 0
    if cursor is not None:
        last = _decode(cursor)
        start = next((place for place, item in enumerate(items) if key(item) > last), len(items))
    part = items[start : start + size]
    return part, _encode(key(part[-1])) if start + size < len(items) else None


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(f"{_MARK}{text}".encode("utf-8", "surrogateescape")).decode("ascii")


def _decode(cursor: str) -> str:
    try:
        text = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8", "surrogateescape")
    except (UnicodeError, binascii.Error):
        text = ""
    if not text.startswith(_MARK):
        raise UsageError(f"{cursor[:80]!r} is not a cursor of this list", hint="start again without one")
    return text.removeprefix(_MARK)
