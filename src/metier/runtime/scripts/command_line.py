"""The command line of a script as a value: its JSON schema, and the conversion of a model's arguments to words.

The readers (argparse, click and typer, usage line) make it from the text of the script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metier.runtime.tool_errors import BadArgumentsError
from metier.runtime.tools.schema import Schema, check_arguments, object_schema
from metier.spec import Json
from metier.values import dataclass, field, replace

__all__ = ["UNKNOWN", "ArgumentKind", "CommandLine", "ScriptArgument"]

WORDS = "args"


class ArgumentKind:
    POSITIONAL = "positional"
    OPTION = "option"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptArgument:
    name: str
    """In the JSON schema."""
    kind: str = ArgumentKind.POSITIONAL
    spelling: str = ""
    """`--max-rows`; empty for a positional."""
    negation: str = ""
    """The option that switches a flag off, if there is one."""
    type: str = "string"
    choices: tuple[str | int | float, ...] = ()
    default: str | int | float | bool | None = None
    required: bool = False
    repeated: bool = False
    """Takes several values; an option with `repeat_option` is written once for each value."""
    repeat_option: bool = False
    help: str = ""

    def schema(self) -> Schema:
        one: Schema = {"type": "boolean"} if self.kind == ArgumentKind.FLAG else {"type": self.type}
        if self.choices:
            one["enum"] = list(self.choices)
        schema: Schema = {"type": "array", "items": one} if self.repeated else one
        if self.help:
            schema["description"] = self.help
        if self.default not in (None, "") and not self.repeated:
            schema["default"] = self.default
        return schema

    def words(self, value: Json, *, supports_equals: bool = True) -> Iterator[str]:
        if self.kind == ArgumentKind.FLAG:
            if value is True:
                yield self.spelling
            elif self.negation:
                yield self.negation
            return
        values = [_word(each) for each in (value if isinstance(value, list) else [value])]
        if self.kind == ArgumentKind.POSITIONAL:
            yield from values
        elif self.repeat_option or not self.repeated:
            for each in values:
                # One word, so that a value which begins with a dash is not read as an option.
                yield from (
                    [f"{self.spelling}={each}"] if supports_equals and self.spelling.startswith("--") else [self.spelling, each]
                )
        elif values:
            yield from [self.spelling, *values]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    arguments: tuple[ScriptArgument, ...] = ()
    commands: Mapping[str, CommandLine] = field(default_factory=dict)
    """Sub-commands by name; the model chooses one with `command`."""
    help: str = ""
    is_known: bool = True
    """False if it could not be read: the script then takes a list of words."""
    supports_equals: bool = True
    """True if its parser supports `--option=value` and `--`. That is unknown for a script that parses its own words."""

    def schema(self) -> Schema:
        if not self.is_known:
            words: Schema = {
                "type": "array",
                "items": {"type": "string"},
                "description": "The words of its command line, in order.",
            }
            return object_schema({WORDS: words})
        properties = {each.name: each.schema() for each in self.arguments}
        required = [each.name for each in self.arguments if each.required]
        if self.commands:
            about = "; ".join(f"{name}: {line.help}" for name, line in self.commands.items() if line.help)
            command: Schema = {"type": "string", "enum": list(self.commands)}
            properties = {"command": {**command, "description": about} if about else command, **properties}
            required = ["command", *required]
            for name, line in self.commands.items():
                for each in line.arguments:
                    properties.setdefault(each.name, _only_for(each, name, self.commands).schema())
            shared = [{each.name for each in line.arguments if each.required} for line in self.commands.values()]
            required += sorted(set.intersection(*shared)) if shared else []
        return object_schema(properties, tuple(required))

    def words(self, values: Mapping[str, Json]) -> tuple[str, ...]:
        """Returns the command line for a model's arguments. Raises BadArgumentsError if they do not match the schema."""
        check_arguments(dict(values), self.schema())
        if not self.is_known:
            given = values.get(WORDS)
            return tuple(_word(each) for each in given) if isinstance(given, list) else ()
        if not self.commands:
            return tuple(_line(self.arguments, values, supports_equals=self.supports_equals))
        name = str(values["command"])
        chosen = self.commands[name]
        own = {each.name for each in self.arguments}
        mine = {key: value for key, value in values.items() if key != "command" and key not in own}
        check_arguments(mine, chosen.schema(), where="the arguments")
        first = _line(
            self.arguments, {key: value for key, value in values.items() if key in own}, supports_equals=self.supports_equals
        )
        return (*first, name, *_line(chosen.arguments, mine, supports_equals=self.supports_equals))


UNKNOWN = CommandLine(is_known=False)


def _line(arguments: tuple[ScriptArgument, ...], values: Mapping[str, Json], *, supports_equals: bool) -> Iterator[str]:
    given = [each for each in arguments if values.get(each.name) is not None]
    for each in given:
        if each.kind != ArgumentKind.POSITIONAL:
            yield from each.words(values[each.name], supports_equals=supports_equals)
    places = [word for each in given if each.kind == ArgumentKind.POSITIONAL for word in each.words(values[each.name])]
    missing = next((each for each in arguments if each.kind == ArgumentKind.POSITIONAL and values.get(each.name) is None), None)
    after = arguments.index(missing) if missing is not None else len(arguments)
    if any(each.kind == ArgumentKind.POSITIONAL and arguments.index(each) > after for each in given) and missing is not None:
        raise BadArgumentsError(
            f"{missing.name} is missing, but a later argument is given",
            hint=f"add {missing.name}: positional arguments have an order",
        )
    if supports_equals and any(word.startswith("-") and word != "-" for word in places):
        yield "--"
    yield from places


def _only_for(argument: ScriptArgument, command: str, commands: Mapping[str, CommandLine]) -> ScriptArgument:
    """Makes an argument optional and names its sub-commands, for the schema of all sub-commands."""
    users = [name for name, line in commands.items() if any(each.name == argument.name for each in line.arguments)]
    if len(users) == len(commands):
        return replace(argument, required=False)
    return replace(argument, required=False, help=f"For {', '.join(users) or command}. {argument.help}".strip())


def _word(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
