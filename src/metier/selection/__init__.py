"""The right skills for a request, found locally: words, triggers, meaning, and the honesty to find nothing.

    selection = Selector(skills).select("merge these two PDF files", limit=10)

Importing this package does not import numpy; the first use of `Selector` does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .match import Decision, Match, Selection, Share
from .weights import Weights

if TYPE_CHECKING:
    from .container import CorruptIndexError
    from .document import Skill
    from .llm import LlmSelector, Model
    from .meanings import Encoder, Meanings
    from .selector import Selector

__all__ = [
    "CorruptIndexError", "Decision", "Encoder", "LlmSelector", "Match", "Meanings", "Model", "Selection", "Selector",
    "Share", "Skill", "Weights",
]  # fmt: skip

_LATER = {
    "CorruptIndexError": ".container",
    "Encoder": ".meanings",
    "LlmSelector": ".llm",
    "Meanings": ".meanings",
    "Model": ".llm",
    "Selector": ".selector",
    "Skill": ".document",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
