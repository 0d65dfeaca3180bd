"""Agents and the conversations with them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metier.errors import SkillNotFoundError
from metier.spec import is_name
from metier.values import dataclass

if TYPE_CHECKING:
    from metier.agents import AgentEngine, AgentStore, SqlConversationStore
    from metier.config import Settings
    from metier.models import ModelChoice
    from metier.runtime import ApprovalHook, Workspace

    from .installation import Installation
    from .paths import Paths
    from .sessions import Sessions
    from .skills import LocalSkills

__all__ = ["Conversations"]


@dataclass(frozen=True, kw_only=True)
class Conversations:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    skills: LocalSkills
    sessions: Sessions
    installation: Installation

    @cached_property
    def agents(self) -> AgentStore:
        from metier.agents import AgentStore

        return AgentStore(self.paths.at("agents"))

    @cached_property
    def store(self) -> SqlConversationStore:
        from metier.agents import SqlConversationStore

        return SqlConversationStore(self.sessions.shared_database or self.paths.at("conversations.sqlite"))

    def model(self, name: str | None = None, *, base_url: str = "", key_variable: str = "") -> ModelChoice | None:
        """Returns the model of that name, or the one of the settings; None when there is neither."""
        from metier.models import choose_model

        settings = self.settings
        chosen = name or settings.path("model.name")
        if not chosen:
            return None
        # The settings' server serves bare names; a name with its provider goes to that provider.
        server = base_url or ((settings.path("model.base_url") or "") if not name or ":" not in name else "")
        variable = key_variable or settings.path("model.key_variable") or ""
        return choose_model(chosen, base_url=server, key_variable=variable, environment=self.environment)

    def engine(
        self, id: str | None = None, *, agent: str = "", model: str | None = None, approve: ApprovalHook | None = None,  # noqa: A002
        variables: Mapping[str, str] | None = None, kept: bool = True, reload_skills: bool = False,
        parameters: Mapping[str, str] | None = None, workspace: Workspace | None = None,
    ) -> AgentEngine:  # fmt: skip
        """Opens a conversation, with the agent of that name if one is given; an existing one is resumed by its id.

        With `reload_skills`, each turn uses the skills as they are on disk then. `parameters` are values for the parameters
        of skills: `NAME` for every skill that has it, or `SKILL.NAME`.
        """
        from .engine import build_engine

        return build_engine(
            self, id, agent=agent, model=model, approve=approve, variables=variables, kept=kept, reload_skills=reload_skills,
            parameters=parameters, workspace=workspace,
        )  # fmt: skip

    def resolve(self, ref: str) -> tuple[str, ...]:
        """Returns the names of the local skills that a ref stands for. Uses no network."""
        catalog = self.skills.catalog
        if is_name(ref):
            return (catalog[ref].name,)
        # Imported here: an agent with plain names needs none of it.
        from metier.install import parse_ref

        aliases = tuple({"r9s", *(source.name for source in self.installation.registries.sources)})
        text = parse_ref(ref, aliases=aliases).text
        locked = [entry for store in self.installation.every_store() for entry in store.lock()]
        names = dict.fromkeys(entry.name for entry in locked if entry.asked == text and entry.name in catalog)
        if not names:
            raise SkillNotFoundError(ref, hint=f"install it with `metier skill install {ref}`")
        return tuple(names)
