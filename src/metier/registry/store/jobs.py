"""The job queue: jobs survive a crash of their worker, and one worker runs each."""

from __future__ import annotations

from metier.registry.domain.records import Millis
from metier.registry.wire import QueuedJob

from .engine import Engine

__all__ = ["JobRows"]


class JobRows:
    engine: Engine

    async def enqueue(self, kind: str, subject: str, *, due: Millis) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows(
                "insert into job (kind, subject, due) values (?, ?, ?)"
                " on conflict (kind, subject) do update"
                " set due = case when job.due < excluded.due then job.due else excluded.due end",
                (kind, subject, due),
            )

    async def claim(self, *, now: Millis, lease: int) -> QueuedJob | None:
        due = "select id from job where due <= ? and claimed <= ? order by due, id limit 1"
        if not await self.engine.rows(due, (now, now)):
            # Usually no job is due, and this check needs no write.
            return None
        skip = " for update skip locked" if self.engine.dialect == "postgresql" else ""
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                f"update job set claimed = ?, attempts = attempts + 1 where id = ({due}{skip})"
                " returning id, kind, subject, attempts",
                (now + lease, now, now),
            )
        return QueuedJob(id=rows[0][0], kind=rows[0][1], subject=rows[0][2], attempts=rows[0][3]) if rows else None

    async def finish(self, job: int, *, again: Millis | None = None) -> None:
        async with self.engine.transaction() as transaction:
            if again is None:
                await transaction.rows("delete from job where id = ?", (job,))
            else:
                await transaction.rows(
                    "update job set due = ?, claimed = 0, attempts = 0, error = '' where id = ?", (again, job)
                )

    async def fail(self, job: int, *, error: str, retry: Millis) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows("update job set due = ?, claimed = 0, error = ? where id = ?", (retry, error, job))
