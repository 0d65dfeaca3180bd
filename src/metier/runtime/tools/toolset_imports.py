"""Imports the Python modules of one skill, from exactly the bytes that were checked.

The modules have a package name of their own and use relative imports (`from .words import greeting`). A toolset that puts a
folder of its skill on `sys.path` can also use plain imports. Both are compiled here from the source, whose hash must be the one
that was approved. So no link is followed, no bytecode is read or written, and a file that changes between check and import is
refused. All modules are unloaded when the skill is deactivated.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType

from metier.archive import LINK
from metier.errors import RefusedError
from metier.runtime.skill_access import Hashes
from metier.spec import Files, Toolset

__all__ = ["SkillFinder"]

_MAX_MODULE_BYTES = 1024 * 1024
_importing = RLock()


class SkillFinder(MetaPathFinder, Loader):
    """Finds and loads the modules of one skill, while it is in `sys.meta_path`."""

    def __init__(self, files: Files, hashes: Hashes, package: str) -> None:
        self.files = files
        self.hashes = hashes
        self.package = package
        self.folder: str = getattr(files, "folder", "")

    def load(self, toolset: Toolset) -> object:
        path = sys.path
        kept = list(path)
        with _importing:
            # First, and for as long as the skill is active: functions import modules too.
            if self not in sys.meta_path:
                sys.meta_path.insert(0, self)
            try:
                module = importlib.import_module(f"{self.package}.{toolset.module.replace('/', '.')}")
            finally:
                # Changes to sys.path, and imports from the skill's folder under a plain name, must not affect other code.
                sys.path = path
                path[:] = kept
                self._unload(self._plain_modules())
        if not hasattr(module, toolset.name):
            raise ImportError(f"{toolset.module}.py has no {toolset.name!r}")
        return getattr(module, toolset.name)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._unload([name for name in sys.modules if name == self.package or name.startswith(f"{self.package}.")])
        self._unload(self._plain_modules())

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return self._find_plain(fullname, path, target)
        inner = fullname[len(self.package) + 1 :].replace(".", "/")
        for origin, is_package in ((f"{inner}/__init__.py", True), (f"{inner}.py", False)):
            if origin in self.hashes:
                return ModuleSpec(fullname, self, origin=origin, is_package=is_package)
        if not inner or any(each.startswith(f"{inner}/") for each in self.hashes):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def _find_plain(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """Returns the spec of a module that Python finds in the skill's folder by way of `sys.path`."""
        found = PathFinder.find_spec(fullname, path, target) if self.folder else None
        if found is None or found.origin is None:
            return None
        real = os.path.join(os.path.realpath(os.path.dirname(found.origin)), os.path.basename(found.origin))
        if not real.startswith(f"{self.folder}/"):
            return None
        origin = real[len(self.folder) + 1 :]
        if not origin.endswith(".py"):
            raise ImportError(f"{origin} is compiled code; a toolset can import only source files", name=fullname)
        spec = ModuleSpec(fullname, self, origin=origin, is_package=found.submodule_search_locations is not None)
        if found.submodule_search_locations is not None:
            spec.submodule_search_locations = list(found.submodule_search_locations)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.origin is not None:
            source = self._source(spec.origin)
            module.__file__ = f"{self.folder}/{spec.origin}" if self.folder else spec.origin
            exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)  # noqa: S102

    def _source(self, path: str) -> bytes:
        mode, expected = self.hashes.get(path, ("", ""))
        if mode == LINK:
            raise RefusedError(f"{path} is a link, and a toolset imports no links", rule="toolset-link",
                               hint="copy the file to the place of the link")  # fmt: skip
        source = self.files.read(path, limit=_MAX_MODULE_BYTES)
        if hashlib.sha256(source).hexdigest() != expected:
            raise RefusedError(
                f"{path} has changed since it was checked", rule="skill-changed", hint="activate the skill again"
            )
        return source

    def _plain_modules(self) -> list[str]:
        """Returns the names of the modules that were imported from the skill's folder by way of `sys.path`."""
        return [name for name, module in list(sys.modules.items())
                if getattr(getattr(module, "__spec__", None), "loader", None) is self
                and name != self.package and not name.startswith(f"{self.package}.")]  # fmt: skip

    def _unload(self, names: Sequence[str]) -> None:
        for name in names:
            sys.modules.pop(name, None)
