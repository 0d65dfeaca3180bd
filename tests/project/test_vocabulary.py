"""One word for one thing, and every command, option and variable that a text names exists.

The sets below are violations that are still there. They may only shrink: a new violation fails, and so does an entry that
no longer applies.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest

from metier.cli.core.commands import DEFAULTS, GROUPS, expand_words
from metier.config import KEYS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "metier"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# (a) Options that are always written with their package: `runtime.Limits`.
REPEATED_CLASSES: set[str] = set()

# (b) Commands that do not live in the file of their name.
MISPLACED_COMMANDS: set[str] = set()
# A command and its inverse share a file.
INVERSES = {"disable": "enable", "logout": "login", "unpin": "pin", "unyank": "yank"}
# A small group is one file.
SMALL_GROUPS = {
    "agent skill", "cache", "config", "policy", "registry advisory", "registry key", "registry review", "registry token",
    "registry trusted-publisher", "registry user", "secret", "session", "workspace",
}  # fmt: skip

# (c), (d) Words in texts that are no command, option or variable of ours.
FOREIGN_OPTIONS = {"--allow-file", "--head"}
FOREIGN_VARIABLES: set[str] = set()

# (e) Modules that end in -ing and are nouns, and identifiers that are metaphors.
NOUNS = {
    "metier.disclosure.escaping", "metier.install.refs.parsing", "metier.registry.server.routing",
    "metier.testing",
}  # fmt: skip
PARTICIPLES: set[str] = set()
METAPHORS_LEFT: set[str] = set()
METAPHORS = re.compile(r"(^|_)(house|room|desk|shelf)s?(_|$)", re.IGNORECASE)


def source_files() -> list[Path]:
    return [file for file in sorted(SOURCE.rglob("*.py")) if "bundled" not in file.parts]


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def module_name(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def check(found: set[str], known: set[str], what: str) -> None:
    assert not found - known, f"{what}:\n  " + "\n  ".join(sorted(found - known))
    assert not known - found, "no longer there; remove from the list:\n  " + "\n  ".join(sorted(known - found))


# (a)


def test_a_public_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    for file in source_files():
        for node in tree(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module_name(file))
    repeated = {f"{name}: {', '.join(modules)}" for name, modules in places.items() if len(modules) > 1}
    names = {text.partition(":")[0] for text in repeated}
    assert not names - REPEATED_CLASSES, "\n".join(
        sorted(text for text in repeated if text.partition(":")[0] not in REPEATED_CLASSES)
    )
    check(names, REPEATED_CLASSES, "class names that stand for two things")


# (b)


def expected_modules(group: str, name: str) -> set[str]:
    """The modules in which a command may live."""
    base = "metier.cli"
    if group in SMALL_GROUPS:
        return {f"{base}.{group.replace(' ', '.').replace('-', '_')}"}
    if group == "skill manage":
        # Second names of the commands of `metier skill`.
        return {f"{base}.skill.manage_{name}", *expected_modules("skill", name)}
    word = INVERSES.get(name, name).replace("-", "_")
    parts = [base, *group.split(), word]
    dotted = ".".join(parts)
    # `import` cannot be a module, and a command with modules of its own is a package.
    return {dotted, f"{dotted}_", f"{dotted}.{word}"}


def test_a_command_lives_in_the_file_of_its_name() -> None:
    found = {
        f"{group} {name}".strip(): location
        for group, rows in GROUPS.items()
        for name, (location, _) in rows.items()
        if location and location.partition(":")[0] not in expected_modules(group, name)
    }
    check(set(found), MISPLACED_COMMANDS, f"commands in another file: {found}")


# (c)


@cache
def command_at(path: str) -> click.Command:
    group, _, name = path.rpartition(" ")
    module, _, attribute = GROUPS[group][name][0].partition(":")
    found: click.Command = getattr(import_module(module), attribute)
    return found


@cache
def options_of(path: str) -> frozenset[str]:
    return frozenset(word for each in command_at(path).params for word in (*each.opts, *each.secondary_opts))


def complaint(line: str) -> str:
    """Returns the error in a command line; empty if there is none."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    words = words[:1] + expand_words(words[1:])
    path = ""
    for position, word in enumerate(words[1:], start=1):
        group = GROUPS.get(path)
        if group is None or word.startswith("-") or is_placeholder(word):
            rest = words[position:]
            break
        if "|" in word and all(each in group for each in word.split("|")):
            return ""
        if word not in group:
            return f"{line!r}: {path or 'metier'} has no command {word!r}"
        path = f"{path} {word}".strip()
    else:
        return ""
    named = {word.partition("=")[0] for word in until_dashes(rest) if re.match(r"--?[a-zA-Z]", word)} - {"--help", "-h"}
    if path in GROUPS and path in DEFAULTS:
        path = f"{path} {DEFAULTS[path]}"
    no_options: frozenset[str] = frozenset()
    known = options_of(path) if path not in GROUPS else no_options if path else frozenset({"--version"})
    unknown = sorted(word for word in named if word not in known)
    return f"{line!r}: no option {', '.join(unknown)}" if unknown else ""


def is_placeholder(word: str) -> bool:
    return word.isupper() or word[0] in "[({<…|&;>$'\"" or word in ("...", "…", "|")


def until_dashes(words: list[str]) -> Iterator[str]:
    for word in words:
        if word in ("--", "|", "&&", "||", ";", ">", "2>"):
            return
        yield word


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string below a node, with an f-string's values as the placeholder X."""
    inside = {
        id(part) for each in ast.walk(node) if isinstance(each, ast.JoinedStr) for part in ast.walk(each) if part is not each
    }
    for each in ast.walk(node):
        if isinstance(each, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "X" for part in each.values]
            yield each.lineno, "".join(parts)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in inside:
            yield each.lineno, each.value


def command_lines_of_source() -> Iterator[tuple[str, str]]:
    for file in source_files():
        for line, text in texts(tree(file)):
            for found in re.findall(r"`(metier [^`\n]+)`", text):
                yield f"{file.relative_to(ROOT)}:{line}", found


def command_lines_of_page(page: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL)
    for _, language, block in fences:
        if language in ("console", "sh", "bash", "shell"):
            joined = block.replace("\\\n", " ")
            yield from re.findall(r"^\s*(?:\$ )?(?:[A-Z_]+=\S* )*(metier(?: .*)?)$", joined, re.MULTILINE)
    prose = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`(metier [^`\n]+)`", prose)


def test_every_command_line_in_messages_hints_and_help_exists() -> None:
    wrong = [f"{where}: {text}" for where, line in command_lines_of_source() if (text := complaint(line))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_on_the_page_exists(page: Path) -> None:
    wrong = [text for line in command_lines_of_page(page) if (text := complaint(line))]
    assert not wrong, "\n".join(wrong)


# (d)


def command_paths() -> list[str]:
    return [f"{group} {name}".strip() for group, rows in GROUPS.items() for name, (location, _) in rows.items() if location]


def messages() -> Iterator[tuple[str, str]]:
    """Every text of an error, of a hint and of an option's help."""
    for file in source_files():
        for node in ast.walk(tree(file)):
            parts: list[ast.AST] = []
            if isinstance(node, ast.Raise) and node.exc is not None:
                parts.append(node.exc)
            if isinstance(node, ast.keyword) and node.arg in ("hint", "help"):
                parts.append(node.value)
            for part in parts:
                for line, text in texts(part):
                    yield f"{file.relative_to(ROOT)}:{line}", text


def test_every_option_that_a_message_names_exists() -> None:
    known = {word for path in command_paths() for word in options_of(path)} | {"--help", "--version"} | FOREIGN_OPTIONS
    wrong = {
        f"{where}: {option}"
        for where, text in messages()
        for option in re.findall(r"(?<![\w/-])--[a-z][a-z0-9-]*[a-z0-9]", text)
        if option not in known
    }
    assert not wrong, "\n".join(sorted(wrong))


def variables_in_use() -> set[str]:
    """The names that the code reads: strings that are exactly a variable's name, and those of the settings."""
    exact = {
        node.value
        for file in source_files()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"_?[A-Z][A-Z0-9_]*", node.value)
    }
    return exact | {variable for key in KEYS.values() for variable in (key.variable, *key.variables)}


def test_every_variable_that_a_message_names_is_read() -> None:
    known = variables_in_use() | FOREIGN_VARIABLES
    wrong = {
        f"{where}: {name}"
        for where, text in messages()
        for name in re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b", text)
        if name not in known
    }
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_variable_of_ours_that_a_page_names_is_read(page: Path) -> None:
    named = set(re.findall(r"\b(?:METIER|SKILLS)_[A-Z0-9_]*[A-Z0-9]\b", page.read_text(encoding="utf-8")))
    assert not named - variables_in_use() - FOREIGN_VARIABLES


# (e)


def test_no_module_is_named_by_a_participle() -> None:
    found = {module_name(file) for file in source_files() if re.search(r"ing$", module_name(file).rpartition(".")[2])}
    check(found - NOUNS, PARTICIPLES, "modules named by a participle")
    check(NOUNS, found & NOUNS, "nouns")


def test_no_module_or_identifier_is_a_metaphor() -> None:
    wrong = {module_name(file) for file in source_files() if METAPHORS.search(module_name(file).rpartition(".")[2])}
    for file in source_files():
        for node in ast.walk(tree(file)):
            name = (
                getattr(node, "name", None)
                or getattr(node, "id", None)
                or getattr(node, "attr", None)
                or getattr(node, "arg", None)
            )
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name) if isinstance(name, str) else ""
            if METAPHORS.search(words):
                wrong.add(f"{module_name(file)}: {name}")
    check(wrong, METAPHORS_LEFT, "metaphors")
