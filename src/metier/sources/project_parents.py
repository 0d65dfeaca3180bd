"""The folders of a repository that apply to the current folder: from its root down to here."""

from __future__ import annotations

import os

__all__ = ["project_chain"]

_MOST_PARENTS = 30


def project_chain(folder: str, *, home: str | None = None) -> tuple[str, ...]:
    """Returns the folders from the root of the git repository down to this one; only this one if there is no repository.

    The search ends at the first `.git`. With `home`, a repository that holds the user's home folder does not count: its
    dot folders are the user's own, and every project below it would be a part of it.
    """
    chain = [folder]
    here = folder
    for _ in range(_MOST_PARENTS):
        if os.path.lexists(os.path.join(here, ".git")):
            holds_home = home is not None and os.path.join(os.path.realpath(home), "").startswith(
                os.path.join(os.path.realpath(here), "")
            )
            return (folder,) if holds_home else tuple(reversed(chain))
        above = os.path.dirname(here)
        if above == here:
            break
        chain.append(above)
        here = above
    return (folder,)
