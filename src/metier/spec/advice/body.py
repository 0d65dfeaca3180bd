"""Advice on the instructions themselves: their size, their wording, and what ties them to one machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metier.spec.codes import problem
from metier.spec.report import Problem
from metier.spec.text import estimate_tokens

from .subject import LintSubject

__all__ = ["absolute_paths", "body_is_empty", "body_lines", "body_tokens", "menus_without_default", "vague_advice"]

_MOST_LINES = 500
_MOST_TOKENS = 5_000

# Names that stand for any user, or for the one user of a container.
_ANYONE = frozenset({
    "user", "username", "you", "your", "yourname", "your-name", "your_name", "yourusername", "your-username", "name",
    "me", "someone", "path", "xxx", "ubuntu", "ec2-user", "runner", "node", "vscode", "app", "agent", "claude", "sandbox",
    "codespace", "coder", "jovyan", "admin", "linuxbrew", "shared", "public", "default", "user1",
    "example", "myname", "project", "projects", "test", "dev", "developer", "target", "oai", "opc", "pi", "git", "azureuser",
})  # fmt: skip
_REST = r"(?:[\w.-]{1,80}[/\\]{0,2}){1,12}"
_HOME = r"(?<![\w./:~$}%*-])(?:/home|/Users)/(?P<who>[A-Za-z][\w.-]{0,40})/" + _REST
_DRIVE = (
    r"(?<![A-Za-z])[A-Z]:\\{1,2}(?!Program|Windows|path|tools\b|temp\b|tmp\b)"
    r"(?:Users\\{1,2}(?P<who>[A-Za-z][\w.-]{0,40})\\{1,2}|(?!Users)(?=[A-Za-z][\w.-]{0,80}\\))" + _REST
)
# Settings in the home folder are fine: every user has one. The skill's folder and programs differ between machines.
_BELOW_HOME = (
    r"(?<![\w/~])(?:~|\$HOME|\$\{HOME\})/(?:(?:[\w.-]{1,60}/){0,5}skills/(?P<skill>[\w-]{1,64})/" + _REST +
    r"|(?!\.)(?:[\w.-]{1,60}/){0,8}\w[\w-]{0,60}\.(?:py|sh|js|mjs|ts|rb|pl|ps1)\b)"
)  # fmt: skip
_ABSOLUTE = (
    (("/home/", "/Users/"), re.compile(_HOME)),
    ((":\\",), re.compile(_DRIVE, re.IGNORECASE)),
    (("~/", "$HOME", "${HOME"), re.compile(_BELOW_HOME)),
)
_EXAMPLE = re.compile(r"\be\.g\.|\bfor (?:example|instance)\b|\bpaths? like\b", re.IGNORECASE)

_MARKERS = re.compile(r"^[ \t>]*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+|)")
_SENTENCE = re.compile(r"(?<=[.!;])\s+")
_LONGEST_PLATITUDE = 80
_VAGUE = re.compile(
    r"(?:please |always |remember to |make sure (?:to |you )|be sure to |try to |you should )?"
    r"(?:follow (?:the |all |any )?(?:industry |coding |general |relevant |established |standard )?"
    r"(?:best|good) (?:coding |industry )?practices"
    r"|be (?:very )?(?:careful|thorough|creative|professional|smart|diligent|meticulous)"
    r"(?: and (?:careful|thorough|precise))?"
    r"|use (?:your )?(?:common sense|(?:best|good) judge?ment)|do your best|think (?:carefully|hard)"
    r"|write (?:good|clean|high[- ]quality|readable|maintainable)"
    r"(?:,? (?:and )?(?:clean|readable|maintainable|efficient)){0,3} code"
    r"|handle (?:all )?errors (?:gracefully|properly|appropriately|correctly)"
    r"|ensure (?:high |good |top )?(?:code )?quality|pay (?:close )?attention to details?"
    r"|double[- ]check (?:your work|everything)|test (?:thoroughly|everything))"
    r"(?: (?:at all times|as needed|where appropriate|when necessary|when needed|throughout|here))?[.!]?",
    re.IGNORECASE,
)

_OPTIONS = re.compile(r"\b(?:you can|can|could|may|either) (?:also )?use\b(?P<rest>[^.;:()]{8,200})", re.IGNORECASE)
_INTRO = re.compile(
    r"\b(?:choose|pick|select|use|try)\b[^.]{0,40}\b(?:one|any|either|some) of (?:the following|these|the below)\b",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"default|prefer|recommend|otherwise|unless|\bif\b|\bwhen|depend|\bfor\b|\bfirst\b|fall ?back|instead|\bask|\buser"
    r"|based on|match|accord|→|->|—|:\s*\S",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_FEWEST_OPTIONS = 3


def body_lines(page: LintSubject) -> Iterator[Problem]:
    """The whole file enters the context at activation, and the standard asks for fewer than 500 lines of it."""
    if page.document.lines > _MOST_LINES:
        yield problem(
            "SK204", f"SKILL.md has {page.document.lines:,} lines; fewer than {_MOST_LINES} are recommended",
            line=_MOST_LINES + 1, column=1, hint="move detail to references/ and say when to read it",
        )  # fmt: skip


def body_tokens(page: LintSubject) -> Iterator[Problem]:
    """All instructions enter the context at activation; past 5,000 tokens they crowd out the work."""
    tokens = estimate_tokens(page.document.body)
    if tokens > _MOST_TOKENS:
        yield problem(
            "SK205", f"the instructions are about {tokens:,} tokens; fewer than {_MOST_TOKENS:,} are recommended",
            line=page.document.body_line, column=1, hint="move detail to references/ and say when to read it",
        )  # fmt: skip


def body_is_empty(page: LintSubject) -> Iterator[Problem]:
    """Headings alone add nothing to the description."""
    if not any(not line.text.lstrip().startswith(("#", "<!--")) or not line.is_prose for line in page.lines):
        yield problem("SK215", "there are no instructions below the frontmatter", line=page.document.body_line, column=1,
                      hint="write the steps that a model would not know by itself")  # fmt: skip


def absolute_paths(page: LintSubject) -> Iterator[Problem]:
    """A path into a home folder exists on one machine only. System paths, placeholder users and URLs are fine."""
    seen: set[str] = set()
    patterns = [pattern for marks, pattern in _ABSOLUTE if any(mark in page.document.body for mark in marks)]
    for line in page.lines if patterns else ():
        if _EXAMPLE.search(line.text):
            continue
        for found in (found for pattern in patterns for found in pattern.finditer(line.text)):
            path, names = found[0], found.groupdict()
            is_other_skill = (names.get("skill") or page.manifest.name) != page.manifest.name
            if path not in seen and not is_other_skill and (names.get("who") or "").lower() not in _ANYONE:
                seen.add(path)
                yield problem("SK209", f"the path {path!r} is right on one machine only", line=line.number,
                              column=found.start() + 1, hint="write it relative to the skill's folder")  # fmt: skip


def vague_advice(page: LintSubject) -> Iterator[Problem]:
    """`Be careful` costs tokens and changes nothing. Only a sentence that says no more than that is meant."""
    for line in page.prose:
        text = line.text.lstrip()
        start = _MARKERS.match(line.text)
        # A heading or a bold label is explained by what follows it.
        if not start or text.startswith("#") or len(text) > _LONGEST_PLATITUDE or text.rstrip().endswith(("**", ":")):
            continue
        words = line.text[start.end() :].strip(" \t*_`")
        if words and all(_VAGUE.fullmatch(sentence) for sentence in _SENTENCE.split(words)):
            yield problem("SK214", f"{words!r} adds nothing for a model", line=line.number, column=start.end() + 1,
                          hint="say what to do, or what goes wrong here, or delete it")  # fmt: skip


def menus_without_default(page: LintSubject) -> Iterator[Problem]:
    """Given equal options a model chooses by chance, and differently each time. Options with a condition pass."""
    prose = list(page.prose)
    for at, line in enumerate(prose):
        nearby = " ".join(near.text for near in prose[at : at + 2] if near.number - line.number <= 1)
        for found in _OPTIONS.finditer(line.text):
            options = re.split(r",\s*(?:or\s)?|\sor\s", found["rest"])
            if len(options) >= _FEWEST_OPTIONS and " or " in found["rest"] and not _SETTLED.search(nearby):
                yield _menu(line.number, found.start())
        found_intro = _INTRO.search(line.text)
        if found_intro and line.text.rstrip(" *").endswith(":") and not _SETTLED.search(line.text.rstrip(" *:")):
            items = []
            for near in prose[at + 1 : at + 12]:
                if not _ITEM.match(near.text):
                    break
                items.append(near.text)
            if len(items) >= _FEWEST_OPTIONS and not any(_SETTLED.search(item) for item in items):
                yield _menu(line.number, found_intro.start())


def _menu(line: int, column: int) -> Problem:
    return problem("SK220", "a list of options without a default", line=line, column=column + 1,
                   hint="name one as the default, and say when to take another")  # fmt: skip
