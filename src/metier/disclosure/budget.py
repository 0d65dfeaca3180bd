"""A catalog that fits a token budget.

Skills come ranked, best first. A share of the budget goes to whole descriptions, a share to first sentences, and the rest
to names, because a name costs a twentieth of a description and is often enough to ask for more. The lines are sorted by
name, so that two requests with the same skills share a prompt cache. The text says how many skills are missing and how to
search them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from metier.spec import estimate_tokens
from metier.values import dataclass

from .catalog_block import ACTIVATION_SENTENCES, ActivationMethod, CatalogLine, left_out_sentence, render_block
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter, brief_text

__all__ = ["Budget", "CatalogStyle", "render_catalog"]

_DEFAULT_CONTEXT = 200_000
_CONTEXT_SHARE = 0.02
_MAX_BRIEF_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens that the catalog may cost; 2 % of a context of 200,000 tokens by default."""

    tokens: int = int(_DEFAULT_CONTEXT * _CONTEXT_SHARE)
    full_share: float = 0.5
    """Share for whole descriptions; `brief_share` is for first sentences, and the rest for names."""
    brief_share: float = 0.25

    @classmethod
    def of_context(cls, context: int) -> Budget:
        return cls(tokens=max(1, int(context * _CONTEXT_SHARE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStyle:
    """Format of a catalog, the way the model starts a skill, and the way tokens are counted."""

    form: CatalogFormat = CatalogFormat.XML
    activation: ActivationMethod = ActivationMethod.FILE
    count: TokenCounter = estimate_tokens

    def full_line(self, skill: PromptSkill) -> CatalogLine:
        return (skill.name, skill.description, self._location(skill))

    def brief_line(self, skill: PromptSkill) -> CatalogLine:
        return (skill.name, brief_text(skill, _MAX_BRIEF_CHARS), self._location(skill))

    def page(self, lines: Sequence[CatalogLine], names: Sequence[str], missing: int) -> str:
        block = render_block(sorted(lines), sorted(names), self.form)
        sentence = left_out_sentence(missing, self.activation) if missing else ""
        return "\n\n".join(filter(None, (ACTIVATION_SENTENCES[self.activation] if block else "", block, sentence)))

    def _location(self, skill: PromptSkill) -> str:
        return skill.location if self.activation is ActivationMethod.FILE else ""


def render_catalog(
    ranked: Iterable[PromptSkill], budget: Budget | None = None, style: CatalogStyle | None = None, *, more: int = 0
) -> Disclosure:
    """Renders these skills, best first, in at most the budget's tokens. A catalog that fits is not shortened.

    `more` is the number of further skills that the caller did not pass because they cannot fit.
    """
    budget, style, skills = budget or Budget(), style or CatalogStyle(), list(ranked)
    if not skills and not more:
        return Disclosure()
    text = style.page([style.full_line(skill) for skill in skills], [], more)
    tokens = style.count(text)
    if tokens <= budget.tokens:
        full = tuple(sorted(skill.name for skill in skills))
        return Disclosure(text=text, tier=Tier.CATALOG, tokens=tokens, full=full, left_out=more)
    return _fit(skills, budget, style, more)


@dataclass(slots=True)
class _Allowance:
    """Tokens left to spend."""

    left: int
    style: CatalogStyle
    empty: int
    """Tokens of the tags of a block."""

    def cost(self, line: CatalogLine) -> int:
        """Returns the tokens that one line adds to a page that already has the tags of the block."""
        return max(1, self.style.count(render_block([line], [], self.style.form)) - self.empty + 1)

    def spend(self, cost: int) -> bool:
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def spend_on_lines(self, waiting: list[PromptSkill], line: Callable[[PromptSkill], CatalogLine]) -> list[CatalogLine]:
        """Moves as many skills as it can pay for from the front of `waiting` into lines."""
        lines: list[CatalogLine] = []
        while waiting and self.spend(self.cost(line(waiting[0]))):
            lines.append(line(waiting.pop(0)))
        return lines

    def affordable_names(self, waiting: Sequence[PromptSkill]) -> list[str]:
        names: list[str] = []
        for skill in waiting:
            if not self.spend(self.style.count(f"{skill.name}, ") + 1):
                break
            names.append(skill.name)
        return names


def _fit(skills: list[PromptSkill], budget: Budget, style: CatalogStyle, more: int) -> Disclosure:
    total = max(0, budget.tokens - style.count(style.page([], ["x"], len(skills) + more)))
    for_full, for_brief = int(total * budget.full_share), int(total * budget.brief_share)
    waiting = list(skills)
    allowance = _Allowance(for_full, style, style.count(render_block([], ["x"], style.form)))
    full = allowance.spend_on_lines(waiting, style.full_line)
    allowance.left += for_brief
    brief = allowance.spend_on_lines(waiting, style.brief_line)
    allowance.left += total - for_full - for_brief
    names = allowance.affordable_names(waiting)
    # The remainder turns first sentences back into whole descriptions, again from the best skill on.
    for skill in skills[len(full) : len(full) + len(brief)]:
        whole = style.full_line(skill)
        if not allowance.spend(allowance.cost(whole) - allowance.cost(brief[0])):
            break
        full.append(whole)
        brief.pop(0)
    return _trim(full, brief, names, len(skills) + more, budget, style)


def _trim(
    full: list[CatalogLine], brief: list[CatalogLine], names: list[str], skills: int, budget: Budget, style: CatalogStyle
) -> Disclosure:
    """Counts the whole page, because the sum of its parts is an estimate, and drops the last skill until it fits."""
    while True:
        missing = skills - len(full) - len(brief) - len(names)
        text = style.page(full + brief, names, missing)
        tokens = style.count(text)
        if tokens <= budget.tokens or not (full or brief or names):
            break
        (names or brief or full).pop()
    if tokens > budget.tokens:
        text, missing = "", skills
    return Disclosure(
        text=text,
        tier=Tier.CATALOG if full or brief else (Tier.NAMES if names else Tier.NOTHING),
        tokens=style.count(text) if text else 0,
        full=tuple(sorted(line[0] for line in full)),
        shortened=tuple(sorted(line[0] for line in brief)),
        named=tuple(sorted(names)),
        left_out=missing,
    )
