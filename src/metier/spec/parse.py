"""Parses the bytes of a SKILL.md into a Manifest and a Report.

One pass collects every problem. Under the lenient verdict there is a manifest whenever a model could use the skill: it has a
description and a name. No content of a file makes this raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metier.lazy import lazy_pattern
from metier.values import dataclass, field, replace

from .codes import Verdict, apply_verdict, problem
from .document import Document, split_document
from .extensions import TEXT_KEYS
from .manifest import STANDARD_KEYS, Manifest, manifest_from
from .report import Problem, Report, Severity
from .rules import check_fields
from .yaml import Json, MapNode, Node, Scalar, YamlTree, quote_colons, read_yaml, to_json, to_text

__all__ = ["ParseResult", "parse", "parse_with_positions"]

_FRONTMATTER_LINE = 2
# NEL and the Unicode separators end a line in YAML, so its marks count them.
_YAML_LINE_END = lazy_pattern("[\\n\\x85\\u2028\\u2029]")
_KEY_PATH = lazy_pattern(r"[A-Za-z_-]+(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseResult:
    manifest: Manifest | None
    """None if no client could use the file; the report says why."""
    report: Report
    document: Document
    fields: Mapping[str, Json] = field(default_factory=dict)
    """The frontmatter as JSON values, from which `manifest_from` makes the manifest."""

    @property
    def body(self) -> str:
        return self.document.body


def parse(data: bytes, *, folder: str | None = None, verdict: Verdict = Verdict.LENIENT) -> ParseResult:
    """Parses one SKILL.md. `folder` is the name of its folder, with which the name is compared if it is given."""
    document = split_document(data)
    if document.has_frontmatter and not document.problems and verdict is not Verdict.COMPAT:
        # Imported here: splitting a file into its parts needs no YAML parser.
        from .fast_yaml import fast_manifest

        fast = fast_manifest(document.frontmatter, folder, strict=verdict is Verdict.STRICT)
        if fast is not None:
            manifest, fields = fast
            return ParseResult(manifest=manifest, report=Report(), document=document, fields=fields)
    return parse_with_positions(document, folder, verdict)


def parse_with_positions(document: Document, folder: str | None, verdict: Verdict) -> ParseResult:
    """Parses with PyYAML, which gives every problem its line and column."""
    found = list(document.problems)
    manifest = None
    fields: dict[str, Json] = {}
    if document.has_frontmatter:
        tree, colons = _tree(document)
        found += colons
        found += tree.problems
        if isinstance(tree.root, MapNode):
            found += check_fields(tree.root, folder)
            found += _description_cut_by_comment(tree.root, document.frontmatter)
            fields = _fields(tree.root)
            manifest, odd = _manifest(tree.root, fields, folder)
            found += odd
        elif not tree.problems:
            found.append(problem("SK009", "the frontmatter is not a list of `key: value` lines", line=_FRONTMATTER_LINE,
                                 column=1, hint="write `name:` and `description:`, one per line"))  # fmt: skip
    judged = [kept for one in found if (kept := apply_verdict(one, verdict))]
    if any(one.severity is Severity.ERROR for one in judged if one.code in _FATAL):
        manifest = None
    if manifest is None:
        # No folder gives the skill a name, so the missing name is an error.
        judged = [replace(one, severity=Severity.ERROR) if one.code in ("SK101", "SK106") else one for one in judged]
    return ParseResult(manifest=manifest, report=Report.of(judged), document=document, fields=fields)


_TEXT_KEYS = TEXT_KEYS.union(STANDARD_KEYS)

# Problems that leave nothing a model could use, under every verdict.
_FATAL = frozenset({"SK003", "SK004", "SK005", "SK006", "SK007", "SK008", "SK009", "SK010", "SK011", "SK110", "SK112", "SK161"})


def _tree(document: Document) -> tuple[YamlTree, tuple[Problem, ...]]:
    """Returns the frontmatter's tree. Where YAML fails on an unquoted colon, the value is quoted and parsed again."""
    tree = read_yaml(document.frontmatter, first_line=_FRONTMATTER_LINE)
    if tree.root is not None or not any(one.code == "SK008" for one in tree.problems):
        return tree, ()
    quoted, lines = quote_colons(document.frontmatter)
    if not lines:
        return tree, ()
    second = read_yaml(quoted, first_line=_FRONTMATTER_LINE)
    if second.root is None:
        return tree, ()
    return second, tuple(
        problem(
            "SK012",
            f"the value of {key!r} holds `: ` and is not quoted",
            line=_FRONTMATTER_LINE + line,
            column=column,
            hint="put the value in quotes; `metier skill fix` does it",
        )
        for key, line, column in lines
    )


def _fields(root: MapNode) -> dict[str, Json]:
    return {key.text: to_text(value) if key.text in _TEXT_KEYS else to_json(value) for key, value in root.entries}


def _manifest(root: MapNode, fields: Mapping[str, Json], folder: str | None) -> tuple[Manifest | None, tuple[Problem, ...]]:
    name, description = fields.get("name"), fields.get("description")
    label = name.strip() if isinstance(name, str) else ""
    if not (label or folder) or not isinstance(description, str):
        return None, ()
    manifest, odd = manifest_from(fields, name=label or str(folder), description=description.strip())
    return manifest, tuple(_place(one, root) for one in odd)


def _place(found: Problem, root: MapNode) -> Problem:
    """Returns the problem with the line of its key, because extensions are read from values without positions."""
    match = _KEY_PATH.match(found.message)
    node: Node = root
    for part in match[0].split(".") if match else ():
        metadata = root.get("metadata")
        inner = node.get(part) if isinstance(node, MapNode) else None
        if inner is None and node is root and isinstance(metadata, MapNode):
            inner = metadata.get(part)
        node = inner or node
    return problem(found.code, found.message, hint=found.hint, line=node.line, column=node.column)


def _description_cut_by_comment(root: MapNode, frontmatter: str) -> Iterator[Problem]:
    node = root.get("description")
    if not isinstance(node, Scalar) or node.quoted:
        return
    line = _YAML_LINE_END.split(frontmatter)[node.line - _FRONTMATTER_LINE]
    rest = line[node.column - 1 + len(node.text) :]
    if rest.lstrip().startswith("#") and line[node.column - 1 :].startswith(node.text):
        yield problem("SK213", f"the description ends before {rest.strip()[:30]!r}, which YAML takes for a comment",
                      hint="quote the whole value", line=node.line, column=node.column + len(node.text) + 1)  # fmt: skip
