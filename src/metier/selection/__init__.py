"""Local selection: the skills that fit a request, each with a score, a confidence and a reason, or none.

    selection = Selector(skills).select("merge these two PDF files", limit=10)

Importing this package does not import numpy; the first use of `Selector` does.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .container import CorruptIndexError
    from .embeddings import Encoder, SkillEmbeddings
    from .index_document import SelectableSkill, split_negative
    from .llm import LlmSelector, TextModel
    from .match import Match, MatchDecision, ScoreShare, Selection, SelectorOptions
    from .minilm import MiniLM
    from .recall import AvailableSkill, Recall, install_command
    from .selector import Selector
    from .tokenization import STOP_WORDS, split_sentences, split_words, word_terms

__all__ = [
    "STOP_WORDS",
    "AvailableSkill",
    "CorruptIndexError",
    "Encoder",
    "LlmSelector",
    "Match",
    "MatchDecision",
    "MiniLM",
    "Recall",
    "ScoreShare",
    "SelectableSkill",
    "Selection",
    "Selector",
    "SelectorOptions",
    "SkillEmbeddings",
    "TextModel",
    "install_command",
    "split_negative",
    "split_sentences",
    "split_words",
    "word_terms",
]

if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.selection.container": ("CorruptIndexError",),
            "metier.selection.embeddings": ("Encoder", "SkillEmbeddings"),
            "metier.selection.index_document": ("SelectableSkill", "split_negative"),
            "metier.selection.llm": ("LlmSelector", "TextModel"),
            "metier.selection.match": ("Match", "MatchDecision", "ScoreShare", "Selection", "SelectorOptions"),
            "metier.selection.minilm": ("MiniLM",),
            "metier.selection.recall": ("AvailableSkill", "Recall", "install_command"),
            "metier.selection.selector": ("Selector",),
            "metier.selection.tokenization": ("STOP_WORDS", "split_sentences", "word_terms", "split_words"),
        },
    )
