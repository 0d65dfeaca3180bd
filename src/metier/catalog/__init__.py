"""The skills that are here, which of them win, and the state of each. Pure: it is given offers and facts about the machine."""

from .catalog import Catalog, CatalogFilters, SourceOffers, merge, read_globs
from .entry import Entry, Offer, OfferFlag, Source, State, offer_from_fields, offer_from_parse, offer_from_report
from .needs import Environment, Needs, encoded_needs, missing_needs, read_compatibility

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
    "encoded_needs",
    "merge",
    "missing_needs",
    "offer_from_fields",
    "offer_from_parse",
    "offer_from_report",
    "read_compatibility",
    "read_globs",
]
