"""The toolsets of one session: asked about once, loaded once, and gone with their skill."""

from __future__ import annotations

from collections.abc import Callable

from metier.errors import RefusedError
from metier.spec import Skill

from .permissions import Asker, Permissions
from .toolsets import Loaded, Offered, load_toolsets

__all__ = ["Toolsets"]


class Toolsets:
    def __init__(self, permissions: Permissions, refused: Callable[[str, RefusedError], None]) -> None:
        self._permissions = permissions
        self._refused = refused
        self._loaded: dict[str, Loaded] = {}

    def load(self, skill: Skill, asker: Asker, *, ask: bool = False) -> tuple[str, ...]:
        """Load what the skill declares, if that is allowed; returns what the user should know. Nothing is loaded twice."""
        declared = skill.manifest.extensions.toolsets
        known = self._loaded.get(skill.name)
        if not declared or (known is not None and (known.finder is not None or not ask)):
            return ()
        try:
            self._permissions.authorise_toolsets(declared, asker, ask=ask)
        except RefusedError as refused:
            self._refused(skill.name, refused)
            # Remembered, so that asking for the tools of every turn does not ask about these again.
            self._loaded[skill.name] = Loaded(problems=(f"{refused}; {refused.hint}",))
        else:
            self._loaded[skill.name] = load_toolsets(skill)
        return self._loaded[skill.name].problems

    def offered(self, name: str) -> tuple[Offered, ...]:
        loaded = self._loaded.get(name)
        return loaded.offered if loaded is not None else ()

    def unload(self, name: str) -> None:
        loaded = self._loaded.pop(name, None)
        if loaded is not None:
            loaded.unload()

    def unload_all(self) -> None:
        for name in tuple(self._loaded):
            self.unload(name)
