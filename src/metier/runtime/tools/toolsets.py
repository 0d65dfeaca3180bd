"""Python toolsets of a skill, loaded into this process: only with the user's consent, and isolated from other modules.

`toolsets: ["toolsets/index:HelloToolset"]` names a module inside the skill and something in it: a function, a list of
functions, or a class whose public methods are the tools. Functions with type hints become tools. The modules of one
skill use relative imports (`from .words import greeting`). They are read through the skill's files, so no link leads out and
no bytecode is written. They have a package name of their own, and are unloaded when the skill is deactivated.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import PurePath
from threading import RLock
from types import ModuleType
from typing import Any

from metier.disclosure import escape_output
from metier.errors import MetierError, RefusedError, ToolFailedError
from metier.runtime.policy.permissions import Permissions, Requester
from metier.spec import Files, Json, Skill, Toolset
from metier.values import dataclass

from .schema import schema_of_function
from .tool import ToolReply, safe_description, safe_schema

__all__ = ["LoadedToolsets", "SessionToolsets", "ToolsetFunction", "load_toolsets"]

_MAX_MODULE_BYTES = 1024 * 1024
_MAX_REPLY = 100_000
_numbers = itertools.count(1)
_importing = RLock()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetFunction:
    """One function of a toolset, ready to be a tool."""

    name: str
    description: str
    schema: dict[str, Json]
    function: Callable[..., object]

    async def call(self, arguments: Mapping[str, Json]) -> ToolReply:
        try:
            given = _convert(self.function, arguments)
            if inspect.iscoroutinefunction(self.function):
                result = await self.function(**given)
            else:
                result = await asyncio.to_thread(self.function, **given)
                if inspect.isawaitable(result):
                    result = await result
        except MetierError:
            raise
        except (Exception, SystemExit) as error:  # code of a skill may raise anything
            raise ToolFailedError(
                f"{self.name} failed: {type(error).__name__}: {error}", hint="check the arguments, or continue without it"
            ) from error
        return ToolReply(text=_text(result))


@dataclass(slots=True)
class LoadedToolsets:
    """The loaded toolsets of one skill."""

    functions: tuple[ToolsetFunction, ...] = ()
    problems: tuple[str, ...] = ()
    """One sentence for each toolset that could not be loaded."""
    finder: _SkillFinder | None = None

    def unload(self) -> None:
        if self.finder is not None:
            self.finder.remove()
            self.finder = None


class SessionToolsets:
    def __init__(self, permissions: Permissions, refused: Callable[[str, RefusedError], None]) -> None:
        self._permissions = permissions
        self._refused = refused
        self._loaded: dict[str, LoadedToolsets] = {}

    def load(self, skill: Skill, requester: Requester, *, ask: bool = False) -> tuple[str, ...]:
        """Loads the declared toolsets if the policy allows it; returns warnings for the user. Nothing is loaded twice."""
        declared = skill.manifest.extensions.toolsets
        known = self._loaded.get(skill.name)
        if not declared or (known is not None and (known.finder is not None or not ask)):
            return ()
        try:
            self._permissions.authorise_toolsets(declared, requester, ask=ask)
        except RefusedError as refused:
            self._refused(skill.name, refused)
            # Recorded, so that the next turn does not ask the user again.
            self._loaded[skill.name] = LoadedToolsets(problems=(f"{refused}; {refused.hint}",))
        else:
            self._loaded[skill.name] = load_toolsets(skill)
        return self._loaded[skill.name].problems

    def functions(self, name: str) -> tuple[ToolsetFunction, ...]:
        loaded = self._loaded.get(name)
        return loaded.functions if loaded is not None else ()

    def unload(self, name: str) -> None:
        loaded = self._loaded.pop(name, None)
        if loaded is not None:
            loaded.unload()

    def unload_all(self) -> None:
        for name in tuple(self._loaded):
            self.unload(name)


def load_toolsets(skill: Skill) -> LoadedToolsets:
    """Imports every toolset that the skill declares. The caller must have the user's consent."""
    finder = _SkillFinder(skill.files, f"_metier_skill_{next(_numbers)}")
    functions: dict[str, ToolsetFunction] = {}
    problems: list[str] = []
    for toolset in skill.manifest.extensions.toolsets:
        try:
            for each in _tools_in(finder.load(toolset), toolset):
                functions.setdefault(each.name, each)
        except (Exception, SystemExit) as error:  # code of a skill may raise anything
            problems.append(f"cannot load toolset {toolset} of {skill.name}: {type(error).__name__}: {error}")
    return LoadedToolsets(functions=tuple(functions.values()), problems=tuple(problems), finder=finder)


class _SkillFinder(MetaPathFinder, Loader):
    """Imports the modules of one skill from its files, in a package of its own."""

    def __init__(self, files: Files, package: str) -> None:
        self.files = files
        self.package = package

    def load(self, toolset: Toolset) -> object:
        path = sys.path
        kept, before = list(path), set(sys.modules)
        with _importing:
            sys.meta_path.insert(0, self)
            try:
                module = importlib.import_module(f"{self.package}.{toolset.module.replace('/', '.')}")
            finally:
                # Changes to sys.path, and imports from the skill's folder under a plain name, must not affect other code.
                sys.path = path
                path[:] = kept
                sys.meta_path.remove(self)
                self._unload_others(before)
        if not hasattr(module, toolset.name):
            raise ImportError(f"{toolset.module}.py has no {toolset.name!r}")
        # Last in sys.meta_path while the skill is active, for imports inside functions.
        if self not in sys.meta_path:
            sys.meta_path.append(self)
        return getattr(module, toolset.name)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name == self.package or name.startswith(f"{self.package}.")]:
            del sys.modules[name]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return None
        inner = fullname[len(self.package) + 1 :].replace(".", "/")
        for origin, is_package in ((f"{inner}/__init__.py", True), (f"{inner}.py", False)):
            if inner and self._has(origin):
                return ModuleSpec(fullname, self, origin=origin, is_package=is_package)
        if not inner or any(entry.path.startswith(f"{inner}/") for entry in self.files.list()):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.origin is not None:
            source = self.files.read(spec.origin, limit=_MAX_MODULE_BYTES)
            folder = getattr(self.files, "folder", "")
            module.__file__ = f"{folder}/{spec.origin}" if folder else spec.origin
            exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)  # noqa: S102

    def _has(self, path: str) -> bool:
        try:
            self.files.read(path, limit=_MAX_MODULE_BYTES)
        except (MetierError, OSError):
            return False
        return True

    def _unload_others(self, before: set[str]) -> None:
        folder = getattr(self.files, "folder", None)
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if folder and file.startswith(f"{folder}/") and not name.startswith(self.package):
                del sys.modules[name]


def _tools_in(value: object, toolset: Toolset) -> Iterator[ToolsetFunction]:
    if inspect.isclass(value):
        value = value()
    if inspect.isroutine(value):
        yield _toolset_function(value)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            if not callable(each):
                raise TypeError(f"{toolset.name} contains {each!r}, which is not a function")
            yield _toolset_function(each)
    else:
        methods = [(name, getattr(value, name)) for name in dir(value) if not name.startswith("_")]
        found = [method for _, method in methods if inspect.ismethod(method) or inspect.isfunction(method)]
        if not found:
            raise TypeError(f"{toolset.name} has no functions")
        for method in found:
            yield _toolset_function(method)


def _toolset_function(function: Callable[..., object]) -> ToolsetFunction:
    name = getattr(function, "__name__", type(function).__name__)
    about = (inspect.getdoc(function) or "").partition("\n\n")[0]
    schema = safe_schema(schema_of_function(function))
    return ToolsetFunction(name=name, description=safe_description(about or f"Calls {name}."), schema=schema, function=function)


def _convert(function: Callable[..., object], arguments: Mapping[str, Json]) -> dict[str, Any]:  # Any: what the hints say
    """Converts enums, paths and floats to the types of the function's hints."""
    hints = inspect.get_annotations(inspect.unwrap(function), eval_str=True) if arguments else {}
    given: dict[str, Any] = dict(arguments)
    for name, value in arguments.items():
        hint = hints.get(name)
        if inspect.isclass(hint) and issubclass(hint, Enum | PurePath) and isinstance(value, str | int | float):
            given[name] = hint(value) if issubclass(hint, Enum) else hint(str(value))
        elif hint is float and isinstance(value, int):
            given[name] = float(value)
    return given


def _text(result: object) -> str:
    if result is None:
        return "Done."
    if isinstance(result, str):
        text = result
    else:
        try:
            text = json.dumps(result, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):
            text = str(result)
    cut = f"\n[cut: {len(text) - _MAX_REPLY:,} more characters]" if len(text) > _MAX_REPLY else ""
    return escape_output(text[:_MAX_REPLY]) + cut
