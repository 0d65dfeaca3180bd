"""The answers to an approval question, at every prompt that asks one."""

from __future__ import annotations

import shlex

from metier.runtime import ApprovalAnswer, Question

from .terminal import one_line

__all__ = ["APPROVAL_HELP", "APPROVAL_PROMPT", "command_line", "question_lines", "read_approval"]

APPROVAL_PROMPT = "Allow? [y]es once, [a]lways, [n]o, [?] help: "
APPROVAL_HELP = (
    "y, yes     allow it this once",
    "a, always  allow it until the skill changes",
    "n, no      refuse, and tell the model",
)
_ANSWERS = {
    **dict.fromkeys(("y", "yes", "o", "once"), ApprovalAnswer.ONCE),
    **dict.fromkeys(("a", "always"), ApprovalAnswer.ALWAYS),
    **dict.fromkeys(("n", "no", ""), ApprovalAnswer.NO),
}


def question_lines(question: Question) -> tuple[str, ...]:
    """The request, and below it the exact command line or code if there is one, line by line."""
    name = question.request.tool if question.program else str(question.request)
    what = "fetch these packages, once for all runs" if question.request.tool == "Packages" else f"use {name}"
    details = tuple(f"  {one_line(each)}" for each in question.request.details)
    request = one_line(f"{question.skill or 'the model'} wants to {what} ({question.reason})")
    if question.words:
        return (request, *details, f"  $ {command_line(question.words)}")
    program = enumerate(_lines(question.program))
    return (request, *details, *(f"  {'  ' if number else '$ '}{_visible(line)}" for number, line in program))


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text else []


def command_line(words: tuple[str, ...]) -> str:
    """The words as a shell would take them, with control characters as escapes: nothing is left out or rearranged."""
    return _visible(shlex.join(words))


def _visible(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def read_approval(text: str) -> ApprovalAnswer | None:
    """Returns the answer; None for `?` and for anything else, after which the question is asked again."""
    return _ANSWERS.get(text.strip().lower())
