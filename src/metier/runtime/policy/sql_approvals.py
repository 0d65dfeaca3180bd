"""Approvals in a database that several machines share. Users who can write to it can approve for all of them."""

from __future__ import annotations

import os
from collections.abc import Collection

from metier.runtime.database import open_database
from metier.runtime.store_schema import StoreSchema

from .approvals import Approval

__all__ = ["SqlApprovals"]

_SCHEMA = StoreSchema(
    "approvals",
    ("create table approval (skill {text}, pattern {text}, digest text, primary key (skill, pattern)) {clustered}",),
)


class SqlApprovals:
    def __init__(self, location: str | os.PathLike[str]) -> None:
        self._db = open_database(location, _SCHEMA)

    @property
    def all(self) -> tuple[Approval, ...]:
        with self._db.read() as db:
            rows = db.execute("select skill, pattern, digest from approval order by skill, pattern").fetchall()
        return tuple(Approval(*row) for row in rows)

    def of_skill(self, skill: str) -> tuple[Approval, ...]:
        with self._db.read() as db:
            rows = db.execute(
                "select skill, pattern, digest from approval where skill = ? order by pattern", (skill,)
            ).fetchall()
        return tuple(Approval(*row) for row in rows)

    def add(self, skill: str, digest: str, pattern: str) -> None:
        with self._db.write(f"approvals of {skill}") as db:
            db.execute(
                "insert into approval values (?, ?, ?) on conflict (skill, pattern) do update set digest = excluded.digest",
                (skill, pattern, digest),
            )

    def remove(self, skill: str, patterns: Collection[str] = ()) -> int:
        with self._db.write(f"approvals of {skill}") as db:
            if not patterns:
                return db.execute("delete from approval where skill = ?", (skill,)).rowcount
            return sum(
                db.execute("delete from approval where skill = ? and pattern = ?", (skill, each)).rowcount
                for each in set(patterns)
            )

    def close(self) -> None:
        self._db.close()
