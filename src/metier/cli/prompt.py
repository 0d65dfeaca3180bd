"""`metier prompt`: print the text about skills that a model gets."""

from __future__ import annotations

import os

import click

from metier.app import App
from metier.disclosure import (
    Budget,
    CatalogFormat,
    Disclosure,
    Preset,
    PromptOptions,
    exact_token_counter,
    render_prompt,
)
from metier.errors import UsageError, plural
from metier.spec import estimate_tokens

from .core.dispatch import command
from .core.host_lists import HOST_CHOICES, host_listing_result
from .core.result import Result
from .skill.select import request_text

__all__ = ["prompt"]

_CONTEXT = 200_000


@command("", "prompt")
@click.argument("query", nargs=-1, metavar="[REQUEST]")
@click.option(
    "--preset",
    type=click.Choice([preset.value for preset in Preset]),
    default="file",
    show_default=True,
    help="Which client's prompt format to imitate.",
)
@click.option(
    "--as",
    "host",
    type=click.Choice(HOST_CHOICES),
    help="Show what this agent tells its own model about the skills that it finds here.",
)
@click.option("--budget", type=click.IntRange(min=1), help="Maximum tokens of the catalog.  [default: 2 % of --context]")
@click.option(
    "--context",
    type=click.IntRange(min=1),
    help="Context size of the model, in tokens.  [default: 200000, or that of the agent]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in CatalogFormat]),
    default="xml",
    show_default=True,
    help="Catalog format of the presets file and tool.",
)
@click.option(
    "--mount", default="skills", show_default=True, help="Where the workspace has the folder of skills, for the preset section."
)
@click.option("--exact", is_flag=True, help="Count tokens with a tokenizer instead of an estimate.")
def prompt(
    app: App, *, query: tuple[str, ...], preset: str, host: str | None, budget: int | None, context: int | None, form: str,
    mount: str, exact: bool,
) -> Result:  # fmt: skip
    """Print the text about your skills that a model gets.

    The text goes to stdout exactly as a model would get it, the token count to stderr. With a REQUEST the skills are ranked for
    it: when they do not all fit the budget, the best are shown in full, the next shortened, more by name, and the text says
    how many are missing. The presets `triggers` and `active` also load the skills that the request activates.

    With --as, the skills are those in the folders that the agent reads, listed and cut as the agent does it, and the end says
    which of them its model cannot see.
    """
    if host:
        if query:
            raise UsageError("--as takes no request: an agent shows the same list for all", hint=f"metier prompt --as {host}")
        return host_listing_result(app, host, context=context)
    request = request_text(query) if query else ""
    options = PromptOptions(
        preset=Preset(preset),
        budget=Budget(tokens=budget) if budget else Budget.of_context(context or _CONTEXT),
        form=CatalogFormat(form),
        mount_path=mount,
        root=_section_root(app) if preset in ("section", "summary") else "",
        count=exact_token_counter() if exact else estimate_tokens,
    )
    if options.preset is Preset.SECTION and not options.root:
        raise UsageError(
            "the preset 'section' describes one folder of skills, and there is no ./skills here",
            hint="metier prompt --preset section --skills-dir FOLDER",
        )
    selector = app.skills.selector if request else None
    return _result(
        render_prompt(app.catalog, request, options, selector=selector, loader=app.skills.loader), options, exact=exact
    )


def _section_root(app: App) -> str:
    """Returns the folder that a workspace would mount: the one that was named, or `./skills`."""
    folder = app.settings.path("skills.dir") or os.path.join(app.folder, "skills")
    return os.path.realpath(folder) if os.path.isdir(folder) else ""


def _result(shown: Disclosure, options: PromptOptions, *, exact: bool) -> Result:
    parts = {
        "in full": len(shown.full),
        "shortened": len(shown.shortened),
        "by name": len(shown.named),
        "left out": shown.left_out,
    }
    summary = ", ".join(f"{number:,} {part}" for part, number in parts.items() if number) or "no skills shown"
    return Result(
        data={
            "prompt": shown.text,
            "preset": options.preset,
            "tier": shown.tier,
            "tokens": shown.tokens,
            "exact": exact,
            "budget": options.budget.tokens,
            "full": list(shown.full),
            "shortened": list(shown.shortened),
            "named": list(shown.named),
            "left_out": shown.left_out,
        },
        lines=lambda _: (),
        text=f"{shown.text}\n" if shown.text else "",
        info=f"{'' if exact else 'about '}{plural(shown.tokens, 'token')}; {summary}",
    )
