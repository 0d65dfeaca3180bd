"""The answers to an approval question, at every prompt that asks one."""

from __future__ import annotations

from metier.runtime import ApprovalAnswer

__all__ = ["APPROVAL_HELP", "APPROVAL_PROMPT", "read_approval"]

APPROVAL_PROMPT = "Allow? [y]es once, [a]lways, [n]o, [?] help: "
APPROVAL_HELP = (
    "y, yes     allow it this once",
    "a, always  allow it until the skill changes",
    "n, no      refuse; the model is told so",
)
_ANSWERS = {
    **dict.fromkeys(("y", "yes", "o", "once"), ApprovalAnswer.ONCE),
    **dict.fromkeys(("a", "always"), ApprovalAnswer.ALWAYS),
    **dict.fromkeys(("n", "no", ""), ApprovalAnswer.NO),
}


def read_approval(text: str) -> ApprovalAnswer | None:
    """Returns the answer; None for `?` and for anything else, after which the question is asked again."""
    return _ANSWERS.get(text.strip().lower())
