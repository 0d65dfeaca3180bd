"""`metier prompt`: exactly what a model is told about the skills here."""

from __future__ import annotations

from typing import Any

from metier.app import App
from metier.disclosure import skills_section
from metier.spec import estimated_tokens

from .result import Result
from .run import command

__all__ = ["prompt"]


@command("", "prompt")
def prompt(app: App) -> Result:
    """Print what a model is told about your skills.

    The text goes to stdout exactly as a model would get it; the token count goes to stderr.
    """
    listed = [entry for entry in app.catalog if entry.is_for_models]
    text = skills_section(listed)
    tokens = estimated_tokens(text)
    data: dict[str, Any] = {"prompt": text, "tokens": tokens, "skills": [entry.name for entry in listed]}
    return Result(
        data=data,
        lines=lambda _: (),
        text=f"{text}\n" if text else "",
        info=f"{len(listed)} skills, about {tokens:,} tokens",
    )
