"""A catalog that fits: what is shown in full, shortened, by name, and what is left out.

With thousands of skills no catalog fits, so the caller ranks them for the request and the page is filled from the
top: a share of the budget for whole descriptions, a share for first sentences, and names for as long as there is
room, because a name costs a twentieth of a description and is often enough to ask for more. What is on the page
stands in the order of names, so that two requests with the same skills share a prompt cache; and the page says how
many are missing and how to search them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metier.spec import estimate_tokens, first_sentence

from .catalog_block import CatalogLine, render_block
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter
from .wording import ACTIVATE, ActivationMethod, left_out

__all__ = ["Budget", "catalog_within"]

CONTEXT = 200_000
SHARE = 0.02
_LONGEST_BRIEF = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many tokens the catalog may cost, by default 2 % of a 200,000-token context."""

    tokens: int = int(CONTEXT * SHARE)
    full_share: float = 0.5
    """Of the budget, for whole descriptions; then `brief_share` for first sentences; the rest for names."""
    brief_share: float = 0.25

    @classmethod
    def of_context(cls, context: int) -> Budget:
        return cls(tokens=max(1, int(context * SHARE)))


@dataclass(slots=True)
class _Room:
    left: int
    count: TokenCounter
    form: CatalogFormat

    def cost(self, line: CatalogLine) -> int:
        """Of one entry on a page that has the block's own tags already."""
        return max(1, self.count(render_block([line], [], self.form)) - self.count(render_block([], ["x"], self.form)) + 1)

    def take(self, cost: int) -> bool:
        if cost > self.left:
            return False
        self.left -= cost
        return True


def catalog_within(
    ranked: Sequence[PromptSkill],
    budget: Budget | None = None,
    *,
    form: CatalogFormat = CatalogFormat.XML,
    how: ActivationMethod = ActivationMethod.FILE,
    count: TokenCounter = estimate_tokens,
    more: int = 0,
) -> Disclosure:
    """The catalog of these skills, best first, in at most the budget's tokens. All of it when all of it fits.

    `more` skills exist beside them: a caller who has ranked thousands need not hand over those that cannot fit anyway.
    """
    budget = budget or Budget()
    if not ranked and not more:
        return Disclosure()
    located = how is ActivationMethod.FILE
    whole = _page([_line(skill, located=located) for skill in ranked], [], more, form, how)
    cost = count(whole)
    if cost <= budget.tokens:
        full = tuple(sorted(skill.name for skill in ranked))
        return Disclosure(text=whole, tier=Tier.CATALOG, tokens=cost, full=full, left_out=more)
    return _fitted(ranked, budget, form, how, count, more)


def _fitted(
    ranked: Sequence[PromptSkill], budget: Budget, form: CatalogFormat, how: ActivationMethod, count: TokenCounter, more: int
) -> Disclosure:
    located = how is ActivationMethod.FILE
    total = max(0, budget.tokens - count(_page([], ["x"], len(ranked) + more, form, how)))
    rest = list(ranked)
    room = _Room(int(total * budget.full_share), count, form)
    full = _taken(rest, room, lambda skill: _line(skill, located=located))
    room.left += int(total * budget.brief_share)
    brief = _taken(rest, room, lambda skill: _brief(skill, located=located))
    room.left += total - int(total * budget.full_share) - int(total * budget.brief_share)
    named = [skill.name for skill in rest[: _prefix(rest, room)]]
    # What is left over makes whole descriptions of first sentences, again from the top.
    for skill in ranked[len(full) : len(full) + len(brief)]:
        whole = _line(skill, located=located)
        if not room.take(room.cost(whole) - room.cost(brief[0])):
            break
        full.append(whole)
        brief.pop(0)
    return _checked(full, brief, named, len(ranked) + more, budget, (form, how, count))


def _taken(rest: list[PromptSkill], room: _Room, line: Callable[[PromptSkill], CatalogLine]) -> list[CatalogLine]:
    """As many from the front of `rest` as there is room for; they leave it."""
    taken: list[CatalogLine] = []
    while rest and room.take(room.cost(line(rest[0]))):
        taken.append(line(rest.pop(0)))
    return taken


def _prefix(rest: Sequence[PromptSkill], room: _Room) -> int:
    """How many names fit."""
    for number, skill in enumerate(rest):
        if not room.take(room.count(f"{skill.name}, ") + 1):
            return number
    return len(rest)


def _checked(
    full: list[CatalogLine],
    brief: list[CatalogLine],
    named: list[str],
    skills: int,
    budget: Budget,
    style: tuple[CatalogFormat, ActivationMethod, TokenCounter],
) -> Disclosure:
    """Sums of parts are not the whole: measure the page itself, and take the last away until it fits."""
    form, how, count = style
    while True:
        missing = skills - len(full) - len(brief) - len(named)
        text = _page(full + brief, named, missing, form, how)
        cost = count(text)
        if cost <= budget.tokens or not (full or brief or named):
            break
        (named or brief or full).pop()
    if cost > budget.tokens:
        text, missing = "", skills
    return Disclosure(
        text=text,
        tier=Tier.CATALOG if full or brief else (Tier.NAMES if named else Tier.NOTHING),
        tokens=count(text) if text else 0,
        full=tuple(sorted(line[0] for line in full)),
        shortened=tuple(sorted(line[0] for line in brief)),
        named=tuple(sorted(named)),
        left_out=missing,
    )


def _page(lines: Sequence[CatalogLine], named: Sequence[str], missing: int, form: CatalogFormat, how: ActivationMethod) -> str:
    block = render_block(sorted(lines), sorted(named), form)
    if not block:
        return left_out(missing, how) if missing else ""
    parts = [ACTIVATE[how], block, *([left_out(missing, how)] if missing else [])]
    return "\n\n".join(parts)


def _line(skill: PromptSkill, *, located: bool) -> CatalogLine:
    return (skill.name, skill.description, skill.location if located else "")


def _brief(skill: PromptSkill, *, located: bool) -> CatalogLine:
    sentence = first_sentence(skill.description)
    if len(sentence) > _LONGEST_BRIEF:
        sentence = sentence[:_LONGEST_BRIEF].rsplit(" ", 1)[0] + "…"
    return (skill.name, sentence, skill.location if located else "")
