"""Two rules for every pattern: rewriting a command never makes an allow grow, and never makes a deny shrink."""

from __future__ import annotations

import os
from random import Random

from metier.runtime.policy.command_line import read_command_line
from metier.runtime.policy.patterns import plain_words

from .corpus import decide, rows
from .rewrites import add_risk, rewrite, write_plain

FULL = bool(os.environ.get("METIER_FULL"))
EXAMPLES = 100_000 if FULL else 5_000

ASKED = [
    row for row in rows() if row.list == "allow" and row.decision == "ask" and row.pattern not in ("Bash", "Bash(*)", "Read")
]
GRANTED = [row for row in rows() if row.list == "allow" and row.decision == "allow" and row.pattern.endswith((":*)", " *)"))]
DENIED = [
    row for row in rows() if row.list == "deny" and row.decision == "deny" and not read_command_line(row.command).is_broken
]


def test_no_rewriting_makes_an_allow_pattern_grant_a_command_that_it_did_not_grant() -> None:
    random = Random(1)
    grown = []
    for _ in range(EXAMPLES):
        row = random.choice(ASKED)
        command = rewrite(random, row.command)
        # A harmless option may complete a command that was asked only because it stood alone.
        if decide("allow", row.pattern, command) == "allow" and len(plain_words(row.command)) != 1:
            grown.append((row.pattern, row.command, command))
    assert grown == []


def test_no_option_that_starts_a_program_or_writes_is_granted_by_an_open_pattern() -> None:
    random = Random(2)
    grown, tried = [], 0
    for _ in range(EXAMPLES):
        row = random.choice(GRANTED)
        words = add_risk(random, plain_words(row.command))
        if words is not None:
            tried += 1
            command = write_plain(words)
            if decide("allow", row.pattern, command) == "allow":
                grown.append((row.pattern, command))
    assert grown == []
    assert tried > EXAMPLES // 2


def test_no_shell_syntax_is_granted_by_an_open_pattern() -> None:
    random = Random(3)
    tails = [
        "; id",
        " && id",
        " | id",
        " &",
        " > x",
        " >> x",
        " $(id)",
        " `id`",
        " $x",
        " *",
        " ~",
        "\nid",
        " <x",
        " <(id)",
        " {a,b}",
        " \\\n x",
        " # x",
    ]
    grown = []
    for _ in range(EXAMPLES):
        row = random.choice(GRANTED)
        command = row.command + random.choice(tails)
        if decide("allow", row.pattern, command) == "allow":
            grown.append((row.pattern, command))
    assert grown == []


def test_no_rewriting_takes_a_command_out_of_a_deny_pattern() -> None:
    random = Random(4)
    shrunk = []
    for _ in range(EXAMPLES):
        row = random.choice(DENIED)
        command = rewrite(random, row.command)
        if decide("deny", row.pattern, command) != "deny":
            shrunk.append((row.pattern, row.command, command))
    assert shrunk == []
