"""Python toolsets of a skill, loaded into this process: only with the user's consent, and isolated from other modules.

`toolsets: ["toolsets/index:HelloToolset"]` names a module inside the skill and something in it: a function, a list of
functions, or a class whose public methods are the tools. Functions with type hints become tools.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

from metier.archive import digest_of_hashes
from metier.disclosure import escape_output
from metier.errors import MetierError, RefusedError, ToolFailedError
from metier.runtime.policy.permissions import Permissions, Requester
from metier.runtime.skill_access import Hashes, approval_hashes
from metier.spec import Json, Skill, Toolset, toolset_problem
from metier.values import dataclass, replace

from .schema import schema_of_function
from .tool import ToolReply, safe_description, safe_schema
from .toolset_imports import SkillFinder

__all__ = ["LoadedToolsets", "SessionToolsets", "ToolsetFunction", "load_toolsets"]

_MAX_REPLY = 100_000
_numbers = itertools.count(1)


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
    finder: SkillFinder | None = None
    hashes: Hashes | None = None
    """Of the files when the toolsets were loaded or refused."""

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
            # Hashed once: the decision is about the same bytes as the import.
            hashes = approval_hashes(skill.files)
            checked = replace(requester, digest=lambda: digest_of_hashes(hashes))
            self._permissions.authorise_toolsets(declared, checked, ask=ask)
        except RefusedError as refused:
            self._refused(skill.name, refused)
            # Recorded, so that the next turn does not ask the user again.
            problem = f"{refused}; {refused.hint}"
            self._loaded[skill.name] = LoadedToolsets(problems=(problem,), hashes=_hashes_or_none(skill))
        else:
            self._loaded[skill.name] = load_toolsets(skill, hashes)
            self._loaded[skill.name].hashes = hashes
        return self._loaded[skill.name].problems

    def functions(self, name: str) -> tuple[ToolsetFunction, ...]:
        loaded = self._loaded.get(name)
        return loaded.functions if loaded is not None else ()

    def unload_changed(self, skill: Skill) -> bool:
        """Unloads the toolsets of a skill if its files have changed, so that the next `load` decides and imports again."""
        loaded = self._loaded.get(skill.name)
        if loaded is None or not skill.manifest.extensions.toolsets or loaded.hashes == _hashes_or_none(skill):
            return False
        self.unload(skill.name)
        return True

    def unload(self, name: str) -> None:
        loaded = self._loaded.pop(name, None)
        if loaded is not None:
            loaded.unload()

    def unload_all(self) -> None:
        for name in tuple(self._loaded):
            self.unload(name)


def _hashes_or_none(skill: Skill) -> Hashes | None:
    try:
        return approval_hashes(skill.files)
    except MetierError:
        return None


def load_toolsets(skill: Skill, hashes: Hashes) -> LoadedToolsets:
    """Imports every toolset that the skill declares. The caller must have the user's consent for files with these hashes."""
    finder = SkillFinder(skill.files, hashes, f"_metier_skill_{next(_numbers)}")
    functions: dict[str, ToolsetFunction] = {}
    problems: list[str] = []
    for toolset in skill.manifest.extensions.toolsets:
        missing = toolset_problem(toolset, hashes)
        if missing:
            problems.append(f"cannot load toolset {toolset} of {skill.name}: {missing}")
            continue
        try:
            for function in _functions_in(finder.load(toolset), toolset):
                try:
                    each = _toolset_function(function)
                except (TypeError, NameError, ValueError) as error:
                    # One function that cannot be described does not hide the others.
                    problems.append(f"{_function_name(function)} in {toolset} of {skill.name} is not offered: {error}")
                else:
                    functions.setdefault(each.name, each)
        except (Exception, SystemExit) as error:  # code of a skill may raise anything
            problems.append(f"cannot load toolset {toolset} of {skill.name}: {type(error).__name__}: {error}")
    return LoadedToolsets(functions=tuple(functions.values()), problems=tuple(problems), finder=finder)


def _functions_in(value: object, toolset: Toolset) -> Iterator[Callable[..., object]]:
    if inspect.isclass(value):
        value = value()
    if inspect.isroutine(value):
        yield value
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            if not callable(each):
                raise TypeError(f"{toolset.name} contains {each!r}, which is not a function")
            yield each
    else:
        methods = [(name, getattr(value, name)) for name in dir(value) if not name.startswith("_")]
        found = [method for _, method in methods if inspect.ismethod(method) or inspect.isfunction(method)]
        if not found:
            raise TypeError(f"{toolset.name} has no functions")
        yield from found


def _function_name(function: Callable[..., object]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _toolset_function(function: Callable[..., object]) -> ToolsetFunction:
    name = _function_name(function)
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
