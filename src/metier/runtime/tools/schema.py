"""JSON schemas of tool arguments: made from type hints, and checked against the arguments of a model.

Supports the part of JSON Schema that these tools use.
"""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from metier.runtime.docstrings import read_docstring
from metier.runtime.tool_errors import BadArgumentsError
from metier.spec import Json

__all__ = ["Schema", "check_arguments", "object_schema", "schema_of_function", "schema_of_hint"]

Schema = dict[str, Json]
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
    "null": (type(None),),
}  # fmt: skip
_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", bytes: "string", type(None): "null"}


def object_schema(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return schema


def check_arguments(value: Json, schema: Mapping[str, Json], *, where: str = "") -> None:
    """Raises BadArgumentsError with the first problem, as a sentence that a model can act on."""
    for problem in _problems(value, schema, where or "the arguments"):
        raise BadArgumentsError(problem, hint=_hint(schema))


def _problems(value: Json, schema: Mapping[str, Json], where: str) -> Iterator[str]:
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        found = [next(_problems(value, choice, where), None) for choice in choices if isinstance(choice, dict)]
        if found and None not in found:
            yield next(problem for problem in found if problem)
        return
    kind = schema.get("type")
    if isinstance(kind, str) and not _is_of_type(value, kind):
        yield f"{where} should be of type {kind}, not {_display(value)}"
        return
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        listed = ", ".join(map(str, allowed[:20])) + (", …" if len(allowed) > 20 else "")
        yield f"{where} should be one of {listed}, not {_display(value)}"
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, int | float) and isinstance(least, int | float) and value < least:
        yield f"{where} should be at least {least}, not {value}"
    if isinstance(value, int | float) and isinstance(most, int | float) and value > most:
        yield f"{where} should be at most {most}, not {value}"
    if isinstance(value, dict):
        yield from _object_problems(value, schema, where)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for place, item in enumerate(value):
            yield from _problems(item, items, f"{where}[{place}]")


def _object_problems(value: Mapping[str, Json], schema: Mapping[str, Json], where: str) -> Iterator[str]:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    inside = "" if where == "the arguments" else f"{where}."
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            yield f"{inside}{name} is missing"
    for name, each in value.items():
        inner = known.get(name)
        if isinstance(inner, dict):
            yield from _problems(each, inner, f"{inside}{name}")
        elif schema.get("additionalProperties") is False:
            yield f"unknown argument {f'{inside}{name}'!r}"


def _is_of_type(value: Json, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _hint(schema: Mapping[str, Json]) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return "it takes no arguments"
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return "it takes " + ", ".join(f"{name}{' (required)' if name in needed else ''}" for name in list(properties)[:30])


def _display(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def schema_of_function(function: Callable[..., object]) -> Schema:
    """Returns the schema of a function's parameters. Raises TypeError if a type hint has no JSON form."""
    hints = typing.get_type_hints(function, include_extras=True)
    docs = {each.name: each.description for each in read_docstring(inspect.getdoc(function) or "")}
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"parameter {parameter} cannot be passed by name")
        schema = schema_of_hint(hints.get(name, str))
        if docs.get(name) and "description" not in schema:
            schema["description"] = docs[name]
        if parameter.default is parameter.empty:
            required.append(name)
        elif isinstance(parameter.default, str | int | float | bool):
            schema["default"] = parameter.default.value if isinstance(parameter.default, enum.Enum) else parameter.default
        properties[name] = schema
    return object_schema(properties, tuple(required))


def schema_of_hint(hint: Any) -> Schema:  # Any: a type, or one of typing's forms
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint in (Any, object, inspect.Parameter.empty):
        return {}
    if origin is typing.Annotated:
        schema = schema_of_hint(arguments[0])
        text = next((each for each in arguments[1:] if isinstance(each, str)), None)
        return {**schema, "description": text} if text else schema
    if origin is typing.Literal:
        return _enum(list(arguments))
    if origin in (typing.Union, types.UnionType):
        return _union([schema_of_hint(each) for each in arguments])
    if origin in (dict, Mapping) or hint is dict:
        return {"type": "object"}
    if origin in (list, tuple, set, frozenset) or hint in (list, tuple, set) or _is_sequence(origin):
        return {"type": "array", "items": schema_of_hint(arguments[0])} if arguments else {"type": "array"}
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return _enum([each.value for each in hint])
    if inspect.isclass(hint) and issubclass(hint, PurePath):
        return {"type": "string"}
    raise TypeError(f"type {getattr(hint, '__name__', hint)} has no JSON form")


def _is_sequence(origin: Any) -> bool:  # Any: see schema_of_hint
    return inspect.isclass(origin) and issubclass(origin, Iterable) and not issubclass(origin, Mapping)


def _enum(values: list[Any]) -> Schema:  # Any: what a Literal or an Enum holds
    kinds = {_PLAIN.get(type(value)) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    return {"type": kind, "enum": list(values)} if kind else {"enum": list(values)}


def _union(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
