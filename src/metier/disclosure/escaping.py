"""Escaping of text from a skill, so that it cannot pose as another part of the prompt.

A description may close its tag, a name may hold a line break, an instruction may be invisible. Values are escaped for the
format they stand in. Instructions keep their Markdown but lose the tags that structure a prompt. Invisible characters become
U+FFFD. The output of a script is escaped in the same way: it is data, and must not imitate the tags around it.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import category

__all__ = ["escape_instructions", "escape_markdown", "escape_output", "escape_xml", "one_line", "replace_invisible"]

# Tags that agents use for skills and turns. Other tags stay, because instructions may teach HTML.
_TAGS = (
    "available_skills|skill|skills|skill_content|skill_resources|active_skills|also_available|system|user|assistant"
    "|human|tool|tool_call|tool_use|tool_result|tool_response|function_calls|function_results|antml"
)
_STRUCTURE = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_ENVELOPE = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS}|script_result|skill_resource|stdout|stderr|file)\b)", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>])")
# Emoji and several scripts need joiners. Beside an ASCII letter a joiner only splits a word or a tag invisibly.
_JOINER = re.compile(r"(?<=[!-~])[\u200c\u200d]|[\u200c\u200d](?=[!-~])")
# One variation selector chooses a glyph; several in a row can carry hidden bytes.
_SELECTORS = re.compile(r"([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def replace_invisible(text: str) -> str:
    """Replaces invisible characters; keeps line breaks and tabs."""
    if text.isascii():
        return _CONTROL.sub("\ufffd", text)
    text = _SELECTORS.sub("\\1\ufffd", text)
    if "\u200c" in text or "\u200d" in text:
        text = _JOINER.sub("\ufffd", text)
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    # Line by line, because nearly all lines are printable, and testing each character of a long text takes milliseconds.
    return "\n".join(line if line.isprintable() else _replace_in_line(line) for line in text.split("\n"))


def _replace_in_line(line: str) -> str:
    # The spaces of every script (Zs) stay, although Python does not call them printable: French uses them before a colon.
    return "".join(
        char if char.isprintable() or char in "\t\u200c\u200d" or category(char) == "Zs" else "\ufffd" for char in line
    )


def one_line(text: str) -> str:
    return " ".join(replace_invisible(text).split())


def escape_xml(text: str) -> str:
    return escape(replace_invisible(text), quote=True)


def escape_markdown(text: str) -> str:
    """Escapes a value inside a line of Markdown, so that it cannot start a list, a link or a tag."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def escape_instructions(body: str) -> str:
    return _STRUCTURE.sub("&lt;", replace_invisible(body.replace("\r\n", "\n"))).strip()


def escape_output(text: str) -> str:
    """Escapes the output of a script or the text of a file, so that it cannot close the tags around it."""
    return _ENVELOPE.sub("&lt;", replace_invisible(text.replace("\r\n", "\n")))
