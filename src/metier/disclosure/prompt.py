"""`render_prompt`: the text about a catalog's skills that goes into a model's prompt.

render_prompt(catalog).text
render_prompt(catalog, "plot the sales", PromptOptions(preset=Preset.ACTIVE), selector=selector, loader=loader).text
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from metier.catalog import Catalog, Entry, Source
from metier.errors import UsageError
from metier.spec import Skill, estimate_tokens, script_summary
from metier.values import dataclass

from .budget import Budget, CatalogStyle, render_catalog
from .catalog_block import ActivationMethod
from .presets import (
    Preset,
    SectionVisibility,
    SkillInstructions,
    render_active,
    render_by_trigger,
    render_compat,
    render_provider,
    render_section,
)
from .tiers import CatalogFormat, Disclosure, TokenCounter

__all__ = ["PromptOptions", "RankedSkill", "RequestSelector", "WholeSkillLoader", "render_prompt"]

_MAX_SCRIPT_BYTES = 256 * 1024


class RankedSkill(Protocol):
    @property
    def id(self) -> str: ...


class RequestSelector(Protocol):
    """Ranks skills for a request. `metier.Selector` is one, over the same entries."""

    def select(self, query: str, limit: int | None = None) -> Iterable[RankedSkill]: ...


class WholeSkillLoader(Protocol):
    """Reads a skill with its instructions. `metier.SkillLoader` is one."""

    def load_full(self, name: str) -> Skill: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions:
    preset: Preset = Preset.FILE
    budget: Budget = Budget()
    """For the presets `file` and `tool`."""
    form: CatalogFormat = CatalogFormat.XML
    """For the presets `file` and `tool`."""
    mount_path: str = "skills"
    """For the preset `section`: where the skills are in the agent's workspace."""
    root: str = ""
    """For the presets `section` and `summary`: the folder that is mounted there; only its skills are shown."""
    count: TokenCounter = estimate_tokens


def render_prompt(
    catalog: Catalog,
    request: str = "",
    options: PromptOptions | None = None,
    *,
    selector: RequestSelector | None = None,
    loader: WholeSkillLoader | None = None,
) -> Disclosure:
    """Renders the skills of the catalog that a model may use.

    A `selector` ranks them for the `request`; without one they are listed by name. The presets `triggers` and `active`
    also read the skills that the selector activates, for which they need a `loader`.
    """
    options = options or PromptOptions()
    preset, count = options.preset, options.count
    # A skill of an MCP server has no local file that a model could read; a tool can fetch it.
    shown = [entry for entry in catalog if entry.is_for_models and (preset is Preset.TOOL or entry.source is not Source.MCP)]
    match preset:
        case Preset.FILE | Preset.TOOL:
            style = CatalogStyle(form=options.form, activation=ActivationMethod(preset.value), count=count)
            return render_catalog(_rank(shown, request, selector), options.budget, style)
        case Preset.COMPAT:
            return render_compat(shown, count=count)
        case Preset.PROVIDER:
            return render_provider(shown, count=count)
        case Preset.SECTION:
            return render_section(shown, mount_path=options.mount_path, root=options.root, count=count)
        case Preset.SUMMARY:
            return render_section(shown, root=options.root, visibility=SectionVisibility.SUMMARY, count=count)
        case Preset.TRIGGERS:
            has_triggers = any(map(_has_triggers, shown))
            activated = _load_activated(shown, request, selector, loader)
            return render_by_trigger(request, shown, activated, has_triggers=has_triggers, count=count)
        case Preset.ACTIVE:
            if not request:
                raise UsageError(
                    "the preset 'active' needs a request", hint='metier prompt --preset active "chart the sales in sales.csv"'
                )
            return render_active(_load_activated(shown, request, selector, loader), count=count)


def _has_triggers(entry: Entry) -> bool:
    return "triggers" in entry.offer.fields and entry.manifest.extensions.triggers.any


def _rank(entries: Sequence[Entry], request: str, selector: RequestSelector | None) -> Sequence[Entry]:
    """Returns the entries best first if there is a request to rank by, else by name."""
    if not request or selector is None:
        return entries
    unranked = {entry.id: entry for entry in entries}
    best = [unranked.pop(match.id) for match in selector.select(request, limit=len(entries)) if match.id in unranked]
    return [*best, *unranked.values()]


def _load_activated(
    entries: Sequence[Entry], request: str, selector: RequestSelector | None, loader: WholeSkillLoader | None
) -> list[SkillInstructions]:
    if not request:
        return []
    if selector is None or loader is None:
        raise UsageError(
            "this preset reads the skills that a request activates",
            hint="pass selector=metier.open_selector(catalog) and loader=metier.SkillLoader(catalog)",
        )
    by_id = {entry.id: entry for entry in entries}
    return [_load(by_id[match.id], loader) for match in selector.select(request) if match.id in by_id]


def _load(entry: Entry, loader: WholeSkillLoader) -> SkillInstructions:
    skill = loader.load_full(entry.name)
    return SkillInstructions(
        name=skill.name, description=skill.description, instructions=skill.instructions, tools=tuple(_script_tools(skill))
    )


def _script_tools(skill: Skill) -> Iterable[tuple[str, str]]:
    for file in skill.resources("scripts"):
        if file.size <= _MAX_SCRIPT_BYTES:
            source = skill.resource(file.path).decode("utf-8", "replace")
            file_name = file.path.rpartition("/")[2]
            yield f"{skill.name}_{file_name.rpartition('.')[0] or file_name}", script_summary(source) or file.path
