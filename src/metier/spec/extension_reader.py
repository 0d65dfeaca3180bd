"""Reads the keys beyond the standard from the fields of a frontmatter, with a problem for each value of another shape."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence

from metier.errors import UsageError
from metier.lazy import lazy_pattern
from metier.values import dataclass, field

from .capabilities import ANY, CAPABILITY_KINDS, Capabilities
from .codes import problem
from .extensions import (
    EXTENSION_KEYS,
    EXTENSION_SPELLINGS,
    SPELLINGS,
    Extensions,
    Parameter,
    ParameterType,
    Toolset,
    Triggers,
)
from .fields import is_name
from .host_pattern import host_problem, parse_host
from .report import Problem
from .yaml import Json

__all__ = ["read_extensions"]

_SEMVER = lazy_pattern(r"\d+(\.\d+){0,3}([-+][0-9A-Za-z.+-]+)?")
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMAND = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_TOOLSET = lazy_pattern(r"(?P<module>toolsets(?:/[A-Za-z_]\w*)+)(?:\.py)?:(?P<name>[A-Za-z_]\w*)")
# Lookaround, atomic groups, references to groups and possessive repeats, which the linear-time matcher does not have.
_BACKTRACKING = lazy_pattern(r"\(\?(?:<?[=!]|>|P=|\()|\\[1-9]|[*+?}]\+")
_CHARACTERS = lazy_pattern(r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]")
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
NONE = Extensions()
_DECLARED_KINDS = {word: kind for kind, word in CAPABILITY_KINDS.items()} | {"env": "variables"}


def read_extensions(extra: Mapping[str, Json], metadata: Mapping[str, Json]) -> tuple[Extensions, tuple[Problem, ...]]:
    """Returns the extensions among the unknown keys and the metadata. The message of a problem starts with its key."""
    if EXTENSION_SPELLINGS.isdisjoint(extra) and EXTENSION_KEYS.isdisjoint(metadata):
        return NONE, ()
    known = {SPELLINGS.get(key, key): value for key, value in extra.items()}
    written = {SPELLINGS[key]: key for key in extra if key in SPELLINGS}
    reader = _Reader({**known, **{key: value for key, value in metadata.items() if key in EXTENSION_KEYS}}, written)
    scripts = reader.scripts()
    dependencies = reader.dependencies()
    network, env, requires = reader.network(), reader.env(), reader.commands()
    declared = reader.capabilities()
    if declared is not None:
        declared |= Capabilities.of({"hosts": network, "variables": env, "commands": requires})
    read = Extensions(
        version=reader.version(),
        author=reader.text("author"),
        tags=tuple(dict.fromkeys((*reader.words("tags"), *reader.words("keywords")))),
        requires=requires,
        toolsets=tuple(reader.toolsets()),
        scripts=tuple(scripts),
        script_descriptions={path: about for path, about in scripts.items() if about},
        triggers=reader.triggers(),
        default_enabled=reader.truth("default_enabled", default=True),
        brief_description=reader.text("brief_description"),
        disable_model_invocation=reader.truth("disable-model-invocation", default=False),
        user_invocable=reader.truth("user-invocable", default=True),
        argument_hint=reader.text("argument-hint"),
        dependencies=tuple(dependencies),
        dependency_versions={name: versions for name, versions in dependencies.items() if versions},
        parameters=tuple(reader.parameters()),
        network=network,
        env=env,
        capabilities=declared,
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
        value = self.fields.get("requires")
        # The OWASP format has a map here: `requires: {binaries: [jq]}`.
        binaries = value.get("binaries") if isinstance(value, dict) else None
        commands = self.words("requires") if binaries is None else self.texts("requires.binaries", binaries)
        good = tuple(command for command in commands if _COMMAND.fullmatch(command))
        for command in commands:
            if command not in good:
                self.odd("SK307", f"requires: {command[:40]!r} is not the name of a command")
        return good

    def network(self) -> tuple[str, ...]:
        hosts = self.words("network")
        good = []
        for host in hosts:
            if why := host_problem(host):
                self.odd("SK310", f"network: {host[:60]!r} is not a host: {why}")
            else:
                good.append(str(parse_host(host)))
        return tuple(dict.fromkeys(good))

    def env(self) -> tuple[str, ...]:
        value = self.fields.get("env")
        names = tuple(map(str, value)) if isinstance(value, dict) else self.words("env")
        good = tuple(dict.fromkeys(name for name in names if _VARIABLE.fullmatch(name)))
        for name in names:
            if name not in good:
                # The part after = may be a secret.
                self.odd("SK311", f"env: {name.partition('=')[0][:40]!r} is not the name of a variable"
                         + (" alone" if "=" in name else ""))  # fmt: skip
        return good

    def capabilities(self) -> Capabilities | None:
        """Reads `capabilities`, and `permissions` of the OWASP format; None if there is neither."""
        permissions = self.fields.get("permissions")
        found = self._permissions(permissions) if isinstance(permissions, dict) else None
        if self.fields.get("capabilities") is None:
            return found
        names: dict[str, list[str]] = {kind: [] for kind in CAPABILITY_KINDS}
        for word in self.words("capabilities"):
            kind, colon, name = word.partition(":")
            if kind in _DECLARED_KINDS and name.strip():
                names[_DECLARED_KINDS[kind]].append(_host(name.strip()) if kind == "host" else name.strip())
            elif colon or word.lower() != "none":
                self.odd("SK312", f"capabilities: {word[:60]!r} is not a kind and a name")
        return Capabilities.of(names) | (found or Capabilities())

    def _permissions(self, permissions: Mapping[str, Json]) -> Capabilities:
        def lists(name: str, *keys: str) -> tuple[str, ...]:
            table = permissions.get(name)
            listed = [table.get(key) for key in keys] if isinstance(table, dict) else [table]
            return tuple(one for each in listed if isinstance(each, list) for one in each if isinstance(one, str))

        commands = [ANY] if permissions.get("shell") in (True, "true") else lists("shell", "allow", "commands")
        return Capabilities.of({
            "hosts": map(_host, lists("network", "allow")), "reads": lists("files", "read"), "writes": lists("files", "write"),
            "commands": commands, "variables": lists("env", "allow"),
        })  # fmt: skip

    def toolsets(self) -> Iterator[Toolset]:
        for reference in self.texts("toolsets", self.fields.get("toolsets")):
            match = _TOOLSET.fullmatch(reference)
            if match:
                yield Toolset(match["module"], match["name"])
            else:
                is_typescript = reference.partition(":")[0].endswith((".ts", ".tsx", ".mts", ".cts", ".js", ".mjs"))
                why = "is not Python" if is_typescript else "is not of the form toolsets/module:Name"
                self.odd("SK303", f"toolsets: {reference[:60]!r} {why}",
                         hint="write it like toolsets/index:MyToolset, for MyToolset in toolsets/index.py")  # fmt: skip

    def scripts(self) -> dict[str, str]:
        """Returns the descriptions of the declared scripts by path. Each is a path, or a map with a path and a description."""
        value = self.fields.get("scripts")
        if isinstance(value, dict):
            items: Sequence[Json] = [
                {"path": key, **one} if isinstance(one, dict) else {"path": key, "description": one}
                for key, one in value.items()
            ]
        else:
            items = value if isinstance(value, list) else [value]
        found: dict[str, str] = {}
        for item in items:
            path = item.get("path") or item.get("file") or item.get("name") if isinstance(item, dict) else item
            about = item.get("description") if isinstance(item, dict) else None
            if path is None and not isinstance(item, dict):
                continue
            if not isinstance(path, str) or not path.strip() or isinstance(about, list | dict):
                self.odd("SK301", "scripts should be a list of paths, or of maps with path and description")
                continue
            inner = path.strip().removeprefix("./").removeprefix("scripts/")
            found[f"scripts/{inner}"] = " ".join(str(about or "").split())
        return found

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

    def dependencies(self) -> dict[str, str]:
        """Returns the version ranges by name; empty for any version. Each is `name`, `name@range`, or a pair of a map."""
        value = self.fields.get("dependencies")
        if isinstance(value, dict):
            written = [f"{name}@{versions}" if versions not in (None, "") else name for name, versions in value.items()]
        else:
            written = list(self.words("dependencies"))
        found: dict[str, str] = {}
        for each in written:
            name, _, versions = (part.strip() for part in each.partition("@"))
            if not is_name(name):
                self.odd("SK306", f"dependencies: {each[:64]!r} is not a skill name",
                         hint="write the name of a skill, or name@range such as base-style@>=2.0")  # fmt: skip
            elif versions and not _is_range(versions):
                self.odd("SK306", f"dependencies: {versions[:64]!r} is not a range of versions",
                         hint=f"write {name}@>=2.0, {name}@^1.2 or only {name}")  # fmt: skip
            else:
                found[name] = versions
        return found

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


def _is_range(text: str) -> bool:
    # Imported here: few skills name versions.
    from .versions import VersionRange

    try:
        VersionRange.parse(text)
    except UsageError:
        return False
    return True


def _host(text: str) -> str:
    return text if host_problem(text) else str(parse_host(text))


def _kind(value: Json) -> str:
    return "list" if isinstance(value, list) else "map"
