"""Writes a new SKILL.md in the form of the standard: at most six keys, only text, quoted where YAML needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from .fields import SkillName
from .yaml import Scalar, read_yaml, scalar_value

__all__ = ["folded_value", "render_skill_file"]

_WIDTH = 110


def render_skill_file(
    name: SkillName, description: str, body: str, *, license: str | None = None, compatibility: str | None = None,  # noqa: A002
    metadata: Mapping[str, str] | None = None, allowed_tools: str | None = None,
) -> str:  # fmt: skip
    """Returns the text of the file, which parses to exactly these values."""
    fields = {"license": license, "compatibility": compatibility, "allowed-tools": allowed_tools}
    lines = [f"name: {_value(name.text)}", *folded_value("description", description)]
    lines += [f"{key}: {_value(value)}" for key, value in fields.items() if value]
    if metadata:
        lines.append("metadata:")
        lines += [f"  {_value(key)}: {_value(value)}" for key, value in metadata.items()]
    return "---\n" + "\n".join(lines) + f"\n---\n\n{body.strip()}\n"


def folded_value(key: str, text: str) -> Iterator[str]:
    """Yields the lines of a key with a long text, folded so that people can read and diff it."""
    words = text.split()
    if len(text) <= _WIDTH or " ".join(words) != text:
        yield f"{key}: {_value(text)}"
        return
    yield f"{key}: >-"
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > _WIDTH:
            yield f"  {line}"
            line = word
        else:
            line = f"{line} {word}".strip()
    yield f"  {line}"


def _value(text: str) -> str:
    """Returns the text plain if every parser reads it as text, else double-quoted: JSON strings are YAML strings."""
    tree = read_yaml(f"k: {text}\n")
    root = tree.root
    node = root.get("k") if root is not None and hasattr(root, "get") else None
    is_plain = re.fullmatch(r"[\w(/][^\n]*", text) and not text.endswith((" ", ":")) and "#" not in text and '"' not in text
    if (
        is_plain
        and isinstance(node, Scalar)
        and node.text == text
        and isinstance(scalar_value(node), str)
        and not _is_old_boolean(text)
    ):
        return text
    return json.dumps(text, ensure_ascii=False)


def _is_old_boolean(text: str) -> bool:
    # YAML 1.1 parsers, which most clients use, read these as booleans, dates or times.
    return text.lower() in ("yes", "no", "on", "off", "y", "n") or re.fullmatch(r"[\d:.\-_+TZ ]+", text) is not None
