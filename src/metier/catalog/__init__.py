"""What is here, and who wins. Pure: it is handed offers and facts about the machine."""

from .catalog import Catalog, Offers, Policy, merge
from .entry import Entry, Flag, Offer, Source, State, offer_of, offer_of_bad, offer_of_quick
from .needs import Environment, Needs, missing, read_compatibility

__all__ = [
    "Catalog",
    "Entry",
    "Environment",
    "Flag",
    "Needs",
    "Offer",
    "Offers",
    "Policy",
    "Source",
    "State",
    "merge",
    "missing",
    "offer_of",
    "offer_of_bad",
    "offer_of_quick",
    "read_compatibility",
]
