"""What is here, and who wins. Pure: it is handed offers and facts about the machine."""

from .catalog import Catalog, CatalogFilters, SourceOffers, merge
from .entry import Entry, Offer, OfferFlag, Source, State, offer_from_fast_fields, offer_from_parse, offer_from_report
from .needs import Environment, Needs, missing_needs, read_compatibility

__all__ = [
    "Catalog",
    "CatalogFilters",
    "Entry",
    "Environment",
    "Needs",
    "Offer",
    "OfferFlag",
    "Source",
    "SourceOffers",
    "State",
    "merge",
    "missing_needs",
    "offer_from_fast_fields",
    "offer_from_parse",
    "offer_from_report",
    "read_compatibility",
]
