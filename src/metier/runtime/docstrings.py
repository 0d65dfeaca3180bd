"""The parameters that a docstring documents: Google, NumPy and Sphinx style in Python, JSDoc in JavaScript and TypeScript."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from metier.values import dataclass

__all__ = ["DocumentedParameter", "read_docstring", "read_jsdoc"]

_TYPES = {
    "int": "integer", "integer": "integer", "float": "number", "number": "number", "str": "string", "string": "string",
    "path": "string", "bool": "boolean", "boolean": "boolean",
}  # fmt: skip
_SECTIONS = re.compile(r"^\s*(?:Args|Arguments|Params|Parameters)\s*:?\s*$|^\s*[:@]param\b", re.MULTILINE)
_REPEATED = re.compile(
    r"(?:list|tuple|sequence|iterable|array)(?:\[|<|\s+of\s+)(?P<item>[^\]>]*)[\]>]?|(?P<items>.+)\[\]", re.IGNORECASE
)
_DEFAULT = re.compile(r"\b[Dd]efaults? (?:to|is)?:?\s*(?P<value>\"[^\"]*\"|'[^']*'|`[^`]*`|[\w./+-]*\w)")
_JSDOC_TAG = re.compile(r"^@(?P<tag>\w+)\s*(?P<rest>.*?)(?=^@|\Z)", re.MULTILINE | re.DOTALL)
_JSDOC_PARAMETER = re.compile(
    r"(?:\{(?P<type>[^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\s*)?(?:\[(?P<optional>[^\]=]+)(?:=(?P<default>[^\]]*))?\]|(?P<name>[\w$.-]+))"
    r"\s*(?:-\s+)?(?P<about>.*)", re.DOTALL,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentedParameter:
    name: str
    """As written: `bins`, or `--bins` for an option."""
    description: str = ""
    type: str = ""
    """The JSON type of one value; empty if the text does not say it."""
    choices: tuple[str | int | float, ...] = ()
    default: str | int | float | bool | None = None
    is_optional: bool = False
    is_repeated: bool = False


def read_docstring(text: str) -> tuple[DocumentedParameter, ...]:
    """Returns the parameters of a Python docstring, in its order; none if it has no section for them."""
    if not _SECTIONS.search(text):
        return ()
    from docstring_parser import ParseError, parse  # not needed by most commands

    try:
        found = parse(text).params
    except ParseError:
        return ()
    return tuple(
        _parameter(
            each.arg_name.lstrip("*"),
            each.type_name or "",
            " ".join((each.description or "").split()),
            default=each.default,
            is_optional=bool(each.is_optional),
            is_repeated=each.arg_name.startswith("*"),
        )
        for each in found
    )


def read_jsdoc(comment: str) -> tuple[DocumentedParameter, ...]:
    """Returns the parameters of a `/** … */` comment, in its order."""
    return tuple(_jsdoc_parameters(comment))


def _jsdoc_parameters(comment: str) -> Iterator[DocumentedParameter]:
    text = re.sub(r"^[ \t]*\*?[ \t]?", "", comment.strip().removeprefix("/**").removesuffix("*/"), flags=re.MULTILINE)
    for tag in _JSDOC_TAG.finditer(text):
        found = _JSDOC_PARAMETER.fullmatch(tag["rest"].strip()) if tag["tag"] in ("param", "arg", "argument") else None
        if found is None:
            continue
        written = (found["type"] or "").strip()
        yield _parameter(
            (found["optional"] or found["name"]).strip(),
            written.strip("=?!").removeprefix("..."),
            " ".join(found["about"].split()),
            default=found["default"],
            is_optional=found["optional"] is not None or written.endswith("="),
            is_repeated=written.startswith("..."),
        )


def _parameter(
    name: str, written: str, description: str, *, default: str | None, is_optional: bool, is_repeated: bool
) -> DocumentedParameter:
    listed = _REPEATED.fullmatch(written.strip())
    item = (listed["item"] or listed["items"] or "") if listed else written
    choices = _choices(item)
    kind = _type_of(choices) if choices else _json_type(item)
    said = default if default is not None else _said_default(description)
    return DocumentedParameter(
        name=name,
        description=description,
        type=kind,
        choices=choices,
        default=_value(said, kind) if said is not None else None,
        is_optional=is_optional or said is not None or "None" in re.split(r"\W+", written),
        is_repeated=is_repeated or listed is not None,
    )


def _json_type(written: str) -> str:
    words = [word.lower() for word in re.findall(r"\w+", written.rpartition(".")[2])]
    kinds = {_TYPES[word] for word in words if word in _TYPES}
    unknown = [word for word in words if word not in _TYPES and word not in ("none", "null", "undefined", "optional", "or")]
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 and not unknown else ""


def _choices(written: str) -> tuple[str | int | float, ...]:
    """Reads `{'bar', 'line'}`, `Literal['bar', 'line']` and `"bar"|"line"`."""
    inner = re.sub(r"^(?:typing\.)?Literal\[(.*)\]$|^\{(.*)\}$", lambda found: found[1] or found[2], written.strip())
    values = [_literal(part.strip()) for part in re.split(r"[|,]", inner)]
    found = [value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)]
    return tuple(found) if len(found) == len(values) and (len(found) > 1 or inner != written.strip()) else ()


def _type_of(choices: tuple[str | int | float, ...]) -> str:
    if all(isinstance(each, int) for each in choices):
        return "integer"
    return "string" if all(isinstance(each, str) for each in choices) else "number"


def _said_default(description: str) -> str | None:
    found = _DEFAULT.search(description)
    return found["value"].strip("`") if found else None


def _value(text: str, kind: str) -> str | int | float | bool | None:
    value = {"true": True, "false": False, "none": None, "null": None, "undefined": None}.get(text.lower(), _literal(text))
    if kind == "string" or (value is None and text.lower() not in ("none", "null", "undefined")):
        return value if isinstance(value, str) else text
    return value if isinstance(value, str | int | float | bool) else None


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
