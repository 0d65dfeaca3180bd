"""Merges three versions of a text with `git merge-file`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import cache

from metier.install.merge import MergeSide, MergeText

from .program import find_git

__all__ = ["text_merger"]

_OPTIONS = {None: (), MergeSide.YOURS: ("--ours",), MergeSide.THEIRS: ("--theirs",)}


def text_merger(environment: Mapping[str, str], side: MergeSide | None = None) -> MergeText:
    """Returns the function that merges texts. `side` decides conflicts; without it they are marked.

    The function raises UnavailableError if git is not installed.
    """
    # Found at the first use: few updates merge anything.
    program = cache(lambda: find_git(environment))

    def merge(base: bytes, yours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        with tempfile.TemporaryDirectory(prefix="metier-merge-") as folder:
            paths = [os.path.join(folder, name) for name in ("yours", "base", "theirs")]
            for path, data in zip(paths, (yours, base, theirs), strict=True):
                with open(path, "xb") as stream:
                    stream.write(data)
            merged, has_conflicts = program().merge_file(*paths, options=_OPTIONS[side])
        return merged, has_conflicts and side is None

    return merge
