"""The fast road for what nearly all skills are: a clean head, all text.

`parse` knows where everything stands and costs about 100 microseconds; over ten thousand skills that is the whole start. This
road uses a parser without positions, a tenth of the price, and answers only when the head loads without doubt. Anything odd
(a name that is not the folder's, a number where the standard wants text, YAML that the two parsers might read in different
ways) gives None, and the caller takes the slow road. Suite hold both roads to the same answer over real skills.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml_rs

from .extensions import EXTENSION_KEYS, TEXT_KEYS, WRITTEN_KEYS, read_extensions
from .fields import is_name
from .manifest import STANDARD_KEYS, Manifest, manifest_from
from .rules import MAX_COMPATIBILITY_LENGTH, MAX_DESCRIPTION_LENGTH, looks_like_a_date

__all__ = ["FastFields", "Fields", "fast_fields", "fast_manifest"]

Fields = dict[str, Any]  # Any: text, booleans, lists and maps of them, as YAML had them

# Anchors, aliases and tags begin a line, a value or an item. The pairs are a sieve that costs a tenth of the pattern.
_FEATURE = re.compile(r"(?:^ *|[:\-?] +|[\[,{] *)[&*!]", re.MULTILINE)
_FEATURE_PAIRS = {sign: tuple(before + sign for before in " \n[{,") for sign in "&*!"}
# A colon that opens an item of a flow collection: one parser reads a word there, the other an empty key.
_BARE_COLON = re.compile(r"[\[,{] *:")
# An empty block at the very end is "" to one parser and a line end to the other.
_EMPTY_BLOCK = re.compile(r"(?:^|[:\-] )[ ]*[|>][-+0-9]*\n\Z", re.MULTILINE)
# No comma between tools and no parenthesis inside another: then the tools are as the standard wants them.
_TOOLS = re.compile(r"[^,()]*(?:\([^()]*\)[^,()]*)*")
_LABELS = frozenset({"author", "tags", "keywords"})
_STANDARD = frozenset(STANDARD_KEYS)
_EMPTY: dict[str, str] = {}
_VERSION = re.compile(r"v?\d+(\.\d+){0,3}")
_DUPLICATES = yaml_rs.DuplicateKeyPolicy.Error
_loads = yaml_rs.loads


class FastFields(NamedTuple):
    fields: Fields
    warned: bool = False
    """Something is worth a warning, though it changes nothing; `parse` says what and where."""


def fast_fields(head: str, folder: str) -> FastFields | None:
    """The fields of a head that loads without doubt, or None if that takes a closer look."""
    if _is_unusual(head):
        return None
    try:
        # Dates stay text; a number would have lost the text it was written in, so it is refused below.
        fields = _loads(head, parse_datetime=False, duplicate_key_policy=_DUPLICATES)
    except (ValueError, TypeError):  # TypeError: a list or a map as a key
        return None
    if type(fields) is not dict or not _is_named_and_described(fields, folder):
        return None
    warned = _odd_lists(fields)
    if warned is None or not _has_clean_extensions(fields):
        return None
    return FastFields(fields, warned)


def fast_manifest(head: str, folder: str, *, strict: bool = False) -> Manifest | None:
    """The manifest of a head about which there is nothing to say, not even a warning; None if there may be."""
    quick = fast_fields(head, folder)
    if quick is None or quick.warned:
        return None
    if strict and not (
        quick.fields.keys() <= _STANDARD and not any(map(looks_like_a_date, quick.fields.get("metadata", _EMPTY).values()))
    ):
        return None
    return manifest_from(quick.fields, name=folder, description=quick.fields["description"].strip())[0]


def _is_unusual(head: str) -> bool:
    """Might the two parsers differ here, or might a character be one that a reader cannot see?"""
    # Not printable: tabs, controls, byte order marks, bidirectional and zero-width characters. A backslash can write
    # any of those inside quotes, and ` #` begins a comment that may swallow half a description.
    if not head.replace("\n", "").isprintable() or "\\" in head or head[:1] in "&*!%?" or "\n..." in head:
        return True
    # One character is found twenty times faster than two, and nearly no head has any of these.
    if ("#" in head and " #" in head) or ("<" in head and "<<" in head) or ("%" in head and "\n%" in head):
        return True
    if (head[-2:-1] in "|>+-" and _EMPTY_BLOCK.search(head)) or (("[" in head or "{" in head) and _BARE_COLON.search(head)):
        return True
    for sign, pairs in _FEATURE_PAIRS.items():
        if sign in head:
            for pair in pairs:
                if pair in head:
                    return _FEATURE.search(head) is not None
    return False


def _is_named_and_described(fields: dict[Any, Any], folder: str) -> bool:
    description, text = fields.get("description"), fields.get("compatibility", "-")
    return (
        fields.get("name") == folder
        and is_name(folder)
        and type(description) is str
        and 0 < len(description.strip()) <= MAX_DESCRIPTION_LENGTH
        and type(text) is str
        and 0 < len(text.strip()) <= MAX_COMPATIBILITY_LENGTH
        and _is_text(fields.get("license", "-"))
    )


def _odd_lists(fields: Fields) -> bool | None:
    """Are there lists where the standard wants text, which are read all the same? None where it is odder than that."""
    tools, metadata = fields.get("allowed-tools", ""), fields.get("metadata", _EMPTY)
    if type(metadata) is not dict:
        return None
    odd = False
    if type(tools) is not str:
        if type(tools) is not list or not all(type(tool) is str for tool in tools):
            return None
        odd = True
    elif not _TOOLS.fullmatch(tools):
        return None
    for key, value in metadata.items():
        if type(key) is not str:
            return None
        if type(value) is not str:
            if type(value) is not list or not all(type(item) is str for item in value):
                return None
            odd = True
    return odd


def _has_clean_extensions(fields: Fields) -> bool:
    metadata = fields.get("metadata", _EMPTY)
    extended = False
    for key, value in metadata.items():
        # Labels cannot be wrong; any other extension among the metadata wants reading.
        if (
            key in EXTENSION_KEYS
            and key not in _LABELS
            and not (key == "version" and type(value) is str and _VERSION.fullmatch(value))
        ):
            extended = True
    if not fields.keys() <= _STANDARD:
        if not all(type(key) is str and _is_text_tree(value) for key, value in fields.items() if key not in _STANDARD):
            return False
        if not all(_is_words(fields[key]) for key in TEXT_KEYS & fields.keys()):
            # `requires: true` is the word, and a boolean has forgotten how it was spelled.
            return False
        extended = extended or not WRITTEN_KEYS.isdisjoint(fields)
    return not extended or not read_extensions(fields, metadata)[1]


def _is_text(value: object) -> bool:
    return type(value) is str and not value.isspace() and value != ""


def _is_words(value: object) -> bool:
    return type(value) is str or (type(value) is list and all(type(item) is str for item in value))


def _is_text_tree(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and _is_text_tree(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_text_tree, value))
    return type(value) in (str, bool)
