"""The skills that are here, which of them win, and the state of each. Pure: it is given offers and facts about the machine."""

from metier.lazy import lazy_exports

from .catalog import Catalog, CatalogFilters, SourceOffers, merge, read_globs
from .entry import Entry, Offer, OfferFlag, Source, State, offer_from_fields, offer_from_parse, offer_from_report
from .needs import Environment, Needs, encoded_needs, missing_needs, read_compatibility

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .compatibility import Requirement, missing_requirements, read_requirements

__all__ = [
    "Catalog",
    "CatalogFilters",
    "Entry",
    "Environment",
    "Needs",
    "Offer",
    "OfferFlag",
    "Requirement",
    "Source",
    "SourceOffers",
    "State",
    "encoded_needs",
    "merge",
    "missing_needs",
    "missing_requirements",
    "offer_from_fields",
    "offer_from_parse",
    "offer_from_report",
    "read_compatibility",
    "read_globs",
    "read_requirements",
]

if not TYPE_CHECKING:
    # Only pages about one skill read these.
    __getattr__, _ = lazy_exports(
        __name__, {"metier.catalog.compatibility": ("Requirement", "missing_requirements", "read_requirements")}
    )
