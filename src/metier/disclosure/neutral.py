"""Text from a skill, made unable to speak as anyone else.

A description that closes its tag, a name with a line break, an invisible instruction: whatever an author writes must
stay inside the place we give it. Values are escaped for the format they stand in; whole instructions keep their
Markdown but lose the tags by which a prompt is structured; characters that nobody can see are shown as U+FFFD.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import category

__all__ = ["for_markdown", "for_xml", "instructions_text", "one_line", "seen"]

# The tags by which agents mark skills and turns. Only these: instructions may teach HTML.
_STRUCTURE = re.compile(
    r"<(?=/?\s*(?:available_skills|skill|skills|skill_content|skill_resources|active_skills|also_available|system|user|assistant"
    r"|human|tool|function_calls|antml)\b)",
    re.IGNORECASE,
)
# Zero-width joiners hold emoji and several scripts together. The spaces of every script (Zs) are kept too, though Python does
# not call them printable: they are how people write, in French before a colon and in Chinese everywhere.
_KEPT = "\n\t\u200c\u200d"
_MARKDOWN = re.compile(r"([\\`*_\[\]<>])")


def seen(text: str) -> str:
    """The text with everything invisible replaced, line breaks and tabs kept."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _KEPT or category(char) == "Zs" else "\ufffd" for char in text)


def one_line(text: str) -> str:
    return " ".join(seen(text).split())


def for_xml(text: str) -> str:
    return escape(seen(text), quote=True)


def for_markdown(text: str) -> str:
    """A value inside a line of Markdown: it can neither start a list nor a link nor a tag."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def instructions_text(body: str) -> str:
    return _STRUCTURE.sub("&lt;", seen(body.replace("\r\n", "\n"))).strip()
