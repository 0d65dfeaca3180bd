"""What an app knows of agents and conversations. Everything is imported where it is used: a listing needs none of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metier.agents import AgentEngine, AgentStore, ConversationStore, ModelChoice
    from metier.runtime import ApprovalHook

    from . import App

__all__ = ["Conversations"]


class Conversations:
    """A part of App."""

    @cached_property
    def agents(self) -> AgentStore:
        from metier.agents import AgentStore

        return AgentStore(self._app.home / "agents")

    @cached_property
    def chats(self) -> ConversationStore:
        from metier.agents import ConversationStore

        return ConversationStore(self._app.home / "chats.sqlite")

    def model(self, name: str | None = None, *, base_url: str = "", key_variable: str = "") -> ModelChoice | None:
        """The model of that name, or of the settings; None when neither says one."""
        from .engines import model_of

        return model_of(self._app, name, base_url=base_url, key_variable=key_variable)

    def engine(
        self, id: str | None = None, *, agent: str = "", model: str | None = None, approve: ApprovalHook | None = None,  # noqa: A002
        variables: Mapping[str, str] | None = None, kept: bool = True,
    ) -> AgentEngine:  # fmt: skip
        """A conversation with an agent of that name, or with none; gone on with by its id."""
        from .engines import engine_of

        return engine_of(self._app, id, agent=agent, model=model, approve=approve, variables=variables, kept=kept)

    def resolve(self, ref: str) -> tuple[str, ...]:
        """The skills on this machine that a ref stands for, by name; SkillNotFoundError when there is none. Asks no network."""
        from .engines import resolved

        return resolved(self._app, ref)

    @property
    def _app(self) -> App:
        return cast("App", self)
