"""A branch, tag or commit that is given beside a ref: `--ref`, or `ref` of a configured plugin. Never ignored."""

from __future__ import annotations

import os

from metier.errors import UsageError
from metier.values import replace

from .ref_types import GitRef, LocalPath, Ref, RegistryRef

__all__ = ["at_git_ref"]


def at_git_ref(ref: Ref, wanted: str, *, folder: str = ".") -> GitRef:
    """Returns the ref at a branch, tag or commit. Raises UsageError if it has one already, or can have none."""
    if isinstance(ref, GitRef):
        for named, path in ref.candidates:
            if named in (None, wanted):
                return replace(ref, ref=wanted, path=path, tail="")
        raise UsageError(
            f"{ref.text} names a branch, tag or commit, and --ref names {wanted!r}", hint="remove --ref, or the other"
        )
    if isinstance(ref, RegistryRef):
        raise UsageError(
            f"{ref.text} is in a registry, and --ref is for git repositories", hint=f"write {ref.alias}:{ref.name}@{wanted}"
        )
    if isinstance(ref, LocalPath):
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(ref.path)))
        raise UsageError(
            f"{ref.text} is a folder, and --ref is for git repositories",
            hint=f"remove --ref; if a repository is there: metier skill install 'git+file://{path}#{wanted}' --allow-file",
        )
    raise UsageError(f"{ref.text} is not a git repository, and --ref {wanted} is for one", hint="remove --ref")
