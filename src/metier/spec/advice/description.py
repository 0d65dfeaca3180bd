"""Advice on the description, which every model reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metier.errors import plural
from metier.spec.report import Problem
from metier.spec.text import estimate_tokens

from .subject import LintSubject

__all__ = ["angle_brackets", "catalog_cost", "description_length", "description_voice", "says_when"]

_SHORTEST = 40
_DEAREST = 200
_LONGEST_LOOKED_AT = 4_000

# Many words: a false alarm about a good description costs more trust than missing a bad one.
_WHEN = re.compile(
    r"""\b(?:when|whenever|if|while|during|before|after|upon|once|until|unless|where|triggers?|triggered|triggering
    |invoke[ds]?|invoking|activate[ds]?|activates|applies|asks?|asked|asking|requests?|requested|mentions?|says?
    |needs?|needed|needing|wants?|wanting|wishes|(?:must|should|can)\s+be\s+used|suitable|ideal|perfect|useful|helpful
    |us(?:e|ed|ing)\s+(?:this|it|for|to|in|on|as|with|by|at|proactively|only|alongside|instead)
    |for\s+(?:use|when|any|all|every|tasks?|questions?|requests?|users?|situations?|cases?|scenarios?|work)
    |on\s+(?:request|demand)|in\s+case|scenarios?|situations?|use\s+cases?|keywords?|phrases?|handles?\s+requests
    |cuando|si|al|para\s+cuando|usar|usa|úsal[ao]|utiliza[r]?|quando|se|caso|ao|quand|lorsque|lors|dès|utilise[rz]?
    |wenn|falls|sobald|bei|nutze|verwende[nt]?|als|wanneer|bij|gdy|kiedy|jeśli|gdyby|när|om|khi|nếu|ketika|saat|jika
    |bila|apabila|zaman|eğer|sırasında|için|kullan\w*|jos|kun|když|pokud|amikor|ha)\b
    |когда|если|при|використовуй|используй\w*|коли|якщо|इस्तेमाल|जब|यदि|عند|إذا|عندما|เมื่อ|כאשר
    |当|當|时|時|用于|用於|适用|適用|触发|觸發|场景|場景|如果|使用|需要|とき|場合|際に|使う|たい|때|경우|사용|요청|필요""",
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE_START = r"(?:^|[.!?:;]\s{1,4}|\n\s{0,8})"
_VOICE = re.compile(
    _SENTENCE_START + r"(?P<words>I(?:'ll|’ll|'m|’m|'ve|’ve| can| will| am| help| do| would| have)\b"
    r"|You can\b|You will\b|We (?:can|will|help|are|provide|offer)\b|Let me\b|Let's\b|My (?:job|role|task|goal)\b)"
)
_QUOTED = re.compile(r'"[^"]{0,300}"|“[^”]{0,300}”|«[^»]{0,300}»|`[^`]{0,300}`|(?<!\w)\'[^\']{0,300}\'(?!\w)')


def says_when(page: LintSubject) -> Iterator[Problem]:
    """A model picks a skill by its description, so that must say *when* to use it, not only what it does."""
    extensions = page.manifest.extensions
    has_when_key = any(key.lower().replace("_", "-") in ("when-to-use", "when") for key in page.manifest.extra)
    if extensions.triggers.any or has_when_key or extensions.disable_model_invocation:
        return
    description = page.manifest.description[:_LONGEST_LOOKED_AT]
    letters = [char for char in description if char.isalpha()]
    is_foreign = sum(not char.isascii() for char in letters) * 3 > len(letters)
    if not is_foreign and not _WHEN.search(description):
        yield page.about_description(
            "SK201", "the description never says when to use the skill", "add a sentence that starts with `Use when`"
        )


def description_length(page: LintSubject) -> Iterator[Problem]:
    """A description of a few words gives a model nothing to match a request against."""
    description = page.manifest.description
    # One ideograph says about as much as three letters.
    weight = sum(3 if ord(char) > 0x2E7F else 1 for char in description[:_SHORTEST])
    if weight < _SHORTEST:
        yield page.about_description(
            "SK202",
            f"the description has only {plural(len(description), 'character')}",
            "say what the skill does, on what, and when to use it",
        )


def description_voice(page: LintSubject) -> Iterator[Problem]:
    """In a catalog of fifty skills, `I` is ambiguous. Quoted text is what a user may say, and is ignored."""
    description = _QUOTED.sub('""', page.manifest.description[:_LONGEST_LOOKED_AT])
    found = _VOICE.search(description)
    if found:
        yield page.about_description(
            "SK203",
            f"the description speaks as a person: {found['words']!r}",
            "write what the skill does, as in `Fills PDF forms`, then `Use when ...`",
        )


def angle_brackets(page: LintSubject) -> Iterator[Problem]:
    """Most prompts put descriptions between tags, and some validators reject brackets in them."""
    found = re.search(r"[<>]", page.manifest.description)
    if found:
        yield page.about_description("SK216", f"the description holds {found[0]!r}", "write it in words")


def catalog_cost(page: LintSubject) -> Iterator[Problem]:
    """Every conversation pays for the catalog entry, even if the skill is not used."""
    tokens = estimate_tokens(page.manifest.name) + estimate_tokens(page.manifest.description)
    if tokens > _DEAREST:
        yield page.about_description(
            "SK219",
            f"the catalog entry costs about {tokens:,} tokens in every conversation",
            "keep what and when, and move the rest into the body; about 100 tokens is usual",
        )
