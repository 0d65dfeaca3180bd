"""Rows of the registry in SQLite or PostgreSQL. The engines share their SQL, except for the search index."""

from .sql_store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
