"""The conversation of a terminal or a pipe: its engine, and what the user chose for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from metier.agents import AgentEngine, SlashCommand
from metier.app import App
from metier.cli.core.terminal import Terminal
from metier.errors import NotFoundError
from metier.runtime import ApprovalHook, Session, Workspace
from metier.values import dataclass

__all__ = ["Conversation", "SlashResult", "agent_of", "conversation_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashResult:
    """The result of one input."""

    lines: tuple[str, ...] = ()
    markdown: str = ""
    """Printed after the lines; a terminal renders it."""
    message: str = ""
    """To be sent to the model."""
    quit: bool = False


class Conversation:
    def __init__(
        self, app: App, *, agent: str = "", model: str | None = None, session: str | None = None,
        variables: Mapping[str, str] | None = None, parameters: Mapping[str, str] | None = None,
        commands: Mapping[str, SlashCommand] | None = None, warnings: tuple[str, ...] = (),
        workspace: Workspace | None = None,
    ) -> None:  # fmt: skip
        self.app, self.agent, self.model = app, agent, model
        self.workspace = workspace
        self.variables = dict(variables or {})
        self.parameters = dict(parameters or {})
        self.commands = commands or {}
        self.warnings = warnings
        self.terminal = Terminal()
        self.approve: ApprovalHook | None = None
        self._session = session
        self._engine: AgentEngine | None = None
        self._name = ""
        self._last_session: Session | None = None
        self._last_skills: tuple[str, ...] = ()
        self._building = threading.Lock()

    @property
    def engine(self) -> AgentEngine:
        """Built on first use, once, because the prompt is shown before and a background thread loads it."""
        with self._building:
            if self._engine is None:
                self._engine = self.app.conversations.engine(
                    self._session, agent=self.agent, model=self.model, approve=self.approve, variables=self.variables,
                    parameters=self.parameters, reload_skills=True, workspace=self.workspace,
                )  # fmt: skip
                self._session, self._name = self._engine.id, self._engine.model_name
            return self._engine

    @property
    def started(self) -> AgentEngine | None:
        return self._engine

    @property
    def session(self) -> str | None:
        """The id of the conversation, once there is one."""
        return self._session

    @property
    def model_name(self) -> str:
        return self._engine.model_name if self._engine is not None else self._name

    @property
    def last_session(self) -> Session | None:
        """The session of the engine, also after it was closed."""
        return self._engine.session if self._engine is not None else self._last_session

    @property
    def last_skills(self) -> tuple[str, ...]:
        """The skills that were active in the last turn."""
        return self._engine.session.active_names if self._engine is not None else self._last_skills

    async def close(self) -> None:
        if self._engine is not None:
            self._last_session, self._last_skills = self.last_session, self.last_skills
            await self._engine.close()
            self._engine = None

    async def switch(self, session: str | None, *, agent: str | None = None) -> None:
        await self.close()
        self._session = session
        self.agent = self.agent if agent is None else agent


def agent_of(app: App, conversation: str | None) -> str:
    """Returns the agent of a stored conversation, if it still exists."""
    stored = app.conversations.store
    if not conversation or stored.complete_id(conversation) is None:
        return ""
    agent = stored.get(conversation).agent
    return agent if agent in app.conversations.agents.names() else ""


def conversation_id(app: App, typed: str | None, *, latest: bool) -> str | None:
    """Returns the id of the conversation to continue: the latest, or the one that the user typed, which may be new."""
    store = app.conversations.store
    if latest:
        recent = store.recent(1)
        if not recent:
            raise NotFoundError("no conversation to continue", hint="start one with `metier chat`")
        return recent[0].id
    # An empty id is an unset variable in a shell script, not a conversation.
    return (store.complete_id(typed) or typed) if typed else None
