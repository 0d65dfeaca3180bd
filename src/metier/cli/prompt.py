"""`metier prompt`: exactly what a model is told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from metier.app import App
from metier.catalog import Entry, Source
from metier.disclosure import (
    ActivationMethod,
    ActiveSkill,
    Budget,
    CatalogFormat,
    Disclosure,
    Preset,
    SectionVisibility,
    TokenCounter,
    active,
    by_trigger,
    catalog_within,
    compat,
    exact_token_counter,
    provider,
    section,
)  # fmt: skip
from metier.errors import UsageError
from metier.selection import Match
from metier.spec import Skill, estimate_tokens, script_summary

from .core.dispatch import command
from .core.result import Result
from .skill.select import request_text

__all__ = ["prompt"]

_SCRIPT_LIMIT = 256 * 1024


@command("", "prompt")
@click.argument("query", nargs=-1, metavar="[REQUEST]")
@click.option(
    "--preset", type=click.Choice([preset.value for preset in Preset]), default="file", show_default=True, help="Whose view."
)
@click.option("--budget", type=click.IntRange(min=1), help="Tokens that the catalog may cost.  [default: 2 % of --context]")
@click.option(
    "--context", type=click.IntRange(min=1), default=200_000, show_default=True, help="The model's context, in tokens."
)
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in CatalogFormat]),
    default="xml",
    show_default=True,
    help="For file and tool.",
)
@click.option("--mount", default="skills", show_default=True, help="Where the skills are mounted, for section.")
@click.option("--exact", is_flag=True, help="Count tokens with a tokenizer instead of the estimate.")
def prompt(
    app: App, *, query: tuple[str, ...], preset: str, budget: int | None, context: int, form: str, mount: str, exact: bool
) -> Result:
    """Print what a model is told about your skills.

    The text goes to stdout exactly as a model would get it, the token count to stderr. With a REQUEST the skills are ranked for
    it: when they do not all fit the budget, the best are shown in full, the next shortened, more by name, and the text says
    how many are missing. The presets `triggers` and `active` also load the skills that the request activates.
    """
    request = request_text(query) if query else ""
    count = exact_token_counter() if exact else estimate_tokens
    page = Budget(tokens=budget) if budget else Budget.of_context(context)
    shown = _view(app, Preset(preset), request, page, CatalogFormat(form), mount, count)
    return _result(shown, preset, page, exact=exact)


def _view(
    app: App, preset: Preset, request: str, budget: Budget, form: CatalogFormat, mount: str, count: TokenCounter
) -> Disclosure:
    # What is on another server has no file that a model could read; a tool can fetch it.
    listed = [
        entry for entry in app.catalog if entry.is_for_models and (preset is Preset.TOOL or entry.source is not Source.MCP)
    ]
    match preset:
        case Preset.FILE | Preset.TOOL:
            return catalog_within(
                _ranked(app, listed, request), budget, form=form, how=ActivationMethod(preset.value), count=count
            )
        case Preset.COMPAT:
            return compat(listed, count=count)
        case Preset.PROVIDER:
            return provider(listed, count=count)
        case Preset.SECTION:
            return section(listed, mount_path=mount, count=count)
        case Preset.SUMMARY:
            return section(listed, mount_path=mount, visibility=SectionVisibility.SUMMARY, count=count)
        case Preset.TRIGGERS:
            has_triggers = any(
                "triggers" in entry.offer.frontmatter and entry.manifest.extensions.triggers.any for entry in listed
            )
            return by_trigger(request, listed, _activated(app, request), has_triggers=has_triggers, count=count)
        case Preset.ACTIVE:
            if not request:
                raise UsageError(
                    "the preset active needs a request", hint='metier prompt --preset active "chart the sales in sales.csv"'
                )
            return active(_activated(app, request), count=count)


def _ranked(app: App, listed: Sequence[Entry], request: str) -> Sequence[Entry]:
    """Best first where there is a request to rank by, else by name."""
    if not request:
        return listed
    by_folder = {entry.folder: entry for entry in listed}
    matches = app.skills.selector.select(request, limit=len(listed)).selected
    first = [by_folder.pop(match.id) for match in matches if match.id in by_folder]
    return [*first, *by_folder.values()]


def _activated(app: App, request: str) -> list[ActiveSkill]:
    if not request:
        return []
    # A prompt never waits for a network.
    here = (match for match in app.skills.selector.select(request).selected if app.catalog[match.name].source is not Source.MCP)
    return [_loaded(app, match) for match in here]


def _loaded(app: App, match: Match) -> ActiveSkill:
    skill = app.skills.loader.load_full(match.name)
    return ActiveSkill(
        name=skill.name,
        description=skill.description,
        instructions=skill.instructions,
        tools=tuple((f"{skill.name}_{stem}", about) for stem, about in _scripts(skill)),
    )


def _scripts(skill: Skill) -> list[tuple[str, str]]:
    found = []
    for file in skill.resources("scripts"):
        if file.size <= _SCRIPT_LIMIT:
            source = skill.resource(file.path).decode("utf-8", "replace")
            found.append((os.path.splitext(os.path.basename(file.path))[0], script_summary(source) or file.path))
    return found


def _result(shown: Disclosure, preset: str, budget: Budget, *, exact: bool) -> Result:
    data: dict[str, Any] = {
        "prompt": shown.text,
        "preset": preset,
        "tier": shown.tier,
        "tokens": shown.tokens,
        "exact": exact,
        "budget": budget.tokens,
        "full": list(shown.full),
        "shortened": list(shown.shortened),
        "named": list(shown.named),
        "left_out": shown.left_out,
    }
    about = "" if exact else "about "
    parts = {
        "in full": len(shown.full),
        "shortened": len(shown.shortened),
        "by name": len(shown.named),
        "left out": shown.left_out,
    }
    told = ", ".join(f"{number:,} {how}" for how, number in parts.items() if number) or "nothing to tell"
    return Result(
        data=data,
        lines=lambda _: (),
        text=f"{shown.text}\n" if shown.text else "",
        info=f"{about}{shown.tokens:,} tokens; {told}",
    )
