"""The list of skills that another agent shows its model, as the result of a command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metier.app import App
from metier.hosts import HOST_ALIASES, LISTING_BUDGETS, HostListing, ListingBudget

from .result import Result
from .terminal import one_line, plural, strip_control_chars

__all__ = ["HOST_CHOICES", "budget_text", "host_listing_result"]

HOST_CHOICES = ("claude-code", "codex", "cursor", "copilot", "gemini", "opencode", "claude-ai")
_MOST_NAMES = 20


def host_listing_result(app: App, choice: str, *, context: int | None) -> Result:
    host = HOST_ALIASES.get(choice, choice)
    budget = LISTING_BUDGETS[host]
    listing = app.host_listings.listing(host, context=context)
    return Result(
        data=listing_data(listing, budget),
        lines=lambda _: (),
        text=f"{strip_control_chars(listing.text)}\n" if listing.text else "",
        info="\n".join(_summary(listing, budget, context)),
    )


def listing_data(listing: HostListing, budget: ListingBudget) -> dict[str, object]:
    return {
        "agent": listing.host,
        "version": budget.version,
        "source": budget.source,
        "prompt": listing.text,
        "limit": listing.limit or None,
        "unit": listing.unit or None,
        "used": listing.used,
        "whole": list(listing.whole),
        "shortened": list(listing.shortened),
        "named": list(listing.named),
        "left_out": [skill.name for skill in listing.left_out],
        "hidden": [skill.name for skill in listing.hidden],
        "own": [one.skill.name for one in listing.listed if one.skill.own],
    }


def _summary(listing: HostListing, budget: ListingBudget, context: int | None) -> Iterator[str]:
    version = f" {budget.version}" if budget.version else ""
    yield f"{listing.host}{version}: {budget_text(budget, context)}"
    if listing.limit:
        yield f"used: {listing.used:,} of {listing.limit:,} {listing.unit}"
    yield f"in full: {plural(len(listing.whole), 'skill')}"
    refused = "the description is too long to be added" if budget.most_description and not budget.ellipsis else "not shown"
    for text, names in (
        ("shortened", listing.shortened),
        ("by name only, so the model cannot tell when to use them", listing.named),
        (f"the model cannot see them ({refused})", [skill.name for skill in listing.left_out]),
        ("kept from the model on purpose", [skill.name for skill in listing.hidden]),
    ):
        if names:
            yield f"{text}: {_names(names)}"
    yield f"source: {budget.source}"


def budget_text(budget: ListingBudget, context: int | None = None) -> str:
    """Returns the limit of the whole list in words."""
    if budget.percent:
        tokens = context or budget.context
        per = f", {budget.characters_per_token} characters each" if budget.characters_per_token else ""
        return f"{budget.limit(context):,} {budget.unit} for the list ({budget.percent} % of {tokens:,} tokens{per})"
    if budget.characters:
        return f"{budget.characters:,} characters for the list"
    if budget.most_description:
        return f"at most {budget.most_description:,} characters for each description"
    return "no limit is known"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more (--json lists all)" if len(names) > _MOST_NAMES else ""
    return f"{len(names):,}: {', '.join(map(one_line, names[:_MOST_NAMES]))}{more}"
