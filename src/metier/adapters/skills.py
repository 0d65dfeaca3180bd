"""What every adapter stands on: skills as an agent uses them, without a word about any framework.

A framework needs three things: a text for the system prompt, the tools that the model can call now, and somebody who
answers a call. A conversation has its own session, because what is active is what *its* model has read: adapters name
the conversation where their framework tells which one it is, and an agent that serves many shares one `Skills`.
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from metier.catalog import Catalog
from metier.disclosure import Budget
from metier.errors import NotFoundError, UnavailableError, UsageError
from metier.runtime import (
    BadArgumentsError,
    Session,
    SessionOptions,
    SessionServices,
    Tool,
    ToolReply,
    error_text,
    in_thread,
    static_tools,
)
from metier.selection import Selection, Selector
from metier.sources import discover
from metier.spec import Json

from .prompt import activated_elsewhere, catalog_text, instructions_activated_elsewhere

__all__ = ["MissingSdkError", "Skills", "Source", "arguments_of"]

Source = Session | Catalog | str | os.PathLike[str]
_MOST_OPEN = 1_000
"""Sessions kept at hand. Older ones are made again from their rows in the store."""
_MOST_PAGES = 64


class MissingSdkError(UnavailableError, ImportError):
    """The framework's package is not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"{extra} is not installed", hint=f"pip install 'metier[{extra}]'", retryable=False)

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.hint}"


class Skills:
    """The skills of an agent.

    Given folders or a catalog it brings a sandbox for scripts and a search of its own, and serves any number of
    conversations. Given a `Session`, such as `App().session()`, it serves the one conversation that this is. With
    `auto_select`, what the local ranker is sure of is active before the model sees a request.
    """

    def __init__(
        self, *skills: Source, services: SessionServices | None = None, options: SessionOptions | None = None,
        budget: Budget | None = None, auto_select: bool = False,
    ) -> None:  # fmt: skip
        self.budget = budget or Budget()
        self.auto_select = auto_select
        self._given = _only_session(skills)
        if self._given is not None and (services or options):
            raise UsageError("the session has services and options already", hint="give them to the Session")
        self.catalog = self._given.catalog if self._given else _catalog(skills)
        self._options = options
        self._services = services or _default_services(self)
        self._pages: dict[str, tuple[Catalog, str]] = {}
        self._selected: dict[str, str] = {}
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._offered: dict[str, dict[str, Tool]] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, *skills: Skills | Source) -> Skills:
        """As an adapter is given them."""
        first = skills[0] if skills else None
        if isinstance(first, Skills) and len(skills) == 1:
            return first
        return cls(*(each for each in skills if not isinstance(each, Skills)))

    def session(self, conversation: str = "") -> Session:
        """Of that conversation; the session store keeps what it knows."""
        if self._given is not None:
            return self._given
        with self._lock:
            session = self._sessions.pop(conversation, None)
            if session is None:
                session = Session(self.catalog, id=conversation or None, options=self._options, services=self._services)
            self._sessions[conversation] = session
            if len(self._sessions) > _MOST_OPEN:
                _, oldest = self._sessions.popitem(last=False)
                self._offered.pop(oldest.id, None)
                self._selected.pop(oldest.id, None)
                oldest.close()
        return session

    def use(self, catalog: Catalog) -> None:
        """Go on with another catalog, as after a change on disk."""
        with self._lock:
            self.catalog = catalog
            sessions = [self._given] if self._given else list(self._sessions.values())
        for session in sessions:
            session.set_catalog(catalog)

    def instructions(self, conversation: str = "", *, request: str = "") -> str:
        """For the system prompt: the catalog, and skills that somebody else than the model activated. Empty without skills.

        Where the catalog does not fit the budget it is ranked for the request.
        """
        session = self.session(conversation)
        if self.auto_select and request and self._selected.get(session.id) != request:
            self._selected[session.id] = request
            session.activate_for(request)
        return "\n\n".join(part for part in (self._page(session, request), *instructions_activated_elsewhere(session)) if part)

    async def instructions_soon(self, conversation: str = "", *, request: str = "") -> str:
        """The same for a loop that has other things to do: in a thread, unless all of it is at hand."""
        session = self.session(conversation)
        page = self._pages.get(request)
        if page is not None and page[0] is session.catalog and not self.auto_select and not activated_elsewhere(session):
            return page[1]
        return await in_thread(self.instructions, conversation, request=request)

    def tools(self, conversation: str = "") -> tuple[Tool, ...]:
        """What the model can call now. Ask again before every request: tools come and go with the skills."""
        session = self.session(conversation)
        tools = session.tools()
        self._offered[session.id] = {tool.name: tool for tool in tools}
        return tools

    def standing_tools(self, conversation: str = "") -> tuple[Tool, ...]:
        """For a host that asks for tools only once: the same ones from the start, whatever is active."""
        session = self.session(conversation)
        tools = static_tools(session)
        self._offered[session.id] = {tool.name: tool for tool in tools}
        return tools

    async def call(self, name: str, arguments: str | Mapping[str, Json] | None, conversation: str = "") -> ToolReply:
        """Answer a call of the model. What it did wrong is told in the reply, never raised."""
        try:
            given = arguments_of(arguments)
        except BadArgumentsError as error:
            return ToolReply(text=error_text(error), ok=False, code=error.code)
        tool = self.tool(name, conversation)
        if tool is None:
            there = ", ".join(sorted(self._offered[self.session(conversation).id]))
            missing = NotFoundError(f"there is no tool {name!r} now", hint=f"there are {there}" if there else "call no tool")
            return ToolReply(text=error_text(missing), ok=False, code=missing.code)
        return await tool.call(given)

    def tool(self, name: str, conversation: str = "") -> Tool | None:
        """The tool of that name: as it was offered last, else as it is now, since one call may bring the next one's tool."""
        session = self.session(conversation)
        offered = self._offered.get(session.id, {})
        if name not in offered:
            self.tools(conversation)
            offered = self._offered[session.id]
        return offered.get(name)

    def _page(self, session: Session, request: str) -> str:
        """The catalog. Kept, because it is asked for before every request and ten thousand skills take a while."""
        catalog, text = self._pages.get(request, (None, ""))
        if catalog is not session.catalog:
            if len(self._pages) >= _MOST_PAGES:
                self._pages.clear()
            text = catalog_text(session, self.budget, request)
            self._pages[request] = (session.catalog, text)
        return text


def arguments_of(arguments: str | Mapping[str, Json] | None) -> dict[str, Json]:
    """The arguments of a call as an object, or BadArguments: some models send none, some send broken JSON."""
    if not isinstance(arguments, str):
        return dict(arguments or {})
    try:
        read = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        raise BadArgumentsError(f"the arguments are not JSON: {error}", hint="send one JSON object") from None
    if not isinstance(read, dict):
        raise BadArgumentsError("the arguments are not an object", hint="send one JSON object")
    return read


def _only_session(skills: Sequence[Source]) -> Session | None:
    sessions = [each for each in skills if isinstance(each, Session)]
    if sessions and len(skills) > 1:
        raise UsageError("a session has its skills already", hint="give either one Session, or folders")
    return sessions[0] if sessions else None


def _catalog(skills: Sequence[Source]) -> Catalog:
    catalogs = [each for each in skills if isinstance(each, Catalog)]
    if catalogs:
        if len(skills) > 1:
            raise UsageError("a catalog cannot be merged with more skills", hint="give one Catalog, or folders")
        return catalogs[0]
    folders = [os.fspath(each) for each in skills if not isinstance(each, Session | Catalog)]
    if not folders:
        raise UsageError("no skills were given", hint="give folders with skills, a Catalog or a Session")
    for folder in folders:
        if not os.path.isdir(folder):
            raise NotFoundError(f"there is no folder {folder!r}", hint="give the folder that holds the skills' folders")
    return discover(*folders)


def _default_services(skills: Skills) -> SessionServices:
    # Imported here: a caller with services of its own does not pay for it.
    from metier.runtime import Runner

    return SessionServices(runner=Runner(), selector=_LateSelector(skills))


class _LateSelector:
    """Searches what the skills are now; the index is built by the first question."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._built: tuple[Catalog, Selector] | None = None

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        from metier.sources import open_selector

        catalog = self._skills.catalog
        if self._built is None or self._built[0] is not catalog:
            self._built = (catalog, open_selector((entry for entry in catalog if entry.is_for_models), None))
        return self._built[1].select(query, limit, recent=recent)
