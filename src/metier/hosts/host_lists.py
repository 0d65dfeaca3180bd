"""The list of skills as another agent shows it to its model, within that agent's budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from metier.values import dataclass, replace

from .listing_budgets import Cut, ListingBudget

__all__ = ["HostListing", "HostSkill", "ListedSkill", "render_listing"]

_BYTES_PER_TOKEN = 4
_CODEX_HEAD = 310
"""Bytes of the text around Codex's table of skill folders."""
_CODEX_FREE_TOKENS = 113
"""As much of that text and the table as does not count against the budget."""


_COPILOT_FOLDERS = ("/.agents/skills", "/.github/skills", "/.claude/skills")
"""The folders of a project in the order of its list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSkill:
    """A skill that an agent finds on this machine."""

    name: str
    description: str
    file: str
    is_users: bool = False
    """In a folder of the user, not of the project."""
    root: str = ""
    """The folder of skills that it is in."""
    hidden: bool = False
    """`disable-model-invocation: true`, or switched off in the agent's settings."""
    use: float = 0.0
    """The more an agent has used it, the longer it keeps its description."""
    own: bool = False
    """It comes with the agent."""
    always_whole: bool = False
    name_only: bool = False
    """The agent's settings show its name only."""
    locator: str = ""
    """Its file as the agent shortens it; empty until it is listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSkill:
    skill: HostSkill
    shown: str
    """The description that the model sees; empty if it sees the name only."""

    @property
    def is_whole(self) -> bool:
        return self.shown == self.skill.description


@dataclass(frozen=True, slots=True, kw_only=True)
class HostListing:
    host: str
    text: str
    listed: tuple[ListedSkill, ...]
    left_out: tuple[HostSkill, ...]
    """Skills that the model cannot see."""
    hidden: tuple[HostSkill, ...]
    """Skills that their author or the user keeps from the model."""
    used: int
    limit: int
    unit: str

    @property
    def whole(self) -> tuple[str, ...]:
        return tuple(one.skill.name for one in self.listed if one.is_whole and not one.skill.own)

    @property
    def shortened(self) -> tuple[str, ...]:
        return tuple(one.skill.name for one in self.listed if one.shown and not one.is_whole and not one.skill.own)

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(one.skill.name for one in self.listed if not one.shown and not one.is_whole and not one.skill.own)


def render_listing(
    budget: ListingBudget, skills: Iterable[HostSkill], *, context: int | None = None, own_root: str = ""
) -> HostListing:
    """Returns the list as this agent shows it to a model with a context window of `context` tokens.

    `own_root` is the folder of the skills that come with the agent.
    """
    given = list(skills)
    hidden = [skill for skill in given if skill.hidden]
    kept = _order(budget, [skill for skill in given if not skill.hidden], own_root)
    roots = list(dict.fromkeys(skill.root for skill in kept))
    kept = [replace(skill, description=" ".join(skill.description.split()), locator=_locator(skill, roots)) for skill in kept]
    limit = budget.limit(context)
    allocate = {
        Cut.NAMES_ONLY: _names_only,
        Cut.SHORTEN_FAIRLY: _shorten_fairly,
        Cut.NAME_REST: _name_rest,
        Cut.REFUSE: _refuse,
        Cut.NOTHING: _nothing,
    }[budget.cut]
    listed = allocate(budget, kept, limit)
    there = {id(one.skill) for one in listed}
    line = _LINES.get(budget.host, _xml)
    # Names after the list are not counted.
    lines = [line(one) for one in listed if one.shown or budget.cut is not Cut.NAME_REST]
    return HostListing(
        host=budget.host, text="\n".join(line(_without_own_text(one)) for one in listed),
        listed=tuple(listed), hidden=tuple(hidden),
        left_out=tuple(skill for skill in kept if id(skill) not in there),
        used=sum(map(_cost, lines)) if budget.unit == "tokens" else len("\n".join(lines)), limit=limit, unit=budget.unit,
    )  # fmt: skip


def _order(budget: ListingBudget, skills: Sequence[HostSkill], own_root: str) -> list[HostSkill]:
    own = [
        HostSkill(
            name=one.name, description="x" * one.length, file="", root=own_root, own=True, always_whole=one.always_whole
        )
        for one in budget.own
    ]  # fmt: skip
    users = sorted((skill for skill in skills if skill.is_users), key=lambda skill: skill.name)
    projects = sorted((skill for skill in skills if not skill.is_users), key=lambda skill: skill.name)
    match budget.host:
        case "claude-code":
            return [*_each_once([*users, *projects]), *own]
        case "codex":
            return [*own, *projects, *users]
        case "github-copilot":
            folders = [*_COPILOT_FOLDERS, ""]

            def place(skill: HostSkill) -> int:
                return next(at for at, folder in enumerate(folders) if skill.root.endswith(folder))

            return [*_each_once([*sorted(projects, key=place), *users]), *own]
        case _:
            # The project's skill hides the user's of the same name.
            return [*own, *sorted(_each_once([*projects, *users]), key=lambda skill: skill.name)]


def _each_once(skills: Sequence[HostSkill]) -> list[HostSkill]:
    first: dict[str, HostSkill] = {}
    for skill in skills:
        first.setdefault(skill.name, skill)
    return list(first.values())


def _capped(budget: ListingBudget, description: str) -> str:
    most = budget.most_description
    if not most or len(description) <= most:
        return description
    return description[: most - len(budget.ellipsis)] + budget.ellipsis


def _nothing(budget: ListingBudget, skills: Sequence[HostSkill], _limit: int) -> list[ListedSkill]:
    return [ListedSkill(skill=skill, shown=_capped(budget, skill.description)) for skill in skills]


def _refuse(budget: ListingBudget, skills: Sequence[HostSkill], _limit: int) -> list[ListedSkill]:
    return [
        ListedSkill(skill=skill, shown=skill.description)
        for skill in skills
        if len(skill.description) <= budget.most_description
    ]


def _name_rest(budget: ListingBudget, skills: Sequence[HostSkill], limit: int) -> list[ListedSkill]:
    listed = _nothing(budget, skills, limit)
    costs = accumulate(len(_copilot(one)) + 1 for one in listed)
    fitting = sum(cost <= limit for cost in costs)
    return [one if place < fitting else replace(one, shown="") for place, one in enumerate(listed)]


def _names_only(budget: ListingBudget, skills: Sequence[HostSkill], limit: int) -> list[ListedSkill]:
    """Gives each description away whole, the most used skill first, as long as it fits beside the names of all others."""
    whole = {id(skill): "" if skill.name_only else _capped(budget, skill.description) for skill in skills}

    def cost(skill: HostSkill, text: str) -> int:
        return len(skill.name) + 2 + (len(text) + 2 if text else 0)

    fixed = {id(skill) for skill in skills if skill.always_whole or skill.name_only}
    full = sum(cost(skill, whole[id(skill)]) for skill in skills) + max(len(skills) - 1, 0)
    if full <= limit:
        return [ListedSkill(skill=skill, shown=whole[id(skill)]) for skill in skills]
    free = limit - max(len(skills) - 1, 0)
    free -= sum(cost(skill, whole[id(skill)] if id(skill) in fixed else "") for skill in skills)
    kept = set(fixed)
    for skill in sorted((skill for skill in skills if id(skill) not in fixed), key=lambda skill: -skill.use):
        more = cost(skill, whole[id(skill)]) - cost(skill, "")
        if more <= free:
            free -= more
            kept.add(id(skill))
    return [ListedSkill(skill=skill, shown=whole[id(skill)] if id(skill) in kept else "") for skill in skills]


def _shorten_fairly(budget: ListingBudget, skills: Sequence[HostSkill], limit: int) -> list[ListedSkill]:
    """Gives each skill one more character of its description in turn, until nothing fits any more."""
    limit -= _table_cost({skill.root for skill in skills})
    whole = [_capped(budget, skill.description) for skill in skills]
    bare = [_cost(_bullet(ListedSkill(skill=skill, shown=""))) for skill in skills]
    if sum(bare) > limit:
        return _drop_lines(skills, bare, limit)
    full = [_cost(_bullet(ListedSkill(skill=skill, shown=text))) for skill, text in zip(skills, whole, strict=True)]
    if sum(full) <= limit:
        return [ListedSkill(skill=skill, shown=text) for skill, text in zip(skills, whole, strict=True)]
    length = [len(_bullet(ListedSkill(skill=skill, shown="")).encode()) + 1 for skill in skills]
    taken, extra, free, changed = [0] * len(skills), [0] * len(skills), limit - sum(bare), True
    spent = list(length)
    while changed:
        changed = False
        for place, text in enumerate(whole):
            if taken[place] >= len(text):
                continue
            # The first character also brings the space before it.
            added = len(text[taken[place]].encode()) + (taken[place] == 0)
            cost = -(-(spent[place] + added) // _BYTES_PER_TOKEN) - bare[place]
            if cost - extra[place] <= free:
                free -= cost - extra[place]
                extra[place], taken[place], changed = cost, taken[place] + 1, True
                spent[place] += added
    shown = (text[:count] for text, count in zip(whole, taken, strict=True))
    return [ListedSkill(skill=skill, shown=text) for skill, text in zip(skills, shown, strict=True)]


def _table_cost(roots: Iterable[str]) -> int:
    """Returns the tokens that Codex takes from the budget for its table of the folders of skills."""
    table = sum(len(f"- `r0` = `{root}`\n".encode()) for root in roots)
    return max(-(-(_CODEX_HEAD + table) // _BYTES_PER_TOKEN) - _CODEX_FREE_TOKENS, 0)


def _drop_lines(skills: Sequence[HostSkill], costs: Sequence[int], limit: int) -> list[ListedSkill]:
    listed, used = [], 0
    for skill, cost in zip(skills, costs, strict=True):
        if used + cost <= limit:
            used += cost
            listed.append(ListedSkill(skill=skill, shown=""))
    return listed


def _cost(line: str) -> int:
    return -(-(len(line.encode()) + 1) // _BYTES_PER_TOKEN)


def _locator(skill: HostSkill, roots: Sequence[str]) -> str:
    inner = skill.file[len(skill.root) + 1 :] if skill.file else f"{skill.name}/SKILL.md"
    return f"r{roots.index(skill.root)}/{inner}"


def _without_own_text(one: ListedSkill) -> ListedSkill:
    """Returns the skill with a note in place of the agent's own words, of which only the length is known."""
    return replace(one, shown=f"[{len(one.shown):,} characters]") if one.skill.own and one.shown else one


def _dash(one: ListedSkill) -> str:
    return f"- {one.skill.name}: {one.shown}" if one.shown else f"- {one.skill.name}"


def _bullet(one: ListedSkill) -> str:
    return f"- {one.skill.name}: {one.shown}{' ' if one.shown else ''}(file: {one.skill.locator})"


def _xml(one: ListedSkill) -> str:
    parts = (("name", one.skill.name), ("description", one.shown), ("location", one.skill.file))
    inner = "\n".join(f"    <{tag}>{text}</{tag}>" for tag, text in parts)
    return f"  <skill>\n{inner}\n  </skill>"


def _copilot(one: ListedSkill) -> str:
    if not one.shown:
        return one.skill.name
    location = "builtin" if one.skill.own else "user" if one.skill.is_users else "project"
    parts = (("name", one.skill.name), ("description", one.shown), ("location", location))
    return "\n".join(("<skill>", *(f"  <{tag}>{text}</{tag}>" for tag, text in parts), "</skill>"))


_LINES: dict[str, Callable[[ListedSkill], str]] = {"claude-code": _dash, "codex": _bullet, "github-copilot": _copilot}
