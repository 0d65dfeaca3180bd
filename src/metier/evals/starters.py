"""Starters for a skill's own evals and tests, made from its manifest and its scripts. The author goes on from there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from metier.spec import Manifest

__all__ = ["starter_evals", "starter_tests"]

_WHEN = re.compile(
    r"\buse (?:this skill |it )?(?:when|whenever|if|for|to)\s+(?P<rest>.+?)(?:[.;]|$)", re.IGNORECASE | re.DOTALL
)
# Requests that hardly any skill is for.
_UNRELATED = ("What is the weather like in Oslo tomorrow?", "Tell me a joke about penguins.")


def starter_evals(manifest: Manifest) -> str:
    """Returns an eval_queries.json: two requests from the description that should select the skill, and two that should not."""
    description = " ".join(manifest.description.split())
    found = _WHEN.search(description)
    wanted = [re.split(r"(?<=[.!?])\s", description)[0], found["rest"] if found else description]
    rows = [{"query": query.strip(), "should_trigger": True} for query in dict.fromkeys(wanted)]
    rows += [{"query": query, "should_trigger": False} for query in _UNRELATED]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def starter_tests(scripts: Iterable[str]) -> str:
    """Returns a page of tests that asks each Python and shell script for its help."""
    blocks = "\n".join(f"$ {_command(script)} --help\n..." for script in sorted(scripts))
    return f"# The scripts answer\n\n```console\n{blocks}\n```\n"


def _command(script: str) -> str:
    programs = {"py": "python3", "sh": "sh", "js": "node", "mjs": "node", "rb": "ruby"}
    program = programs.get(script.rpartition(".")[2])
    return f"{program} {script}" if program else script
