"""Makes skills of the rules, commands and prompts of other agents, and of sections of AGENTS.md. Pure.

| file | from |
|---|---|
| `*.mdc`, `.cursorrules` | rules of Cursor: `description`, `globs`, `alwaysApply` |
| `*.instructions.md` | instructions of Copilot: `description`, `applyTo` |
| `*.prompt.md` | prompts of Copilot: `description`, `argument-hint`, `${input:name}` |
| `.claude/commands/*.md`, `.codex/prompts/*.md`, other `*.md` | commands: `description`, `argument-hint`, `$ARGUMENTS`, `$1` |
| `AGENTS.md`, `CLAUDE.md`, `GEMINI.md`, `copilot-instructions.md` | one skill for each section of the second level |

Their front matter is not quite YAML (`globs: *.ts` is an alias there), so it is read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from metier.errors import UsageError, suggested_name
from metier.spec import (
    MAX_DESCRIPTION_LENGTH,
    SKILL_FILE,
    SkillName,
    first_sentence,
    format_tools,
    is_name,
    parse_tools,
    render_skill_file,
    split_document,
)
from metier.values import dataclass

__all__ = ["ConvertedSkill", "convert_file", "is_convertible"]

_SECTION_FILES = ("agents.md", "claude.md", "gemini.md", "copilot-instructions.md")
_ENDINGS = (".prompt.md", ".instructions.md", ".mdc", ".md")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*:\s*(.*)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_WHEN = re.compile(r"\buse (?:it |this )?(?:when|for|if|whenever)\b", re.IGNORECASE)
_POSITION = re.compile(r"\$([1-9])\b")
_INPUT = re.compile(r"\$\{input:([\w-]+)(?::([^}]*))?\}")
_SHELL = re.compile(r"!`([^`\n]+)`")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_KNOWN = frozenset({"description", "globs", "alwaysapply", "applyto", "argument-hint", "allowed-tools", "name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedSkill:
    name: str
    text: str
    """The SKILL.md."""
    before: str
    """The part of the source that it was made of."""
    notes: tuple[str, ...] = ()
    """Parts that have no place in a skill, and points that its author should look at."""


def is_convertible(path: str) -> bool:
    """Returns whether a file of this name may be converted."""
    name = path.rpartition("/")[2]
    return name != SKILL_FILE and (name == ".cursorrules" or name.lower().endswith(_ENDINGS))


def convert_file(path: str, data: bytes, *, sections: Sequence[str] = ()) -> tuple[ConvertedSkill, ...]:
    """Returns the skills of one file. `sections` picks headings of AGENTS.md. Raises UsageError for a file of another kind."""
    name = path.rpartition("/")[2]
    if name == SKILL_FILE:
        raise UsageError(f"{path} is a skill already", hint=f"check it with `metier skill lint {path}`")
    if not is_convertible(path):
        raise UsageError(f"{path} is no rule, command, prompt or AGENTS.md", hint="name a .mdc or .md file")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    if _CONTROL.search(text):
        raise UsageError(f"{path} has control characters", hint="remove them first; a skill is plain text")
    if name.lower() in _SECTION_FILES:
        return tuple(_sections(path, text, sections))
    if sections:
        raise UsageError(f"{path} has no sections to choose from", hint="--section is for AGENTS.md and the like")
    document = split_document(text.encode())
    fields = _fields(document.frontmatter)
    body = (document.body if document.has_frontmatter else text).strip("\n")
    if not body.strip():
        raise UsageError(f"{path} has no instructions", hint="a skill needs some; write them first")
    return (_rule(name, fields, body, text) if _is_rule(name) else _command(path, name, fields, body, text),)


def _is_rule(name: str) -> bool:
    return name.endswith((".mdc", ".instructions.md")) or name == ".cursorrules"


def _rule(file: str, fields: Mapping[str, str], body: str, before: str) -> ConvertedSkill:
    name = _name(file, fields)
    globs = ", ".join(_words(fields.get("globs") or fields.get("applyto") or ""))
    always = fields.get("alwaysapply", "").lower() == "true" or globs in ("**", "**/*", "*")
    notes = list(_left_out(name, fields))
    when = ""
    if always:
        when = "Use for every task in this project."
        notes.append(f"{name}: the rule applied to every request; a skill is loaded when it fits. AGENTS.md is always loaded")
    elif globs:
        when = f"Use when working on files that match {globs}."
    fallback = f"Use when the task is about {_title(name)}."
    description = _description(fields.get("description", ""), body, when or fallback, is_certain=bool(when))
    return _skill(name, description, body, before, notes)


def _command(path: str, file: str, fields: Mapping[str, str], body: str, before: str) -> ConvertedSkill:
    name = _name(file, fields)
    notes = list(_left_out(name, fields))
    if _SHELL.search(body):
        notes.append(f"{name}: commands after `!` ran before the prompt; the skill asks the model to run them")
    body = _SHELL.sub(r"the output of `\1`", body)
    body = _arguments(body, fields.get("argument-hint", ""))
    description = _description(fields.get("description", ""), body, f"Use when the user asks for {_title(name)}.")
    tools = ""
    if listed := fields.get("allowed-tools", ""):
        is_claude = "copilot" not in path and not file.endswith(".prompt.md")
        tools = format_tools(parse_tools(listed)) if is_claude else ""
    return _skill(name, description, body, before, notes, tools=tools)


def _arguments(body: str, hint: str) -> str:
    """Returns the body with one place for the arguments, and names where single ones were used."""
    positions = sorted({int(number) for number in _POSITION.findall(body)})
    inputs = dict(_INPUT.findall(body))
    if not positions and not inputs and not (hint and "$ARGUMENTS" not in body):
        return body
    body = _POSITION.sub(lambda found: f"<argument {found[1]}>", body)
    body = _INPUT.sub(lambda found: f"<{found[1]}>", body)
    rows = [f"- `<argument {number}>`: the {_ORDINALS[number - 1]} of them" for number in positions]
    rows += [f"- `<{name}>`: {about or 'named by the user'}; ask if it is missing" for name, about in inputs.items()]
    form = f" They have the form `{hint}`." if hint else ""
    lines = ["## Arguments", "", f"The user gives these arguments: $ARGUMENTS.{form}", *(["", *rows] if rows else [])]
    return "\n".join(lines) + f"\n\n{body}"


def _sections(path: str, text: str, wanted: Sequence[str]) -> Iterator[ConvertedSkill]:
    found = dict(_split(text))
    by_name = {suggested_name(title): title for title in found}
    for title in wanted:
        if title not in found and suggested_name(title) not in by_name:
            raise UsageError(f"{path} has no section {title!r}", hint=f"it has: {', '.join(found) or 'none'}")
    chosen = [by_name.get(suggested_name(title), title) for title in wanted] or list(found)
    if not chosen:
        raise UsageError(f"{path} has no sections", hint="a section begins with a heading of the second level: ## Title")
    for title in chosen:
        name, body = suggested_name(title) or "section", found[title]
        first, _, rest = body.strip().partition("\n\n")
        is_told = bool(_WHEN.search(first)) and len(first) <= MAX_DESCRIPTION_LENGTH and not first.startswith(("#", "-", "`"))
        told = " ".join(first.split()) if is_told and rest.strip() else ""
        description = _description(told, body, f"Use when the task is about {title.lower()}.")
        yield _skill(name, description, _raised(rest if told else body), f"## {title}\n{body}", ())


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yields title and body of every section of the second level that has a body."""
    title = ""
    lines: list[str] = []
    for line, is_code in _with_code(text.split("\n")):
        heading = None if is_code else _HEADING.match(line)
        if heading and len(heading[1]) <= 2:
            if title and "".join(lines).strip():
                yield title, "\n".join(lines)
            title, lines = heading[2] if len(heading[1]) == 2 else "", []
        elif title:
            lines.append(line)
    if title and "".join(lines).strip():
        yield title, "\n".join(lines)


def _raised(text: str) -> str:
    """Returns the text with headings two levels higher, as a document of its own has them."""
    lines = (
        line if is_code or not (heading := _HEADING.match(line)) else f"{'#' * max(1, len(heading[1]) - 2)} {heading[2]}"
        for line, is_code in _with_code(text.split("\n"))
    )
    return "\n".join(lines)


def _with_code(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
            yield line, True
            continue
        if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
            yield line, True
            continue
        yield line, bool(fence)


def _skill(name: str, description: str, body: str, before: str, notes: Sequence[str], *, tools: str = "") -> ConvertedSkill:
    description = "".join(char if char.isprintable() else " " for char in description).strip()
    text = render_skill_file(SkillName(name), description, body, allowed_tools=tools or None)
    return ConvertedSkill(name=name, text=text, before=before, notes=tuple(notes))


def _description(given: str, body: str, when: str, *, is_certain: bool = False) -> str:
    """Returns a description that says what and when. `is_certain`: `when` comes from the source and is always added."""
    what = " ".join("".join(char if char.isprintable() else " " for char in given or _summary(body)).split())
    if what and what[-1] not in ".!?":
        what += "."
    added = when if is_certain or not _WHEN.search(what) else ""
    return f"{what[: MAX_DESCRIPTION_LENGTH - len(added) - 1]} {added}".strip()[:MAX_DESCRIPTION_LENGTH]


def _summary(body: str) -> str:
    lines = [line.strip() for line, is_code in _with_code(body.split("\n")) if not is_code and line.strip()]
    prose = next((line for line in lines if not line.startswith(("#", "-", "*", "|", ">"))), "")
    title = next((match[2] for line in lines if (match := _HEADING.match(line))), "")
    return first_sentence(prose) or title or (lines[0].lstrip("-* ") if lines else "")


def _fields(frontmatter: str) -> dict[str, str]:
    """Returns the keys in lower case, each with its value as one line; a list is joined by commas."""
    found: dict[str, str] = {}
    key = ""
    for line in frontmatter.split("\n"):
        if match := _KEY.match(line):
            key = match[1].lower()
            found[key] = _unquoted(match[2])
        elif key and line.strip().startswith("- "):
            found[key] = ", ".join(filter(None, (found[key], _unquoted(line.strip()[2:]))))
        elif key and line.startswith((" ", "\t")) and line.strip():
            found[key] = f"{'' if found[key] in ('>', '>-', '|', '|-') else found[key]} {line.strip()}".strip()
    return found


def _words(text: str) -> list[str]:
    return [_unquoted(word) for word in re.split(r",\s*(?![^{]*\})", text.strip().strip("[]")) if word.strip()]


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _left_out(name: str, fields: Mapping[str, str]) -> Iterator[str]:
    if others := sorted(key for key in fields if key not in _KNOWN):
        yield f"{name}: left out, because a skill has no such key: {', '.join(others)}"


def _name(file: str, fields: Mapping[str, str]) -> str:
    stem = next((file[: -len(end)] for end in _ENDINGS if file.lower().endswith(end)), file)
    given = fields.get("name", "")
    return given if is_name(given) else suggested_name(stem) or "rule"


def _title(name: str) -> str:
    return name.replace("-", " ")
