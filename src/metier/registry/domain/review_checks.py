"""The checks that a reviewer reads beside the findings of the upload: lint, and the capabilities that are new.

They read files that are not trusted, so they run in a process of their own.
"""

from __future__ import annotations

import msgspec

from metier.archive import unpack
from metier.registry.wire import ReleaseFinding
from metier.spec import advise

from .admission import findings_from

__all__ = ["ReviewChecks", "check_for_review", "read_checks"]


class ReviewChecks(msgspec.Struct, kw_only=True):
    lint: list[ReleaseFinding]
    capabilities: list[str]
    """One line for each kind, as in `metier skill scan`."""
    new_capabilities: list[str]
    """One line for each kind with entries that the current version does not have."""


def check_for_review(data: bytes, current: bytes | None) -> str:
    """Returns the JSON of the checks of an archive; its capabilities are compared with those of the one that is online."""
    # Imported here: a process that only reads releases needs none of its rules.
    from metier.scan import Capabilities, scan

    files = unpack(data)
    found = scan(files).capabilities
    known = scan(unpack(current)).capabilities if current is not None else found
    fresh = Capabilities(
        **{kind: tuple(one for one in getattr(found, kind) if one not in getattr(known, kind)) for kind in found.__slots__}
    )
    checks = ReviewChecks(
        lint=list(findings_from(advise(files))), capabilities=list(found.lines()), new_capabilities=list(fresh.lines())
    )
    return msgspec.json.encode(checks).decode()


def read_checks(text: str) -> ReviewChecks:
    return msgspec.json.decode(text, type=ReviewChecks)
