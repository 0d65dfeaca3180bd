"""Ways to write a command differently. Each keeps what the command does, or adds to it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from random import Random

from metier.runtime.policy.patterns import plain_words
from metier.runtime.policy.programs import Effect, Program, Value, find_program, options_of

Words = Sequence[str]

_WRAPPERS = (
    "env",
    "env A=b",
    "sudo",
    "sudo -u root",
    "nice",
    "nice -n 5",
    "nohup",
    "timeout 5",
    "setsid",
    "stdbuf -o0",
    "command",
    "exec",
    "xargs",
    "xargs -n1",
    "busybox",
    "watch",
    "strace",
    "flock x",
    "ssh host",
    "docker exec web",
    "npx",
    "uv run",
    "time",
    "unknown-tool",
)
_FOLDERS = ("/usr/bin/", "./", "../bin/", "/tmp/", "bin/")
_LINES = (
    "; {0}",
    "{0}; ls",
    "ls && {0}",
    "{0} && ls",
    "ls || {0}",
    "{0} | cat",
    "ls | {0}",
    "{0} &",
    "({0}\n)",
    "{{ {0}\n}}",
    "! {0}",
    "if {0}\nthen ls; fi",
    "while {0}\ndo ls; done",
    "echo $({0}\n)",
    'echo "$({0}\n)"',
    "ls\n{0}",
    "A=b {0}",
    "A=$({0}\n)",
    "f() {{ {0}\n}}",
    "cat <({0}\n)",
    "  {0}",
    "{0}  ",
    "time {0}",
    "true; {0}; true",
)


def quote(random: Random, word: str) -> str:
    """Another way to write the same word."""
    if not word:
        return random.choice(["''", '""'])
    styles: list[Callable[[str], str]] = [shlex.quote, lambda text: "'" + text.replace("'", "'\\''") + "'"]
    if not re.search(r'["\\$`!\n]', word):
        styles.append(lambda text: f'"{text}"')
    if re.fullmatch(r"[\w./=:@%+,-]+", word):
        place = random.randrange(len(word) + 1)
        # `\n` and a leading `~` would be something else.
        styles += [
            lambda text: f"{text[:place]}''{text[place:]}",
            lambda text: f"{text[:place]}\\{text[place:]}" if place < len(text) else text,
            str,
        ]
    return random.choice(styles)(word)


def write(random: Random, words: Words) -> str:
    gap = random.choice([" ", "  ", "\t"])
    return gap.join(quote(random, word) for word in words)


def write_plain(words: Words) -> str:
    return " ".join(shlex.quote(word) for word in words)


def split_clusters(random: Random, words: Words) -> list[str]:
    """`-rf` becomes `-r -f`, and the other way round, for options without a value."""
    program = find_program(words[0])
    flags = (
        set()
        if program is None or program.long_dash
        else {name[1] for name, option in all_options(program, words) if option is Value.NONE and len(name) == 2}
    )
    found: list[str] = [words[0]]
    for word in words[1:]:
        if re.fullmatch(r"-[A-Za-z]{2,6}", word) and set(word[1:]) <= flags and random.random() < 0.5:
            found += [f"-{letter}" for letter in word[1:]]
        elif (
            re.fullmatch(r"-[A-Za-z]", word)
            and word[1] in flags
            and re.fullmatch(r"-[A-Za-z]+", found[-1])
            and set(found[-1][1:]) <= flags
        ):
            found[-1] += word[1]
        else:
            found.append(word)
    return found


def add_flag(random: Random, words: Words) -> list[str]:
    """Adds an option without a value that the table knows to be harmless, before all others."""
    row, at = row_of(words)
    known = (
        [name for name, option in options_of(row).items() if option.effect is Effect.NONE and option.value is Value.NONE]
        if row and not row.old_cluster
        else []
    )
    return [*words[:at], random.choice(known), *words[at:]] if known else list(words)


def add_risk(random: Random, words: Words) -> list[str] | None:
    """Adds an option that starts a program or writes to a place, before all others; in a cluster where that is possible."""
    row, at = row_of(words)
    risky = (
        [(name, option) for name, option in options_of(row).items() if option.effect in (Effect.STARTS, Effect.WRITES)]
        if row
        else []
    )
    if not row or not risky:
        return None
    name, option = random.choice(risky)
    flags = [
        each[1]
        for each, value in options_of(row).items()
        if value.effect is Effect.NONE and value.value is Value.NONE and len(each) == 2
    ]
    if len(name) == 2 and not row.long_dash and flags and random.random() < 0.5:
        name = f"-{random.choice(flags)}{name[1]}"
    if option.value is Value.NONE:
        added = [name]
    elif option.value is Value.OPTIONAL:
        added = [f"{name}=x" if name.startswith("--") else f"{name}x"]
    else:
        joined = f"{name}=x" if name.startswith("--") or row.long_dash else f"{name}x"
        added = random.choice([[name, "x"], [joined]]) if option.value is Value.REQUIRED else [name, "x"]
    return [*words[:at], *added, *words[at:]]


def row_of(words: Words) -> tuple[Program | None, int]:
    """The row of the innermost subcommand, and the place after its name."""
    row, at = find_program(words[0]), 1
    while row is not None and row.commands and at < len(words):
        inner = next((each for each in row.commands if words[at] in each.names.split()), None)
        if inner is None:
            break
        row, at = inner, at + 1
    return row, at


def all_options(program: Program, words: Words) -> list[tuple[str, Value]]:
    row, _ = row_of(words)
    return [(name, option.value) for name, option in options_of(row or program).items()]


def rewrite_words(random: Random, words: Words) -> list[str]:
    """Other words for the same command: another folder, a wrapper, other clusters, one more harmless option."""
    match random.randrange(5):
        case 0:
            return split_clusters(random, words)
        case 1:
            return add_flag(random, words)
        case 2:
            return [*random.choice(_WRAPPERS).split(), *words]
        case 3 if "/" not in words[0]:
            return [random.choice(_FOLDERS) + words[0], *words[1:]]
        case _:
            return list(words)


def rewrite_line(random: Random, command: str) -> str:
    """Another line that runs the same command."""
    match random.randrange(4):
        case 0:
            return f"{random.choice(['sh -c', 'bash -c', 'bash -lc', 'eval', 'zsh -ec', 'sudo sh -c'])} {shlex.quote(command)}"
        case 1:
            words = plain_words(command)
            return write(random, words) if words else command
        case _:
            return random.choice(_LINES).format(command)


def rewrite(random: Random, command: str) -> str:
    words = plain_words(command)
    if words:
        for _ in range(random.randrange(3)):
            words = tuple(rewrite_words(random, words))
        command = write(random, words)
    for _ in range(random.randrange(3)):
        command = rewrite_line(random, command)
    return command
