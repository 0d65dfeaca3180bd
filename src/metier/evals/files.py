"""The eval files of a skill. They are untrusted input.

`evals/eval_queries.json` is a list of `{query, should_trigger}`. `evals/evals.json` holds tasks, whose assertions are called
`assertions` by the standard's pages and `expectations` by skill-creator; both are read, and so are files at the skill's root,
where some authors keep them. A task is also a request that the skill should be selected for, so its prompt counts as one.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from metier.errors import MetierError, NotFoundError, suggested_name
from metier.spec import Files, resource_path
from metier.values import dataclass

__all__ = [
    "Assertion",
    "EvalCase",
    "EvalFileError",
    "TriggerQuery",
    "balance",
    "meant_for_others",
    "read_cases",
    "read_queries",
]

QUERY_FILES = ("evals/eval_queries.json", "eval_queries.json")
CASE_FILES = ("evals/evals.json", "evals.json")
_LARGEST = 1 << 20
_MOST = 1_000
_LONGEST = 20_000
_FEWEST_OF_A_KIND = 8
_SHOULD = ("query", "prompt")


class EvalFileError(MetierError, ValueError):
    """An eval file is not valid."""

    code = "bad-evals"
    exit_status = 2

    def __init__(self, file: str, what: str, *, hint: str = "") -> None:
        example = f"assets/{file.rpartition('/')[2]}"
        usual = f"the format is in docs/evals.md; `metier skill read skill-authoring {example}` prints an example"
        super().__init__(f"{file}: {what}", hint=hint or usual)
        self.file = file


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerQuery:
    """A request, and whether the skill should be selected for it."""

    text: str
    should_trigger: bool
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A claim about a result. With a command a program checks it, else a model does."""

    text: str
    command: tuple[str, ...] = ()
    """A file of the skill and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """A task with the description of a good result."""

    name: str
    """A valid folder name: the results folder has one for each case."""
    id: str
    prompt: str
    expected: str = ""
    files: tuple[str, ...] = ()
    assertions: tuple[Assertion, ...] = ()


def read_queries(files: Files, *, skill: str = "the skill") -> tuple[TriggerQuery, ...]:
    """Every request of every file, each once. NotFoundError if there is none, EvalFileError for the first mistake."""
    found: dict[str, TriggerQuery] = {}
    documents = list(_documents(files, (*QUERY_FILES, *CASE_FILES)))
    for file, document in documents:
        for place, row in _rows(file, document, keys=("queries", "evals")):
            query = _query(file, place, row, implied=file in CASE_FILES)
            known = found.setdefault(query.text, query)
            if known.should_trigger != query.should_trigger:
                raise EvalFileError(file, f"{place} contradicts another entry with the same query")
    if not found:
        raise NotFoundError(
            f"{skill} has no trigger evals", hint=f'write {QUERY_FILES[0]}: [{{"query": "…", "should_trigger": true}}, …]'
        )
    return tuple(found.values())


def read_cases(files: Files, *, skill: str = "the skill") -> tuple[EvalCase, ...]:
    """The tasks. Entries that only say whether the skill should trigger are skipped."""
    cases: dict[str, EvalCase] = {}
    known = frozenset(entry.path for entry in files.list())
    for file, document in _documents(files, CASE_FILES):
        for number, (place, row) in enumerate(_rows(file, document, keys=("evals",)), start=1):
            if "should_trigger" in row and not ({"assertions", "expectations", "expected_output"} & row.keys()):
                continue
            case = _case(known, file, place, row, number)
            if case.name in cases:
                raise EvalFileError(
                    file, f"{place} has the same name as another entry, {case.name!r}", hint="give each its own id"
                )
            cases[case.name] = case
    if not cases:
        raise NotFoundError(f"{skill} has no output evals", hint=f"write {CASE_FILES[0]}: see docs/evals.md")
    return tuple(cases.values())


def balance(queries: tuple[TriggerQuery, ...]) -> tuple[str, ...]:
    """Warnings about a set of queries that is too small."""
    wanted = sum(query.should_trigger for query in queries)
    counts = {"should trigger": wanted, "should not trigger": len(queries) - wanted}
    few = {kind: count for kind, count in counts.items() if count < _FEWEST_OF_A_KIND}
    amounts = {0: "no queries", 1: "only 1 query"}
    return tuple(
        f"{amounts.get(count, f'only {count} queries')} {kind}; a test needs {_FEWEST_OF_A_KIND} or more of each kind"
        for kind, count in few.items()
    )


def meant_for_others(files: Files, skill: str) -> tuple[str, ...]:
    """Warnings about files that name another skill, usually copied with a template."""
    return tuple(
        f"{file} names another skill, {document['skill_name']!r}"
        for file, document in _documents(files, (*QUERY_FILES, *CASE_FILES))
        if isinstance(document, dict) and document.get("skill_name", skill) != skill
    )


def _documents(files: Files, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:  # Any: whatever the JSON says
    for name in names:
        try:
            data = files.read(name, limit=_LARGEST)
        except NotFoundError:
            continue
        try:
            yield name, json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
        except UnicodeDecodeError:
            raise EvalFileError(name, "is not UTF-8") from None
        except json.JSONDecodeError as error:
            raise EvalFileError(name, f"line {error.lineno} is not JSON: {error.msg.lower()}") from None
        except (RecursionError, ValueError) as error:
            what = "is nested too deeply" if isinstance(error, RecursionError) else f"is not JSON: {error}"
            raise EvalFileError(name, what) from None


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON value")


def _rows(file: str, document: Any, *, keys: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = document
    if isinstance(document, dict):
        rows = next((document[key] for key in keys if key in document), None)
    if not isinstance(rows, list):
        raise EvalFileError(file, f"is not a list and has no list {keys[-1]!r}")
    if len(rows) > _MOST:
        raise EvalFileError(file, f"has {len(rows):,} entries; the limit is {_MOST:,}", hint="keep the most informative ones")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise EvalFileError(file, f"entry {number} is {_kind(row)}, not an object")
        yield f"entry {number}", row


def _query(file: str, place: str, row: Mapping[str, Any], *, implied: bool) -> TriggerQuery:
    key = next((key for key in _SHOULD if key in row), _SHOULD[implied])
    should = row.get("should_trigger", True if implied else None)
    if not isinstance(should, bool):
        said = _kind(should) if "should_trigger" in row else "missing"
        raise EvalFileError(file, f"{place}: should_trigger is {said}, not true or false")
    return TriggerQuery(text=_text(file, place, row, key), should_trigger=should, file=file)


def _case(known: frozenset[str], file: str, place: str, row: Mapping[str, Any], number: int) -> EvalCase:
    key = row.get("id", number)
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise EvalFileError(file, f"{place}: id is {_kind(key)}, not a number or a text")
    label = row.get("name", row.get("eval_name", key))
    slug = suggested_name(str(label))
    name = f"eval-{slug}" if slug.isdigit() or not slug else slug
    claims = row.get("assertions", row.get("expectations", []))
    if not isinstance(claims, list):
        raise EvalFileError(file, f"{place}: assertions is {_kind(claims)}, not a list")
    return EvalCase(
        name=name,
        id=str(key),
        prompt=_text(file, place, row, "prompt"),
        expected=_text(file, place, row, "expected_output", needed=False),
        files=_inputs(known, file, place, row),
        assertions=tuple(_assertion(known, file, place, claim) for claim in claims[:_MOST]),
    )


def _inputs(known: frozenset[str], file: str, place: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    names = row.get("files", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise EvalFileError(file, f"{place}: files is {_kind(names)}, not a list of paths")
    return tuple(_file(known, file, place, name) for name in names)


def _file(known: frozenset[str], file: str, place: str, name: str) -> str:
    """Returns the path of an existing file of the skill."""
    path = resource_path(name)
    if path not in known:
        raise EvalFileError(file, f"{place}: the skill has no file {name!r}", hint="paths start at the skill's folder")
    return path


def _assertion(known: frozenset[str], file: str, place: str, claim: Any) -> Assertion:
    if isinstance(claim, str):
        claim = {"text": claim}
    if not isinstance(claim, dict):
        raise EvalFileError(file, f"{place}: an assertion is {_kind(claim)}, not a text or an object")
    command = claim.get("command", "")
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise EvalFileError(file, f"{place}: the command {command!r} has {str(error).lower()}") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise EvalFileError(file, f"{place}: a command is {_kind(command)}, not a text or a list of words")
    text = _text(file, place, claim, "text")
    if words:
        # Checked now, because otherwise it would fail in both variants after every run was paid for.
        _file(known, file, place, words[0])
    return Assertion(text=text, command=tuple(words))


def _text(file: str, place: str, row: Mapping[str, Any], key: str, *, needed: bool = True) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise EvalFileError(file, f"{place}: {key} is {_kind(value)}, not a text")
    if needed and not value.strip():
        raise EvalFileError(file, f"{place}: {key} is {'empty' if key in row else 'missing'}")
    if len(value) > _LONGEST:
        raise EvalFileError(file, f"{place}: {key} is longer than {_LONGEST:,} characters", hint="put long input into a file")
    # JSON can hold half a surrogate pair, and a file cannot.
    return value.encode("utf-8", "replace").decode()


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
