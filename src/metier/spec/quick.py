"""The fast road for what nearly all skills are: a clean head, all text.

`parse` knows where everything stands and costs about 100 microseconds; over ten thousand skills that is the whole start. This
road uses a parser without positions, a tenth of the price, and answers only when there is nothing to report. Anything odd
(any problem at all, a value that is not text where the standard wants text, YAML that the two parsers might read in
different ways) gives None, and the caller takes the slow road. Tests hold both roads to the same answer over real skills.
"""

from __future__ import annotations

import re
from typing import Any

import yaml_rs

from .extensions import EXTENSION_KEYS, WRITTEN_KEYS, read_extensions
from .manifest import STANDARD_KEYS
from .name import is_name
from .rules import LONGEST_COMPATIBILITY, LONGEST_DESCRIPTION

__all__ = ["Fields", "quick_fields"]

Fields = dict[str, Any]  # Any: text, booleans, lists and maps of them, as YAML had them

# Anchors, aliases and tags begin a line, a value or an item. The pairs are a sieve that costs a tenth of the pattern.
_FEATURE = re.compile(r"(?:^ *|[:\-?] +|[\[,{] *)[&*!]", re.MULTILINE)
_FEATURE_PAIRS = tuple(before + sign for sign in "&*!" for before in " \n[{,")
# A colon that opens an item of a flow collection: one parser reads a word there, the other an empty key.
_BARE_COLON = re.compile(r"[\[,{] *:")
# No comma between tools and no parenthesis inside another: then the tools are as the standard wants them.
_TOOLS = re.compile(r"[^,()]*(?:\([^()]*\)[^,()]*)*")
_LABELS = frozenset({"author", "tags", "keywords"})
_STANDARD = frozenset(STANDARD_KEYS)
_EMPTY: dict[str, str] = {}
_VERSION = re.compile(r"v?\d+(\.\d+){0,3}")
_DUPLICATES = yaml_rs.DuplicateKeyPolicy.Error
_loads = yaml_rs.loads


def quick_fields(head: str, folder: str) -> Fields | None:
    """The fields of a head that has no problem whatsoever, or None if that takes a closer look."""
    if _is_unusual(head):
        return None
    try:
        # Dates stay text; a number would have lost the text it was written in, so `_is_clean` refuses those.
        fields = _loads(head, parse_datetime=False, duplicate_key_policy=_DUPLICATES)
    except (ValueError, TypeError):  # TypeError: a list or a map as a key
        return None
    return fields if type(fields) is dict and _is_clean(fields, folder) else None


def _is_unusual(head: str) -> bool:
    """Might the two parsers differ here, or might a character be one that a reader cannot see?"""
    # Not printable: tabs, controls, byte order marks, bidirectional and zero-width characters. A backslash can write
    # any of those inside quotes, and ` #` begins a comment that may swallow half a description.
    if not head.replace("\n", "").isprintable() or "\\" in head or " #" in head or "<<" in head:
        return True
    if head[:1] in "&*!%?" or "\n%" in head or "\n..." in head:
        return True
    # An empty block at the very end is "" to one parser and a line end to the other.
    if head[-2:-1] in "|>+-" or _BARE_COLON.search(head):
        return True
    for pair in _FEATURE_PAIRS:
        if pair in head:
            return _FEATURE.search(head) is not None
    return False


def _is_clean(fields: dict[Any, Any], folder: str) -> bool:
    get = fields.get
    description = get("description")
    if get("name") != folder or type(description) is not str or not is_name(folder):
        return False
    if not 0 < len(description.strip()) <= LONGEST_DESCRIPTION:
        return False
    tools, text = get("allowed-tools", ""), get("compatibility", "-")
    if type(tools) is not str or not _TOOLS.fullmatch(tools) or type(text) is not str:
        return False
    if not 0 < len(text.strip()) <= LONGEST_COMPATIBILITY or not _is_text(get("license", "-")):
        return False
    metadata = get("metadata", _EMPTY)
    if type(metadata) is not dict:
        return False
    extended = False
    for key, value in metadata.items():
        if type(key) is not str or type(value) is not str:
            return False
        # Labels cannot be wrong; any other extension among the metadata wants reading.
        if key in EXTENSION_KEYS and key not in _LABELS and not (key == "version" and _VERSION.fullmatch(value)):
            extended = True
    if not fields.keys() <= _STANDARD:
        if not all(type(key) is str and _is_text_tree(value) for key, value in fields.items() if key not in _STANDARD):
            return False
        extended = extended or not WRITTEN_KEYS.isdisjoint(fields)
    return not extended or not read_extensions(fields, metadata)[1]


def _is_text(value: object) -> bool:
    return type(value) is str and not value.isspace() and value != ""


def _is_text_tree(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and _is_text_tree(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_text_tree, value))
    return type(value) in (str, bool)
