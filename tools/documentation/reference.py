"""The reference, generated from the program: commands, settings, codes and rules, errors, and the Python packages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metier import errors
from metier.cli.core.command_pages import CommandPage, command_pages, group_pages
from metier.config import KEYS, SettingKey
from metier.errors import MetierError
from metier.scan import RULES
from metier.spec import CODES

__all__ = ["PARTS", "command_files", "package_files"]

_AREAS = {
    "SK0": "The file and its YAML", "SK1": "Fields of the standard", "SK2": "Advice", "SK3": "Extensions",
    "SK4": "Instructions to an agent", "SK5": "Code that would run", "SK6": "Secrets and exfiltration",
    "SK7": "Packed or disguised content", "SK8": "Dependencies and scope", "SK9": "The scan itself, the judge, and runs",
}  # fmt: skip
_MEANINGS = {
    "error": "any other error", "invalid-skill": "a skill has errors; `problems` lists them",
    "usage": "the command line is wrong",
    "bad-name": "not a valid skill name", "bad-config": "a configuration file is wrong; the message names file and line",
    "not-found": "something that you named does not exist", "skill-not-found": "no skill has this name",
    "ambiguous": "the name stands for several things", "unavailable": "a service or file cannot be reached; it may work later",
    "refused": "a policy forbids it; the message names the rule", "conflict": "a name is taken, or a file has changed",
    "tool-failed": "a tool call of a model failed; the conversation goes on",
}  # fmt: skip


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


# Commands


def command_files() -> Iterator[tuple[str, str, str]]:
    """Yields file, title and text of a page for each group of commands; the first has the commands without a group."""
    groups = {page.path: page for page in group_pages()}
    commands: defaultdict[str, list[CommandPage]] = defaultdict(list)
    for page in command_pages():
        commands[page.path.rpartition(" ")[0]].append(page)
    for group, pages in commands.items():
        file = f"reference/commands/{group.replace(' ', '-') or 'metier'}.md"
        about = groups[group].summary if group else "The commands that stand alone."
        text = "\n".join([f"# metier {group}".rstrip(), "", about, "", *(_command(page) for page in pages)])
        yield file, f"metier {group}".rstrip(), text


def _command(page: CommandPage) -> str:
    lines = [f"## {page.title}", "", page.summary, "", "```text", page.usage, "```", ""]
    for paragraph in page.paragraphs:
        verbatim = "\n" in paragraph or paragraph.startswith(" ")
        lines += ["```text", *map(str.strip, paragraph.split("\n")), "```", ""] if verbatim else [_prose(paragraph), ""]
    if page.other_names:
        lines += [f"Other names: {', '.join(f'`metier {name}`' for name in page.other_names)}.", ""]
    rows = ((f"`{names}`", _escape_cell(_prose(text))) for names, text in page.options if names != "-h, --help")
    if any(names != "-h, --help" for names, _ in page.options):
        lines += [_table(("option", "meaning"), rows), ""]
    lines += ["```sh", *page.examples, "```", ""]
    if anchor := _json_anchors().get(page.path):
        lines += [f"[Its JSON](../../json.md#{anchor})", ""]
    return "\n".join(lines)


@cache
def _json_anchors() -> dict[str, str]:
    """Returns the anchor of each command's section in docs/json.md."""
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    return {path: re.sub(r"[`,]", "", each).replace(" ", "-") for each in headings for path in re.findall(r"`([^`]+)`", each)}


def _prose(text: str) -> str:
    """Returns help text as Markdown: its words are plain, so what Markdown would read as markup is escaped."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts)


def _commands() -> str:
    rows = (
        (f"[`{page.title}`]({_page_of(page)}#{page.title.replace(' ', '-')})", _escape_cell(_prose(page.summary)))
        for page in command_pages()
    )
    return _table(("command", "purpose"), rows)


def _page_of(page: CommandPage) -> str:
    group = page.path.rpartition(" ")[0]
    return f"commands/{group.replace(' ', '-') or 'metier'}.md"


# Settings


def _settings() -> str:
    areas: defaultdict[str, list[SettingKey]] = defaultdict(list)
    for key in KEYS.values():
        areas[key.name.partition(".")[0]].append(key)
    parts = []
    for area, keys in sorted(areas.items()):
        rows = (
            (f"`{key.name}`", key.kind, _default(key), _escape_cell(_prose(key.text)), "yes" if key.project else "")
            for key in keys
        )
        parts.append(f"## {area}\n\n" + _table(("setting", "type", "default", "meaning", "project"), rows))
    return "\n\n".join(parts)


def _default(key: SettingKey) -> str:
    if key.default is None or key.default in ("", ()):
        return ""
    value = " ".join(key.default) if isinstance(key.default, tuple) else str(key.default)
    return f"`{value.lower() if isinstance(key.default, bool) else value}`"


# Codes, rules and errors


def _rules() -> str:
    codes = {**CODES, **{rule.code: rule.page for rule in RULES.values()}}
    ranks = {rule.code: rule for rule in RULES.values()}
    parts = []
    for prefix, area in _AREAS.items():
        parts.append(f"## {area} ({prefix}xx)")
        for code in sorted(each for each in codes if each.startswith(prefix)):
            page = codes[code]
            facts = f"Severity: {page.strict}."
            if rule := ranks.get(code):
                facts = f"Verdict of a plain match: {rule.verdict}. Confidence: {rule.confidence}. Reach: {rule.reach}."
                facts += f" {rule.owasp}" + (f", {rule.ast10}" if rule.ast10 else "") + f", {rule.aitech}."
            parts.append(f"### {code} {page.name}\n\n{_prose(page.text)}\n\n{facts}")
            if rule:
                parts.append(f"To fix it: {_prose(rule.hint)}.")
            for title, example in (("Wrong", page.bad), ("Right", page.good)):
                if example:
                    fence = "````" if "```" in example else "```"
                    parts.append(f"{title}:\n\n{fence}text\n{example}\n{fence}")
    return "\n\n".join(parts)


def _errors() -> str:
    values = (getattr(errors, name) for name in errors.__all__)
    classes = [value for value in values if isinstance(value, type) and issubclass(value, MetierError)]
    rows = (
        (f"`{each.code}`", str(each.exit_status), f"`{each.__name__}`", _MEANINGS[each.code])
        for each in sorted(classes, key=lambda each: (each is not MetierError, each.exit_status, each.code))
    )
    return _table(("code", "exit status", "Python", "meaning"), rows)


# Python


def package_files(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yields file, title and text of a page for each public package."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for line in (root / "tests" / "project" / "public_api.txt").read_text(encoding="utf-8").splitlines():
        package, _, name = line.partition(": ")
        names[package].append(name)
    for package in sorted(names):
        members = "\n".join(f"        - {name}" for name in names[package])
        text = f"# {package}\n\n::: {package}\n    options:\n      members:\n{members}\n"
        yield f"reference/python/{package}.md", package, text


PARTS = {"commands": _commands, "settings": _settings, "rules": _rules, "errors": _errors}
"""The generated parts of hand-written pages."""
