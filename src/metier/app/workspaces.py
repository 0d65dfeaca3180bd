"""The user's folders that scripts may work in: which are allowed, and the changes that wait to be applied."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metier.errors import ConfigError, NotFoundError, RefusedError
from metier.sources import file_lock, read_regular, replace_text
from metier.values import dataclass

if TYPE_CHECKING:
    from metier.config import Settings
    from metier.runtime import PolicyVerdict, Workspace

    from .paths import Paths

__all__ = ["KeptLayer", "Workspaces"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLayer:
    """Changes of an earlier run that wait to be applied."""

    id: str
    folder: str
    skills: tuple[str, ...] = ()
    created: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Workspaces:
    paths: Paths
    settings: Settings

    @property
    def read_policy(self) -> PolicyVerdict:
        return self._verdict("read")

    @property
    def write_policy(self) -> PolicyVerdict:
        return self._verdict("write")

    @cached_property
    def answers(self) -> dict[str, bool]:
        """The user's answers, by folder: may scripts work in it?"""
        try:
            rows = json.loads(read_regular(self._file))["folders"]
            return {str(folder): bool(answer) for folder, answer in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"invalid list of workspaces: {error}", file=self._file, hint="delete the file and answer again"
            ) from error

    def remember(self, folder: str, *, allowed: bool) -> None:
        with file_lock(self._file):
            self.__dict__.pop("answers", None)
            self.answers[os.path.realpath(folder)] = allowed
            replace_text(self._file, json.dumps({"version": 1, "folders": self.answers}, indent=2, sort_keys=True) + "\n")

    def is_too_wide(self, folder: str) -> bool:
        """Returns True for the home folder, and for folders that contain it."""
        home = os.path.realpath(self.paths.user_home)
        return f"{home}/".startswith(os.path.join(os.path.realpath(folder), ""))

    def check(self, folder: str) -> str:
        """Returns the real path of a folder that may be a workspace, or raises the error that says why not."""
        path = os.path.join(self.paths.folder, os.path.expanduser(folder))
        real = os.path.realpath(path)
        if not os.path.isdir(real):
            raise NotFoundError(f"workspace {folder!r} not found", hint="name an existing folder")
        if self.is_too_wide(real):
            raise RefusedError(
                f"{real} {'is' if real == os.path.realpath(self.paths.user_home) else 'contains'} your home folder, "
                "and scripts would see everything in it",
                rule="workspace", hint="name the folder of one project, such as --workspace ~/project",
            )  # fmt: skip
        if self.read_policy == "deny":
            raise RefusedError(
                "the policy allows no workspace",
                rule="policy.workspace.read",
                hint="see `metier config get policy.workspace.read`",
            )
        return real

    def check_agreed(self, folder: str) -> str:
        """As `check`, for a folder that another program names. Refuses one that the user has said no to."""
        real = self.check(folder)
        if self.answers.get(real) is False and self.read_policy != "allow":
            raise RefusedError(
                f"you answered that scripts may not work in {real}", rule="workspace",
                hint="`metier config set policy.workspace.read allow` overrules the answer",
            )  # fmt: skip
        return real

    def open(self, folder: str, *, write: bool) -> Workspace:
        """Opens a new layer over a folder. Without a writable METIER_HOME its changes cannot be kept."""
        from metier.runtime import Workspace

        hide = self.settings.strings("workspace.hide")
        if not os.access(self.paths.home if os.path.isdir(self.paths.home) else os.path.dirname(self.paths.home), os.W_OK):
            return Workspace(folder, hide=hide, write=write)
        self._remove_abandoned()
        id = os.urandom(4).hex()  # noqa: A001
        return Workspace(folder, hide=hide, write=write, layer=f"{self._layers}/{id}", cache=self.paths.cache("workspaces"))

    def reopen(self, id: str) -> Workspace:  # noqa: A002
        """Opens the layer of an earlier run, by its id or the beginning of it."""
        from metier.runtime import Workspace

        kept = self.find(id)
        hide = self.settings.strings("workspace.hide")
        return Workspace(kept.folder, hide=hide, layer=f"{self._layers}/{kept.id}", cache=self.paths.cache("workspaces"))

    def find(self, id: str) -> KeptLayer:  # noqa: A002
        kept = self.kept()
        found = [one for one in kept if one.id == id] or [one for one in kept if id and one.id.startswith(id)]
        if len(found) == 1:
            return found[0]
        raise NotFoundError(
            f"several changes begin with {id!r}" if found else f"no kept changes have the id {id!r}",
            hint="see `metier workspace list`",
        )

    def kept(self) -> tuple[KeptLayer, ...]:
        """Returns the kept layers, the newest first."""
        found = [self._kept(name) for name in _names(self._layers)]
        return tuple(sorted((one for one in found if one), key=lambda one: -one.created))

    def _kept(self, name: str) -> KeptLayer | None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            state: dict[str, Any] = json.loads(read_regular(f"{self._layers}/{name}/kept.json"))
            return KeptLayer(
                id=name, folder=str(state["folder"]), skills=tuple(map(str, state["skills"])), created=float(state["created"])
            )
        return None

    def _remove_abandoned(self) -> None:
        """Removes the layers of killed processes, which no user has decided to keep."""
        from metier.runtime import remove_abandoned_layers

        remove_abandoned_layers(self._layers)

    @property
    def _layers(self) -> str:
        return self.paths.at("workspaces")

    @property
    def _file(self) -> str:
        return self.paths.at("workspaces.json")

    def _verdict(self, name: str) -> PolicyVerdict:
        from metier.config import one_of
        from metier.runtime import PolicyVerdict

        return one_of(self.settings, f"policy.workspace.{name}", PolicyVerdict)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
