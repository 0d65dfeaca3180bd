"""JSON schemas from type hints, and arguments held against them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from metier.runtime import BadArgumentsError
from metier.runtime.tools.schema import check_arguments, object_schema, schema_of_function
from metier.spec import Json


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def example(
    name: str,
    count: int,
    colour: Colour,
    kind: Literal["a", "b"],
    tags: list[str],
    extra: dict[str, int],
    where: Annotated[str, "Where it is."],
    maybe: int | None = None,
    loud: bool = False,
    ratio: float = 0.5,
    path: Path = Path(),
    many: Sequence[int] = (),
) -> str:
    """Do it.

    Args:
        name: What to call it.
        count (int): How often.
    """
    return f"{name}{count}{colour}{kind}{tags}{extra}{where}{maybe}{loud}{ratio}{path}{many}"


def test_every_constraint_that_json_schema_supports_is_included() -> None:
    schema = schema_of_function(example)
    assert schema["required"] == ["name", "count", "colour", "kind", "tags", "extra", "where"]
    assert schema["properties"] == {
        "name": {"type": "string", "description": "What to call it."},
        "count": {"type": "integer", "description": "How often."},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "extra": {"type": "object"},
        "where": {"type": "string", "description": "Where it is."},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "loud": {"type": "boolean", "default": False},
        "ratio": {"type": "number", "default": 0.5},
        "path": {"type": "string"},
        "many": {"type": "array", "items": {"type": "integer"}},
    }


def takes_any(*words: str) -> None: ...


def takes_socket(connection: Callable[[], None]) -> None: ...


@pytest.mark.parametrize("function", [takes_any, takes_socket])
def test_a_function_that_cannot_be_called_with_json_is_a_type_error(function: Callable[..., object]) -> None:
    with pytest.raises(TypeError):
        schema_of_function(function)


SCHEMA = object_schema(
    {
        "name": {"type": "string"},
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "of": {"type": "string", "enum": ["a", "b"]},
        "list": {"type": "array", "items": {"type": "integer"}},
        "any": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    ("name",),
)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "x"},
        {"name": "x", "n": 1},
        {"name": "x", "n": 9},
        {"name": "", "of": "b"},
        {"name": "x", "list": [1, 2]},
        {"name": "x", "any": None},
        {"name": "x", "n": 2.0},
    ],
)
def test_a_valid_value_passes(value: Json) -> None:
    check_arguments(value, SCHEMA)


@pytest.mark.parametrize(("value", "said"), [
    ({}, "name is missing"),
    ({"name": 3}, "name should be of type string, not 3"),
    ({"name": "x", "n": 0}, "n should be at least 1, not 0"),
    ({"name": "x", "n": 10}, "n should be at most 9, not 10"),
    ({"name": "x", "n": True}, "n should be of type integer, not True"),
    ({"name": "x", "of": "c"}, "of should be one of a, b, not 'c'"),
    ({"name": "x", "list": [1, "2"]}, "list[1] should be of type integer, not '2'"),
    ({"name": "x", "other": 1}, "unknown argument 'other'"),
    ({"name": "x", "any": "y"}, "any should be of type integer, not 'y'"),
])  # fmt: skip
def test_invalid_arguments_are_reported_in_one_sentence(value: Json, said: str) -> None:
    with pytest.raises(BadArgumentsError) as wrong:
        check_arguments(value, SCHEMA)
    assert str(wrong.value) == said
    assert wrong.value.hint.startswith("it takes name (required)")


def test_a_long_value_is_not_repeated_to_the_model() -> None:
    with pytest.raises(BadArgumentsError) as wrong:
        check_arguments({"name": ["x" * 10_000]}, SCHEMA)
    assert len(str(wrong.value)) < 200


def untyped(name, n=3): ...  # type: ignore[no-untyped-def]


def test_a_parameter_without_a_hint_is_text() -> None:
    schema: dict[str, Any] = schema_of_function(untyped)
    assert schema["properties"] == {"name": {"type": "string"}, "n": {"type": "string", "default": 3}}


@pytest.mark.parametrize(
    "doc",
    ["Args:\n    path (str): The table,\n        with a header: always.",
     "Parameters\n----------\npath : str\n    The table,\n    with a header: always.",
     ":param path: The table,\n    with a header: always."],
    ids=["google", "numpy", "sphinx"],
)  # fmt: skip
def test_descriptions_come_from_every_style_of_docstring(doc: str) -> None:
    def draw(path: str) -> None: ...

    draw.__doc__ = f"Draw.\n\n{doc}\n"
    assert schema_of_function(draw)["properties"] == {
        "path": {"type": "string", "description": "The table, with a header: always."}
    }
