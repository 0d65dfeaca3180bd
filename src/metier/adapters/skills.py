"""The skills of an agent, for any framework. Every adapter is built on this class.

A framework needs three things: a text for the system prompt, the tools that the model can call now, and answers to calls.
Each conversation has its own session, because its model has read only what is active there. Adapters name the conversation
if their framework identifies it, so one `Skills` can serve many.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from metier.catalog import Catalog
from metier.disclosure import Budget
from metier.errors import UsageError
from metier.extras import MissingExtraError
from metier.runtime import (
    Session,
    SessionOptions,
    SessionServices,
    Tool,
    ToolReply,
    Workspace,
    call_tool,
    in_thread,
    static_tools,
)
from metier.selection import Selection, Selector
from metier.sources import discover
from metier.spec import Json
from metier.values import replace

from .prompt import catalog_text, included_instructions, skills_to_include

__all__ = ["MissingSdkError", "Skills", "Source"]

Source = Session | Catalog | str | os.PathLike[str]
_MOST_OPEN = 1_000
"""Open sessions. Older ones are reopened from the store."""
_MOST_PAGES = 64


class MissingSdkError(MissingExtraError, ImportError):
    """The framework's package is not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"{extra} is not installed", extra=extra)

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.hint}"


class Skills:
    """The skills of an agent.

    With folders or a catalog it has its own sandbox and search, and serves any number of conversations. With a `Session`, such
    as `App().sessions.open()`, it serves that one conversation. With `auto_select`, skills that the local ranker is sure of are
    activated before the model sees a request.
    """

    def __init__(
        self, *skills: Source, services: SessionServices | None = None, options: SessionOptions | None = None,
        budget: Budget | None = None, auto_select: bool = False, general_tools: bool = False,
        workspace: Workspace | str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        """`general_tools` adds tools for files, commands and code, in the sandbox and in the workspace."""
        self.budget = budget or Budget()
        self.auto_select = auto_select
        self._given = _only_session(skills)
        if self._given is not None and (services or options or general_tools or workspace):
            raise UsageError("the session has services and options already", hint="give them to the Session")
        self.catalog = self._given.catalog if self._given else _catalog(skills)
        self._options = replace(options or SessionOptions(), general_tools=True) if general_tools else options
        self._workspace = workspace
        self._services = services or _default_services(self)
        self._pages: dict[tuple[str, tuple[str, ...]], tuple[Catalog, str]] = {}
        self._selected: dict[str, str] = {}
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._offered: dict[str, dict[str, Tool]] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, *skills: Skills | Source) -> Skills:
        """Returns the `Skills` that an adapter was given, or builds one from folders, a catalog or a session."""
        first = skills[0] if skills else None
        if isinstance(first, Skills) and len(skills) == 1:
            return first
        return cls(*(each for each in skills if not isinstance(each, Skills)))

    def session(self, conversation: str = "") -> Session:
        """The session of that conversation."""
        if self._given is not None:
            return self._given
        with self._lock:
            session = self._sessions.pop(conversation, None)
            if session is None:
                session = Session(
                    self.catalog, id=conversation or None, options=self._options, services=self._services,
                    workspace=self._workspace,
                )  # fmt: skip
            self._sessions[conversation] = session
            if len(self._sessions) > _MOST_OPEN:
                _, oldest = self._sessions.popitem(last=False)
                self._offered.pop(oldest.id, None)
                self._selected.pop(oldest.id, None)
                oldest.close()
        return session

    def use(self, catalog: Catalog) -> None:
        """Replaces the catalog, for example after a change on disk."""
        with self._lock:
            self.catalog = catalog
            sessions = [self._given] if self._given else list(self._sessions.values())
        for session in sessions:
            session.set_catalog(catalog)

    def instructions(self, conversation: str = "", *, request: str = "") -> str:
        """The text for the system prompt: the catalog, and the skills that the model did not load itself. Empty without skills.

        If the catalog does not fit the budget, it is ranked for the request.
        """
        session = self.session(conversation)
        if self.auto_select and request and self._selected.get(session.id) != request:
            self._selected[session.id] = request
            session.activate_for(request)
        return "\n\n".join(part for part in (self._page(session, request), *included_instructions(session)) if part)

    async def instructions_async(self, conversation: str = "", *, request: str = "") -> str:
        """Like `instructions`, but runs in a thread unless the text is cached."""
        session = self.session(conversation)
        page = self._pages.get((request, ()))
        if page is not None and page[0] is session.catalog and not self.auto_select and not skills_to_include(session):
            return page[1]
        return await in_thread(self.instructions, conversation, request=request)

    def tools(self, conversation: str = "") -> tuple[Tool, ...]:
        """The tools that the model can call now. They change with the active skills, so ask again before every request."""
        session = self.session(conversation)
        tools = session.tools()
        self._offered[session.id] = {tool.name: tool for tool in tools}
        return tools

    def static_tools(self, conversation: str = "") -> tuple[Tool, ...]:
        """Tools that do not depend on the active skills, for a host that lists tools only once."""
        session = self.session(conversation)
        tools = static_tools(session)
        self._offered[session.id] = {tool.name: tool for tool in tools}
        return tools

    async def call(self, name: str, arguments: str | Mapping[str, Json] | None, conversation: str = "") -> ToolReply:
        """Answers a call of the model. A mistake of the model is a reply, never an exception."""
        self.tool(name, conversation)
        return await call_tool(self._offered[self.session(conversation).id], name, arguments)

    def tool(self, name: str, conversation: str = "") -> Tool | None:
        """The tool of that name, as it was offered last or as it is now: one call may add the tool of the next."""
        session = self.session(conversation)
        offered = self._offered.get(session.id, {})
        if name not in offered:
            self.tools(conversation)
            offered = self._offered[session.id]
        return offered.get(name)

    def _page(self, session: Session, request: str) -> str:
        """The catalog. Cached, because it is needed before every request and ten thousand skills take a while."""
        # Skills whose instructions are included are not offered for loading.
        included = tuple(sorted(skills_to_include(session)))
        catalog, text = self._pages.get((request, included), (None, ""))
        if catalog is not session.catalog:
            if len(self._pages) >= _MOST_PAGES:
                self._pages.clear()
            text = catalog_text(session, self.budget, request, without=included)
            self._pages[request, included] = (session.catalog, text)
        return text


def _only_session(skills: Sequence[Source]) -> Session | None:
    sessions = [each for each in skills if isinstance(each, Session)]
    if sessions and len(skills) > 1:
        raise UsageError("a Session cannot be combined with other skills", hint="pass one Session, or folders")
    return sessions[0] if sessions else None


def _catalog(skills: Sequence[Source]) -> Catalog:
    catalogs = [each for each in skills if isinstance(each, Catalog)]
    if catalogs:
        if len(skills) > 1:
            raise UsageError("a Catalog cannot be combined with other skills", hint="pass one Catalog, or folders")
        return catalogs[0]
    folders = [os.fspath(each) for each in skills if not isinstance(each, Session | Catalog)]
    if not folders:
        raise UsageError("no skills were given", hint="pass folders with skills, a Catalog or a Session")
    return discover(*folders)


def _default_services(skills: Skills) -> SessionServices:
    # Imported here: a caller with services of its own does not pay for it.
    from metier.runtime import Runner

    return SessionServices(runner=Runner(), selector=_LateSelector(skills))


class _LateSelector:
    """Searches the current skills. The index is built on first use."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._built: tuple[Catalog, Selector] | None = None

    def select(
        self, query: str, limit: int | None = None, *, recent: Iterable[str] = (), prior: Mapping[str, float] | None = None
    ) -> Selection:
        from metier.sources import open_selector

        catalog = self._skills.catalog
        if self._built is None or self._built[0] is not catalog:
            self._built = (catalog, open_selector((entry for entry in catalog if entry.is_for_models), None))
        return self._built[1].select(query, limit, recent=recent, prior=prior)
