"""Rows. One SQL text runs on two engines; only the index of words is written twice."""

from .open import open_store
from .sql_store import SqlStore

__all__ = ["SqlStore", "open_store"]
