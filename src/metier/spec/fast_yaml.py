"""The fast parser, for the clean frontmatter that nearly all skills have.

`parse_with_positions` knows the line of every value and takes about 100 microseconds for a file, which would be most of the
time that discovery of ten thousand skills takes. This parser has no positions and takes a tenth of that. It answers only where
both parsers certainly agree. For anything else (a name that is not the folder's, a number where the standard wants text, YAML
that the two might read differently) it returns None, and the caller uses the slow parser. Tests compare both on many files.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any, NamedTuple

from .extension_reader import read_extensions
from .extensions import EXTENSION_KEYS, EXTENSION_SPELLINGS, TEXT_KEYS
from .fields import is_name
from .manifest import STANDARD_KEYS, Manifest, manifest_from
from .rules import MAX_COMPATIBILITY_LENGTH, MAX_DESCRIPTION_LENGTH, looks_like_a_date

__all__ = ["FastFields", "Fields", "fast_fields", "fast_manifest"]

Fields = dict[str, Any]  # Any: text, booleans, lists and maps of them, as YAML had them

# Anchors, aliases and tags start a line, a value or an item. Checking one character before takes a tenth of the pattern's time.
_FEATURE = re.compile(r"(?:^ *|[:\-?] +|[\[,{] *)[&*!]", re.MULTILINE)
# yaml-rs recurses into block collections without a limit, and overflows the stack at some thousand levels: `- - - - ...`.
# Only deep indentation or a long run of indicators on one line can nest that deep.
_MAX_UNCHECKED = 600
_DEEP_INDENT = "\n" + " " * 64
_NESTED_RUN = re.compile(r"(?:[-?:] +){8}")
_NESTED_PAIRS = (*(f"{one} {two}" for one in "-?:" for two in "-?:"), "-  ", "?  ", ":  ")
# A colon that starts an item of a flow collection: one parser reads a word there, the other an empty key.
_BARE_COLON = re.compile(r"[\[,{] *:")
# An empty block at the very end is "" to one parser and a newline to the other.
_EMPTY_BLOCK = re.compile(r"(?:^|[:\-] )[ ]*[|>][-+0-9]*\n\Z", re.MULTILINE)
# Tools as the standard wants them: no comma between them, and no parenthesis inside another.
_TOOLS = re.compile(r"[^,()]*(?:\([^()]*\)[^,()]*)*")
_LABELS = frozenset({"author", "tags", "keywords"})
_STANDARD = frozenset(STANDARD_KEYS)
_EMPTY: dict[str, str] = {}
_VERSION = re.compile(r"v?\d+(\.\d+){0,3}")


def _import_yaml_rs() -> ModuleType:
    """Imports yaml-rs on a thread that never ends.

    Its memory allocator belongs to the thread that loads it: once that thread has ended, the next call crashes the process.
    """
    threading = sys.modules.get("threading")
    if threading is not None and threading.current_thread() is not threading.main_thread():
        loaded = threading.Event()

        def load() -> None:
            try:
                import yaml_rs  # noqa: F401
            finally:
                loaded.set()
            threading.Event().wait()

        threading.Thread(target=load, name="yaml-rs", daemon=True).start()
        loaded.wait()
    import yaml_rs

    return yaml_rs


_yaml_rs = _import_yaml_rs()
_DUPLICATES = _yaml_rs.DuplicateKeyPolicy.Error
_loads = _yaml_rs.loads


class FastFields(NamedTuple):
    fields: Fields
    warned: bool = False
    """There is something to warn about, which changes no value; `parse_with_positions` says what and where."""


def fast_fields(frontmatter: str, folder: str | None) -> FastFields | None:
    """Returns the fields, or None if the slow parser must decide."""
    if _is_unusual(frontmatter):
        return None
    try:
        # Dates stay text. A number has lost the text it was written in, so it is rejected below.
        fields = _loads(frontmatter, parse_datetime=False, duplicate_key_policy=_DUPLICATES)
    except (ValueError, TypeError):  # TypeError: a list or a map as a key
        return None
    if type(fields) is not dict or not _is_named_and_described(fields, folder):
        return None
    warned = _has_lists(fields)
    if warned is None or not _has_clean_extensions(fields):
        return None
    return FastFields(fields, warned)


def fast_manifest(frontmatter: str, folder: str | None, *, strict: bool = False) -> tuple[Manifest, Fields] | None:
    """Returns the manifest and the fields of a frontmatter without any problem, or None if the slow parser must decide."""
    fast = fast_fields(frontmatter, folder)
    if fast is None or fast.warned:
        return None
    if strict and not (
        fast.fields.keys() <= _STANDARD and not any(map(looks_like_a_date, fast.fields.get("metadata", _EMPTY).values()))
    ):
        return None
    fields = fast.fields
    return manifest_from(fields, name=fields["name"], description=fields["description"].strip())[0], fields


def _is_unusual(frontmatter: str) -> bool:
    """Returns whether the two parsers might differ, or a character might be invisible."""
    # Not printable: tabs, controls, byte order marks, bidirectional and zero-width characters. A backslash can write
    # any of those inside quotes, and ` #` starts a comment that may cut a description in half.
    if (
        not frontmatter.replace("\n", "").isprintable()
        or "\\" in frontmatter
        or frontmatter[:1] in "&*!%?"
        or "\n..." in frontmatter
    ):
        return True
    # Finding one character is twenty times faster than finding two, and hardly any frontmatter has these.
    if (
        ("#" in frontmatter and " #" in frontmatter)
        or ("<" in frontmatter and "<<" in frontmatter)
        or ("%" in frontmatter and "\n%" in frontmatter)
    ):
        return True
    if (frontmatter[-2:-1] in "|>+-" and _EMPTY_BLOCK.search(frontmatter)) or (
        ("[" in frontmatter or "{" in frontmatter) and _BARE_COLON.search(frontmatter)
    ):
        return True
    if len(frontmatter) > _MAX_UNCHECKED and _is_deep(frontmatter):
        return True
    for sign in "&*!":
        at = frontmatter.find(sign)
        while at >= 0:
            if frontmatter[at - 1] in " \n[{,":
                return _FEATURE.search(frontmatter) is not None
            at = frontmatter.find(sign, at + 1)
    return False


def _is_deep(frontmatter: str) -> bool:
    if _DEEP_INDENT in frontmatter:
        return True
    return any(pair in frontmatter for pair in _NESTED_PAIRS) and _NESTED_RUN.search(frontmatter) is not None


def _is_named_and_described(fields: dict[Any, Any], folder: str | None) -> bool:
    name, description, text = fields.get("name"), fields.get("description"), fields.get("compatibility", "-")
    return (
        type(name) is str
        and (folder is None or name == folder)
        and is_name(name)
        and type(description) is str
        and 0 < len(description.strip()) <= MAX_DESCRIPTION_LENGTH
        and type(text) is str
        and 0 < len(text.strip()) <= MAX_COMPATIBILITY_LENGTH
        and _is_text(fields.get("license", "-"))
    )


def _has_lists(fields: Fields) -> bool | None:
    """Returns whether there are lists where the standard wants text; None where the slow parser must decide."""
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
        # Labels cannot be wrong; any other extension in the metadata must be read.
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
            # `requires: true` means the word, and a boolean does not know how it was spelled.
            return False
        extended = extended or not EXTENSION_SPELLINGS.isdisjoint(fields)
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
