"""Exchanges two names in two open folders, in one step where the system can do that."""

from __future__ import annotations

import errno
import os
import sys

__all__ = ["exchange"]

_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP})
_SWAP = 2
"""RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS."""


def exchange(one: str, one_folder: int, other: str, other_folder: int) -> None:
    """Exchanges `one` and `other`, which are names in the folders of these descriptors."""
    if not exchange_atomically(one, one_folder, other, other_folder):
        # After a crash in between, finishing the journal closes the gap.
        temporary = f"{one}.old"
        os.rename(other, temporary, src_dir_fd=other_folder, dst_dir_fd=one_folder)
        os.rename(one, other, src_dir_fd=one_folder, dst_dir_fd=other_folder)
        os.rename(temporary, one, src_dir_fd=one_folder, dst_dir_fd=one_folder)


def exchange_atomically(one: str, one_folder: int, other: str, other_folder: int) -> bool:
    """Returns False if the system cannot do it."""
    # Imported here: the first installation of a skill replaces nothing.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if call is None:
        return False
    failed = call(one_folder, os.fsencode(one), other_folder, os.fsencode(other), _SWAP)
    problem = ctypes.get_errno() or errno.ENOSYS
    if failed and problem not in _NO_EXCHANGE:
        raise OSError(problem, os.strerror(problem), other)
    return not failed
