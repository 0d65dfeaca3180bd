"""Advice on references: that mentioned files exist, that files are mentioned, and that the text says when to read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from metier.spec.codes import problem
from metier.spec.files import SKILL_FILE
from metier.spec.report import Problem

from .commands import scripts_run
from .paths import Mention, mentions, names_in, names_of
from .subject import LintSubject, TextLine

__all__ = ["broken_references", "deep_references", "references_without_when", "unused_files"]

_DOCUMENTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc")
# Templates and examples mention the files of other projects.
_OTHER_PROJECTS = frozenset({"assets", "templates", "template", "examples", "example", "evals", "tests", "test", "fixtures"})
_EXAMPLE = re.compile(
    r"\be\.g\.|\bi\.e\.|\bfor (?:example|instance)\b|\bexamples?\b|\bsuch as\b|\blike\b|\bsample", re.IGNORECASE
)
_MADE_LATER = re.compile(
    r"\b(?:creat|writ|sav|add|generat|put|plac|stor|append|produc|output|export|mov|extract|bundl|optional|if (?:it |they )?"
    r"exist|if present|missing|instead of|rename|delet|remov)",
    re.IGNORECASE,
)
_ABOUT_SKILLS = re.compile(
    r"\b(?:creat|writ|author|build|design|develop|improv|edit|review|validat|audit|lint|packag|maintain|generat|optimi|test)"
    r"\w{0,10}\b[^.;]{0,40}\bskills?\b|\bSKILL\.md\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:when|whenever|if|for|before|after|during|while|once|until|unless|to|need\w*|use[ds]?|using|require\w*|step|phase"
    r"|how|which|what|why|where|must|first|always|only|per|on)\b|[^\x00-\x7f]{2}|\|",
    re.IGNORECASE,
)
_POINTERS = frozenset({
    "see", "also", "read", "refer", "the", "an", "in", "at", "and", "or", "more", "full", "details", "detail", "further",
    "reference", "references", "documentation", "docs", "guide", "guides", "file", "files", "check", "consult", "load",
    "open", "view", "here", "this", "is", "of", "additional", "information", "info", "link",
})  # fmt: skip
_WORD = re.compile(r"[A-Za-z]{2,}")
_LINK_TEXT = re.compile(r"\[[^\[\]]{0,200}\]\([^()]{0,300}\)|`[^`]{1,300}`|[\w./-]{0,200}/[\w./-]{1,200}")
_FEWEST_WORDS = 2
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
_HOUSEKEEPING = re.compile(
    r"(?:licen[cs]e|readme|changelog|notice|copying|__init__|__main__|conftest|package|package-lock|pnpm-lock|tsconfig"
    r"|requirements|pyproject|uv|poetry|cargo|gemfile|openai)(?:[._-][\w.-]{0,40})?"
)
_HOUSEKEEPING_AT_THE_ROOT = re.compile(
    r"(?:contributing|security|authors|code_of_conduct|install|dockerfile|makefile|justfile|setup|_meta|metadata|skill|plugin"
    r"|marketplace|evals?|eval_queries|version|tile|index|go|yarn|bun)(?:\.[\w.]{1,20})?"
)
_UNREAD_FOLDERS = frozenset({"evals", "tests", "test", "__pycache__", "node_modules", "agents"})
_TEST = re.compile(r"test_.*|.*(?:_test|\.test|\.spec)\..*")


def broken_references(page: LintSubject) -> Iterator[Problem]:
    """A model that cannot find a file either stops or invents its content."""
    # SK212 reports scripts that commands run.
    seen = {path for path, _, _ in scripts_run(page)}
    for file, lines in _documents(page):
        for mention in mentions(lines, page):
            if mention.path in seen or not mention.is_certain or _exists(mention.path, file, page):
                continue
            if not mention.is_link and _is_only_an_example(mention, page):
                continue
            seen.add(mention.path)
            yield problem("SK206", f"{mention.path!r} is not in the skill", file=file, line=mention.line.number,
                          column=mention.column, hint="add the file, or correct the path")  # fmt: skip


def deep_references(page: LintSubject) -> Iterator[Problem]:
    """A model that must follow a chain of documents often stops halfway, so SKILL.md should name them all."""
    if not page.texts:
        return
    named = names_in(line.text for line in page.lines)
    seen: set[str] = set()
    for file, lines in _documents(page):
        if file == SKILL_FILE:
            continue
        for mention in mentions(lines, page):
            path = _found(mention.path, file, page)
            if path is None or path in seen or path in (file, SKILL_FILE) or not path.lower().endswith(_DOCUMENTS):
                continue
            if named.isdisjoint(names_of(path)):
                seen.add(path)
                yield problem("SK207", f"{path!r} is named here but not in {SKILL_FILE}", file=file,
                              line=mention.line.number, column=mention.column,
                              hint=f"name it in {SKILL_FILE} too, and say when to read it")  # fmt: skip


def unused_files(page: LintSubject) -> Iterator[Problem]:
    """No model opens a file that nothing mentions; it only makes the skill larger."""
    if not page.is_whole or len(page.paths) == 1:
        return
    named = names_in((page.document.frontmatter, *(line.text for line in page.lines)))
    by_file = {path: names_in(line.text for line in lines) for path, lines in page.texts.items()}
    counts = Counter(name for names in by_file.values() for name in names)
    nested = tuple(path.removesuffix(SKILL_FILE) for path in page.paths if path.endswith("/" + SKILL_FILE))
    for path in sorted(page.paths):
        if path == SKILL_FILE or _needs_no_mention(path) or path.startswith(nested):
            continue
        # A file that mentions itself is not used.
        own = by_file.get(path, frozenset())
        names = names_of(path)
        if named.isdisjoint(names) and not any(counts[name] > (name in own) for name in names):
            yield problem("SK208", "nothing in the skill names this file", file=path, line=1, column=1,
                          hint=f"say in {SKILL_FILE} when to use it, or delete it")  # fmt: skip


def references_without_when(page: LintSubject) -> Iterator[Problem]:
    """A bare `See references/api.md` makes a model read every reference or none."""
    by_line: dict[int, list[Mention]] = {}
    for mention in mentions(page.lines, page):
        if mention.path.lower().endswith(_DOCUMENTS) and _found(mention.path, SKILL_FILE, page):
            by_line.setdefault(mention.line.number, []).append(mention)
    bare: dict[str, Mention] = {}
    with_when: set[str] = set()
    for line, around in _with_context(page.prose):
        for mention in by_line.get(line.number, ()):
            if _says_when(line, around):
                with_when.add(mention.path)
            else:
                bare.setdefault(mention.path, mention)
    without_when = [mention for path, mention in bare.items() if path not in with_when]
    if without_when:
        first = without_when[0]
        more = f" and {len(without_when) - 1} more" if len(without_when) > 1 else ""
        yield problem("SK210", f"nothing says when to read {first.path!r}{more}", line=first.line.number,
                      column=first.column, hint=f"write `Read {first.path} when ...`")  # fmt: skip


def _with_context(lines: Iterable[TextLine]) -> Iterator[tuple[TextLine, str]]:
    """Yields each line with its context: its heading, the sentence before its list, the line that it continues."""
    heading = opening = previous = TextLine("", -1)
    for line in lines:
        goes_on = previous.text if line.number - previous.number == 1 and not _ITEM.match(line.text) else ""
        yield line, " ".join((heading.text.lstrip("# "), opening.text.lstrip("# "), goes_on))
        if line.text.startswith("#"):
            heading = opening = line
        elif not _ITEM.match(line.text):
            opening = line
        previous = line


def _documents(page: LintSubject) -> Iterator[tuple[str, tuple[TextLine, ...]]]:
    """Yields SKILL.md and the documents about the skill, without templates and examples for other projects."""
    yield SKILL_FILE, page.lines
    for path, lines in page.texts.items():
        *folders, last = path.lower().split("/")
        is_document = last.endswith((".md", ".mdx", ".markdown")) and not _HOUSEKEEPING.fullmatch(last)
        if is_document and _OTHER_PROJECTS.isdisjoint(folders):
            yield path, lines


def _found(path: str, file: str, page: LintSubject) -> str | None:
    """Returns the file that is meant: the standard counts from the skill's folder, Markdown from the folder of the file."""
    if path in page.paths:
        return path
    beside = f"{file.rpartition('/')[0]}/{path}".lstrip("/")
    return beside if beside in page.paths else None


def _exists(path: str, file: str, page: LintSubject) -> bool:
    return _found(path, file, page) is not None or path in page.folders


def _is_only_an_example(mention: Mention, page: LintSubject) -> bool:
    before = mention.line.text[: mention.column]
    if _EXAMPLE.search(mention.line.text) or _MADE_LATER.search(before[-80:]):
        return True
    # A skill about writing skills shows example folders.
    return bool(_ABOUT_SKILLS.search(page.manifest.description))


def _says_when(line: TextLine, around: str) -> bool:
    # A numbered step says when by its position, a table row by its other cells.
    if re.match(r"[ \t]*(?:\d{1,3}[.)][ \t]|\|)", line.text):
        return True
    own = _LINK_TEXT.sub(" ", line.text)
    words = [word for word in _WORD.findall(own.lower()) if word not in _POINTERS]
    return len(words) >= _FEWEST_WORDS or bool(_WHEN.search(own) or _WHEN.search(around))


def _needs_no_mention(path: str) -> bool:
    """Returns whether people, test runners or package managers find the file without a mention."""
    parts = path.lower().split("/")
    if any(part.startswith(".") or part in _UNREAD_FOLDERS for part in parts):
        return True
    patterns = (_HOUSEKEEPING, _TEST) if len(parts) > 1 else (_HOUSEKEEPING, _TEST, _HOUSEKEEPING_AT_THE_ROOT)
    return any(pattern.fullmatch(parts[-1]) for pattern in patterns)
