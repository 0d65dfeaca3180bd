"""Text from a skill, made unable to speak as anyone else.

A description that closes its tag, a name with a line break, an invisible instruction: whatever an author writes must
stay inside the place we give it. Values are escaped for the format they stand in; whole instructions keep their
Markdown but lose the tags by which a prompt is structured; characters that nobody can see are shown as U+FFFD. What a
script printed is treated the same way: it is data, and may not imitate the envelope in which it is handed over.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import category

__all__ = ["escape_instructions", "escape_markdown", "escape_output", "escape_xml", "one_line", "replace_invisible"]

# The tags by which agents mark skills and turns. Only these: instructions may teach HTML.
_TAGS = (
    "available_skills|skill|skills|skill_content|skill_resources|active_skills|also_available|system|user|assistant"
    "|human|tool|tool_call|tool_use|tool_result|tool_response|function_calls|function_results|antml"
)
_STRUCTURE = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_ENVELOPE = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS}|script_result|skill_resource|stdout|stderr|file)\b)", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>])")
# Joiners hold emoji and several scripts together; beside an ASCII letter they only split a word or a tag unseen.
_JOINER = re.compile(r"(?<=[!-~])[\u200c\u200d]|[\u200c\u200d](?=[!-~])")
# One variation selector chooses a glyph; a row of them carries bytes.
_SELECTORS = re.compile(r"([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def replace_invisible(text: str) -> str:
    """The text with everything invisible replaced, line breaks and tabs kept."""
    if text.isascii():
        return _CONTROL.sub("\ufffd", text)
    text = _SELECTORS.sub("\\1\ufffd", text)
    if "\u200c" in text or "\u200d" in text:
        text = _JOINER.sub("\ufffd", text)
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    # Line by line: nearly all are printable, and asking each character of a long text takes milliseconds.
    return "\n".join(line if line.isprintable() else _seen_line(line) for line in text.split("\n"))


def _seen_line(line: str) -> str:
    # The spaces of every script (Zs) are kept, though Python does not call them printable: they are how people write, in
    # French before a colon and in Chinese everywhere.
    return "".join(
        char if char.isprintable() or char in "\t\u200c\u200d" or category(char) == "Zs" else "\ufffd" for char in line
    )


def one_line(text: str) -> str:
    return " ".join(replace_invisible(text).split())


def escape_xml(text: str) -> str:
    return escape(replace_invisible(text), quote=True)


def escape_markdown(text: str) -> str:
    """A value inside a line of Markdown: it can neither start a list nor a link nor a tag."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def escape_instructions(body: str) -> str:
    return _STRUCTURE.sub("&lt;", replace_invisible(body.replace("\r\n", "\n"))).strip()


def escape_output(text: str) -> str:
    """What a script or a file says, unable to close the tags that we put around it."""
    return _ENVELOPE.sub("&lt;", replace_invisible(text.replace("\r\n", "\n")))
