"""Escaping of text from a skill, so that it cannot pose as another part of the prompt.

A description may close its tag, a name may hold a line break, an instruction may be invisible. Values are escaped for the
format they stand in. Every other text (instructions, files, output, errors) keeps its Markdown and HTML, but the tags that we
and other agents put around parts of a prompt are broken, and so are the tokens by which models mark turns. The first character
becomes an HTML entity, which a reader and a model still understand: `&lt;|im_start|>`. Invisible characters become U+FFFD.

`Human:` and `Assistant:` at the start of a line stay: they are common in honest examples, and no model of today takes them for
turns inside a message.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import category, normalize

__all__ = [
    "ENVELOPE_TAGS", "escape_instructions", "escape_markdown", "escape_output", "escape_xml", "one_line", "replace_invisible",
]  # fmt: skip

ENVELOPE_TAGS = (
    "available_skills", "skill", "skills", "also_available", "active_skills", "skill_content", "skill_resources",
    "skill_resource", "script_result", "stdout", "stderr", "file", "tool_output", "agent_session",
)  # fmt: skip
"""The tags that we put around text of skills. A test compares them with the code."""
# Tags that other agents use for turns and tools. Other tags stay, because instructions may teach HTML.
_AGENT_TAGS = (
    "system", "user", "assistant", "human", "tool", "tool_call", "tool_use", "tool_result", "tool_response", "function_calls",
    "function_results", "antml",
)  # fmt: skip
# ChatML, Llama, Gemma, Mistral, DeepSeek and their relatives.
_TURNS = r"<\|[^\s<>|]{1,40}\|>|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|<(?:bos|eos)>"
_BRACKETS = r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
_TAGS = "|".join((*ENVELOPE_TAGS, *_AGENT_TAGS))
_MARK = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)|(?={_TURNS})<|{_BRACKETS}", re.IGNORECASE)
# `<file>` is the usual placeholder in instructions, and means nothing outside the two tags that hold it.
_MARK_IN_INSTRUCTIONS = re.compile(
    rf"<(?=\s*/\s*file\b)|<(?=\s*/?\s*(?!file\b)(?:{_TAGS})\b)|(?={_TURNS})<|{_BRACKETS}", re.IGNORECASE
)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>])")
# Emoji and several scripts need joiners. Beside an ASCII letter a joiner only splits a word or a tag invisibly.
_JOINER = re.compile(r"(?<=[!-~])[\u200c\u200d]|[\u200c\u200d](?=[!-~])")
# One variation selector chooses a glyph; several in a row can carry hidden bytes.
_SELECTORS = re.compile(r"([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class _Folding(dict[int, int]):
    """The plain letter for each wide, small or styled one, such as U+FF1C for `<`; other characters stay."""

    def __missing__(self, code: int) -> int:
        plain = normalize("NFKC", chr(code))
        self[code] = folded = ord(plain) if len(plain) == 1 else code
        return folded


_FOLDING = _Folding()


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
    return _break_marks(escape(replace_invisible(text), quote=True))


def escape_markdown(text: str) -> str:
    """Escapes a value inside a line of Markdown, so that it cannot start a list, a link or a tag."""
    return _MARKDOWN.sub(r"\\\1", _break_marks(one_line(text), kept="<["))


def escape_instructions(body: str) -> str:
    return _break_marks(replace_invisible(body.replace("\r\n", "\n")), _MARK_IN_INSTRUCTIONS).strip()


def escape_output(text: str) -> str:
    """Escapes text that we pass on, such as the output of a script or a file, so that it cannot close the tags around it."""
    return _break_marks(replace_invisible(text.replace("\r\n", "\n")))


def _break_marks(text: str, marks: re.Pattern[str] = _MARK, *, kept: str = "") -> str:
    """Breaks the marks, except those that begin with a character of `kept`, which the caller escapes."""
    if text.isascii():
        return text if kept else marks.sub(_entity, text)
    # Every character is folded to exactly one, so that a place in the folded text is the same place in the text.
    plain = text.translate(_FOLDING)
    parts, last = [], 0
    for found in marks.finditer(plain):
        if text[found.start()] not in kept:
            parts += [text[last : found.start()], _entity(found)]
            last = found.end()
    return "".join([*parts, text[last:]]) if parts else text


def _entity(found: re.Match[str]) -> str:
    return "&lt;" if found[0] == "<" else f"&#{ord(found[0])};"
