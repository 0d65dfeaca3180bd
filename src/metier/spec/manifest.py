"""The frontmatter of SKILL.md as one value."""

from __future__ import annotations

import json
from collections.abc import Mapping

from metier.values import dataclass, field

from .extension_reader import read_extensions
from .extensions import Extensions
from .fields import parse_tools
from .report import Problem
from .text import first_sentence
from .yaml import Json

__all__ = ["STANDARD_KEYS", "Manifest", "manifest_from"]

STANDARD_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_STANDARD = frozenset(STANDARD_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The fields of a frontmatter. Under the lenient verdict the name may break the rules of the standard."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    """From text to text, as in the standard; lists and maps are flattened."""
    allowed_tools: tuple[str, ...] = ()
    extensions: Extensions = field(default_factory=Extensions)
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Keys beyond the standard, as JSON values."""

    @property
    def brief(self) -> str:
        """One line for lists and registry pages."""
        return self.extensions.brief_description or first_sentence(self.description)


def manifest_from(fields: Mapping[str, Json], *, name: str, description: str) -> tuple[Manifest, tuple[Problem, ...]]:
    """Returns the manifest of these fields, and the problems of its extensions."""
    raw = fields.get("metadata")
    metadata: Mapping[str, Json] = raw if isinstance(raw, dict) else {}
    extra = {key: value for key, value in fields.items() if key not in _STANDARD}
    extensions, odd = read_extensions(extra, metadata)
    manifest = Manifest(
        name=name,
        description=description,
        license=_text(fields.get("license")),
        compatibility=_text(fields.get("compatibility")),
        metadata={key: _flat(value) for key, value in metadata.items()},
        allowed_tools=_tools(fields.get("allowed-tools")),
        extensions=extensions,
        extra=extra,
    )
    return manifest, odd


def _text(value: Json) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _flat(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        words = [str(item) for item in value]
        return (", " if any(" " in word for word in words) else " ").join(words)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _tools(value: Json) -> tuple[str, ...]:
    if isinstance(value, list):
        # An item may name several tools: `- Read Grep` is two.
        return tuple(tool for item in value if isinstance(item, str) for tool in parse_tools(item))
    return parse_tools(value) if isinstance(value, str) else ()
