"""The keys beyond the standard that metier understands.

Authors write them at the top level or under `metadata`, the standard's place for them. Both are read, and `metadata` wins.
Nothing here rejects a skill: a value that cannot be understood is reported, and its default is used.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from metier.lazy import lazy_pattern
from metier.values import dataclass, field

from .codes import problem
from .fields import is_name
from .report import Problem
from .yaml import Json

__all__ = [
    "EXTENSION_KEYS",
    "EXTENSION_SPELLINGS",
    "Extensions",
    "Parameter",
    "ParameterType",
    "Toolset",
    "Triggers",
    "read_extensions",
]

EXTENSION_KEYS = frozenset({
    "version", "author", "tags", "keywords", "requires", "toolsets", "scripts", "triggers", "default_enabled",
    "brief_description", "disable-model-invocation", "user-invocable", "argument-hint", "dependencies", "parameters",
})  # fmt: skip
TEXT_KEYS = frozenset({"version", "author", "brief_description", "argument-hint", "tags", "keywords", "requires"})
"""Keys whose values are kept as written: version 1.10 must not become the number 1.1."""
_SPELLINGS = {
    "user_invocable": "user-invocable", "user-invokable": "user-invocable", "argument_hint": "argument-hint",
    "disable_model_invocation": "disable-model-invocation", "default-enabled": "default_enabled",
    "brief-description": "brief_description",
}  # fmt: skip
EXTENSION_SPELLINGS = EXTENSION_KEYS | _SPELLINGS.keys()
_SEMVER = lazy_pattern(r"\d+(\.\d+){0,3}([-+][0-9A-Za-z.+-]+)?")
_COMMAND = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_TOOLSET = lazy_pattern(r"(?P<module>toolsets(?:/[A-Za-z_]\w*)+)(?:\.py)?:(?P<name>[A-Za-z_]\w*)")
# Lookaround, atomic groups, references to groups and possessive repeats, which the linear-time matcher does not have.
_BACKTRACKING = lazy_pattern(r"\(\?(?:<?[=!]|>|P=|\()|\\[1-9]|[*+?}]\+")
_CHARACTERS = lazy_pattern(r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]")
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    keywords: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Regular expressions as written; the caller must bound their running time."""

    @property
    def any(self) -> bool:
        return bool(self.keywords or self.verbs or self.patterns)


@dataclass(frozen=True, slots=True)
class Toolset:
    module: str
    """Path inside the skill without its ending: toolsets/index."""
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class ParameterType(StrEnum):
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    type: ParameterType = ParameterType.STRING
    default: str | int | float | bool | None = None
    """None if a value is required."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    version: str | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Commands that must be on PATH."""
    toolsets: tuple[Toolset, ...] = ()
    scripts: tuple[str, ...] = ()
    triggers: Triggers = field(default_factory=Triggers)
    default_enabled: bool = True
    brief_description: str | None = None
    disable_model_invocation: bool = False
    """The model must not start this skill; a user still may."""
    user_invocable: bool = True
    argument_hint: str | None = None
    dependencies: tuple[str, ...] = ()
    """Names of skills that are activated with this one."""
    parameters: tuple[Parameter, ...] = ()


NONE = Extensions()


def read_extensions(extra: Mapping[str, Json], metadata: Mapping[str, Json]) -> tuple[Extensions, tuple[Problem, ...]]:
    """Returns the extensions among the unknown keys and the metadata. The message of a problem starts with its key."""
    if EXTENSION_SPELLINGS.isdisjoint(extra) and EXTENSION_KEYS.isdisjoint(metadata):
        return NONE, ()
    known = {_SPELLINGS.get(key, key): value for key, value in extra.items()}
    written = {_SPELLINGS[key]: key for key in extra if key in _SPELLINGS}
    reader = _Reader({**known, **{key: value for key, value in metadata.items() if key in EXTENSION_KEYS}}, written)
    read = Extensions(
        version=reader.version(),
        author=reader.text("author"),
        tags=tuple(dict.fromkeys((*reader.words("tags"), *reader.words("keywords")))),
        requires=reader.commands(),
        toolsets=tuple(reader.toolsets()),
        scripts=reader.scripts(),
        triggers=reader.triggers(),
        default_enabled=reader.truth("default_enabled", default=True),
        brief_description=reader.text("brief_description"),
        disable_model_invocation=reader.truth("disable-model-invocation", default=False),
        user_invocable=reader.truth("user-invocable", default=True),
        argument_hint=reader.text("argument-hint"),
        dependencies=reader.dependencies(),
        parameters=tuple(reader.parameters()),
    )
    return read, tuple(reader.problems)


@dataclass(slots=True)
class _Reader:
    fields: Mapping[str, Json]
    written: Mapping[str, str] = field(default_factory=dict)
    """The author's spelling of a key, where it is not the usual one."""
    problems: list[Problem] = field(default_factory=list)

    def odd(self, code: str, message: str, hint: str = "") -> None:
        self.problems.append(problem(code, message, hint=hint))

    def text(self, key: str) -> str | None:
        value = self.fields.get(key)
        if value is None:
            return None
        if isinstance(value, list | dict):
            self.odd("SK301", f"{key} should be text, not a {_kind(value)}")
            return None
        return str(value).strip() or None

    def truth(self, key: str, *, default: bool) -> bool:
        value = self.fields.get(key)
        if value is None:
            return default
        word = str(value).strip().lower()
        if not isinstance(value, list | dict) and word in _TRUE | _FALSE:
            return word in _TRUE
        self.odd("SK301", f"{self.written.get(key, key)} should be true or false, not {word[:40]!r}")
        return default

    def version(self) -> str | None:
        version = self.text("version")
        if version is not None and not _SEMVER.fullmatch(version.removeprefix("v")):
            self.odd("SK304", f"version {version[:40]!r} is not of the form 1.4.0")
        return version

    def words(self, key: str) -> tuple[str, ...]:
        """Reads a list, or text with commas or spaces. In `a, b c` there are commas, so words may contain spaces."""
        value = self.fields.get(key)
        if value is None:
            return ()
        if isinstance(value, dict):
            self.odd("SK301", f"{key} should be a list of words, not a map")
            return ()
        if isinstance(value, list):
            return self.texts(key, value)
        text = str(value)
        parts = text.split(",") if "," in text else text.split()
        return tuple(part.strip() for part in parts if part.strip())

    def texts(self, key: str, value: Json) -> tuple[str, ...]:
        if value is None:
            return ()
        items: Sequence[Json] = value if isinstance(value, list) else [value]
        if any(isinstance(item, list | dict) for item in items) or isinstance(value, dict):
            self.odd("SK301", f"{key} should be a list of texts")
            return ()
        return tuple(str(item).strip() for item in items if item is not None and str(item).strip())

    def commands(self) -> tuple[str, ...]:
        commands = self.words("requires")
        good = tuple(command for command in commands if _COMMAND.fullmatch(command))
        for command in commands:
            if command not in good:
                self.odd("SK307", f"requires: {command[:40]!r} is not the name of a command")
        return good

    def toolsets(self) -> Iterator[Toolset]:
        for reference in self.texts("toolsets", self.fields.get("toolsets")):
            match = _TOOLSET.fullmatch(reference)
            if match:
                yield Toolset(match["module"], match["name"])
            else:
                self.odd("SK303", f"toolsets: {reference[:60]!r} is not of the form toolsets/module:Name")

    def scripts(self) -> tuple[str, ...]:
        value = self.fields.get("scripts")
        if isinstance(value, list):
            # Some authors describe each script with a map; only its path or name is used.
            value = [item.get("path") or item.get("name") if isinstance(item, dict) else item for item in value]
        return self.texts("scripts", value)

    def triggers(self) -> Triggers:
        value = self.fields.get("triggers")
        if value is None:
            return Triggers()
        if not isinstance(value, dict):
            # Many public skills write a plain list; each item is a keyword or phrase.
            return Triggers(keywords=self.texts("triggers", value))
        for key in value:
            if key not in ("keywords", "verbs", "patterns"):
                self.odd("SK301", f"triggers.{key} is not one of keywords, verbs, patterns")
        patterns = self.texts("triggers.patterns", value.get("patterns"))
        good = tuple(pattern for pattern in patterns if self._compiles(pattern))
        return Triggers(
            keywords=self.texts("triggers.keywords", value.get("keywords")),
            verbs=self.texts("triggers.verbs", value.get("verbs")),
            patterns=good,
        )

    def _compiles(self, pattern: str) -> bool:
        try:
            with warnings.catch_warnings(action="ignore"):  # a warning about a nested set is not for the user
                re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            self.odd("SK302", f"triggers.patterns: {pattern[:60]!r} is not a regular expression: {error}")
            return False
        unsafe = _BACKTRACKING.search(_CHARACTERS.sub("x", pattern))
        if unsafe:
            self.odd(
                "SK302",
                f"triggers.patterns: {pattern[:60]!r} is never run: {unsafe[0]!r} needs backtracking",
                hint="use only words, classes, groups, | and repeats",
            )
            return False
        return True

    def dependencies(self) -> tuple[str, ...]:
        names = self.words("dependencies")
        for name in names:
            if not is_name(name):
                self.odd("SK306", f"dependencies: {name[:64]!r} is not a skill name")
        return tuple(name for name in names if is_name(name))

    def parameters(self) -> Iterator[Parameter]:
        value = self.fields.get("parameters")
        if value is None:
            return
        if not isinstance(value, dict):
            self.odd("SK305", "parameters should be a map from name to type and default")
            return
        for name, declared in value.items():
            parameter = self._parameter(name, declared)
            if parameter:
                yield parameter

    def _parameter(self, name: str, declared: Json) -> Parameter | None:
        if not isinstance(declared, dict):
            # `style: formal` declares a text parameter with that default.
            return Parameter(name=name, type=_type_of(declared), default=declared if not isinstance(declared, list) else None)
        kind = str(declared.get("type", "string"))
        if kind not in tuple(ParameterType):
            self.odd("SK305", f"parameters.{name}: {kind[:40]!r} is not one of {', '.join(ParameterType)}")
            return None
        default = declared.get("default")
        if isinstance(default, list | dict) or not _fits(default, ParameterType(kind)):
            self.odd("SK305", f"parameters.{name}: the default {str(default)[:40]!r} is not of type {kind}")
            return None
        if kind == "string" and default is not None:
            default = str(default)
        return Parameter(
            name=name, type=ParameterType(kind), default=default, description=str(declared.get("description") or "")
        )


def _type_of(value: Json) -> ParameterType:
    if isinstance(value, bool):
        return ParameterType.BOOLEAN
    if isinstance(value, int):
        return ParameterType.INTEGER
    return ParameterType.NUMBER if isinstance(value, float) else ParameterType.STRING


def _fits(value: Json, kind: ParameterType) -> bool:
    match kind:
        case ParameterType.STRING:
            return True
        case ParameterType.BOOLEAN:
            return value is None or isinstance(value, bool)
        case ParameterType.INTEGER:
            return value is None or (isinstance(value, int) and not isinstance(value, bool))
        case ParameterType.NUMBER:
            return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _kind(value: Json) -> str:
    return "list" if isinstance(value, list) else "map"
