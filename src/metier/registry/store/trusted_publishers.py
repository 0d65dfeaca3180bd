"""Trusted publishers: the jobs that may publish, and the exchange of a job's token."""

from __future__ import annotations

from metier.errors import ConflictError
from metier.registry.domain.records import AuditEvent, Millis, RegistryToken, TrustedPublisher

from .accounts import TOKEN_COLUMNS, revoke_tokens, token_record
from .engine import Engine
from .packages import add_event

__all__ = ["TrustedPublisherRows"]

_COLUMNS = ", ".join(TrustedPublisher.__struct_fields__)


class TrustedPublisherRows:
    engine: Engine

    async def add_trusted_publisher(self, publisher: TrustedPublisher, *, event: AuditEvent) -> TrustedPublisher:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "insert into trusted_publisher (namespace, package, issuer, repository, workflow, ref, environment, created)"
                f" values (?, ?, ?, ?, ?, ?, ?, ?) returning {_COLUMNS}",
                (
                    publisher.namespace,
                    publisher.package,
                    publisher.issuer,
                    publisher.repository,
                    publisher.workflow,
                    publisher.ref,
                    publisher.environment,
                    publisher.created,
                ),
            )
            await add_event(transaction, event)
        return TrustedPublisher(*rows[0])

    async def trusted_publishers(self, namespace: str) -> list[TrustedPublisher]:
        rows = await self.engine.rows(f"select {_COLUMNS} from trusted_publisher where namespace = ? order by id", (namespace,))
        return [TrustedPublisher(*row) for row in rows]

    async def publishers_of(self, issuer: str, repository: str) -> list[TrustedPublisher]:
        rows = await self.engine.rows(
            f"select {_COLUMNS} from trusted_publisher where issuer = ? and repository = ? order by id", (issuer, repository)
        )
        return [TrustedPublisher(*row) for row in rows]

    async def remove_trusted_publisher(self, namespace: str, publisher: int, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "delete from trusted_publisher where namespace = ? and id = ? returning id", (namespace, publisher)
            )
            if rows:
                await revoke_tokens(transaction, "publisher_id = ?", publisher, event=event)
                await add_event(transaction, event)
        return bool(rows)

    async def add_job_token(
        self, token: RegistryToken, hashed: str, *, project_id: str, job_token: str, job_expires: Millis, event: AuditEvent
    ) -> RegistryToken | None:
        async with self.engine.transaction() as transaction:
            await transaction.rows("delete from used_job_token where expires <= ?", (event.at,))
            await transaction.rows("delete from token where publisher_id is not null and expires <= ?", (event.at,))
            if not await transaction.rows(
                "insert into used_job_token (hashed, expires) values (?, ?) on conflict do nothing returning hashed",
                (job_token, job_expires),
            ):
                return None
            # The row is locked by this update, so a token cannot outlive a publisher that is removed at the same time.
            if not await transaction.rows(
                "update trusted_publisher set project_id = ? where id = ? and project_id in ('', ?) returning id",
                (project_id, token.publisher_id, project_id),
            ):
                raise ConflictError(
                    "the trusted publisher was removed, or belongs to an earlier project of that name",
                    hint="remove the trusted publisher and add it again",
                )
            rows = await transaction.rows(
                "insert into token (hashed, prefix, holder, scopes, note, created, expires, publisher_id, provenance)"
                f" values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning {TOKEN_COLUMNS}",
                (
                    hashed,
                    token.prefix,
                    token.holder,
                    " ".join(token.scopes),
                    token.note,
                    token.created,
                    token.expires,
                    token.publisher_id,
                    token.provenance,
                ),
            )
            await add_event(transaction, event)
        return token_record(rows[0])
