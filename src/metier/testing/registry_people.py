"""The part of the registry's conformance suite about people: users, devices, invitations and jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from metier.errors import ConflictError, MetierError
from metier.registry import AuditEvent, Invitation, RegistryStore, RegistryToken, RegistryUser, TrustedPublisher

from .fakes import run_now

__all__ = ["PeopleConformance", "event", "raises"]


def event(action: str = "test", at: int = 2_000) -> AuditEvent:
    return AuditEvent(at, "ann", action, "skill:x")


def _token(holder: str, **fields: Any) -> RegistryToken:  # Any: fields of RegistryToken
    return RegistryToken(
        id=0, prefix="mtr_ab", holder=holder, scopes=("read",), note="", created=1, expires=None, revoked=None, **fields
    )  # fmt: skip


async def raises(kind: type[MetierError], work: Awaitable[object]) -> None:
    try:
        await work
    except kind:
        return
    raise AssertionError(f"this should have been {kind.__name__}")


class PeopleConformance:
    def opened(self, folder: Path) -> AbstractAsyncContextManager[RegistryStore]:
        """An empty store, closed at the end of the block."""
        raise NotImplementedError

    def _with(self, folder: Path, body: Callable[[RegistryStore], Awaitable[None]]) -> None:
        async def run() -> None:
            async with self.opened(folder) as store:
                await body(store)

        run_now(run())

    def test_the_tokens_of_a_user_end_with_them(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            wanted = RegistryUser(id=0, issuer="https://id.example", subject="7", name="ann", email="a@example.com",
                                  scopes=("read",), created=1, signed_in=1, disabled=None)  # fmt: skip
            ann = await store.add_user(wanted, event=event())
            assert ann is not None
            assert await store.add_user(replace(wanted, subject="8"), event=event()) is None, "the name is taken"
            assert await store.user("https://id.example", "7") == ann == await store.find_user("ann")
            assert await store.user("https://id.example", "8") is None
            mine = _token("ann", user_id=ann.id)
            first, over = (
                await store.add_token(mine, "h1", event=event()),
                await store.add_token(replace(mine, prefix="sso_ab", expires=5), "h2", event=event()),
            )
            other = await store.add_token(_token("acme"), "h3", event=event())
            assert first is not None and over is not None and other is not None
            assert await store.add_user(replace(wanted, subject="9", name="acme"), event=event()) is None, "a holder"
            changed = replace(ann, email="b@example.com", scopes=("read", "yank"), signed_in=9)
            await store.update_user(changed, revoked=[], event=event(at=9))
            assert await store.users() == [changed]
            assert (await store.user_tokens(ann.id), await store.token("h2")) == ([first], None)
            assert await store.set_user_disabled(ann.id, disabled=True, event=event(at=11)) == 1
            assert await store.set_user_disabled(ann.id, disabled=True, event=event(at=12)) is None
            ended, kept = await store.token("h1"), await store.token("h3")
            assert ended is not None and ended.revoked == 11 and kept == other
            await raises(ConflictError, store.add_token(mine, "h4", event=event()))
            assert await store.set_user_disabled(ann.id, disabled=False, event=event()) == 0
            assert await store.user_tokens(ann.id) == []

        self._with(tmp_path, body)

    def test_a_device_login_is_decided_once_and_ends(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            approver = await store.add_token(_token("ann"), "h1", event=event())
            assert approver is not None
            assert await store.add_device_login("d1", "BCDF-GHJK", address="192.0.2.1", now=1_000, expires=9_000)
            assert not await store.add_device_login("d2", "BCDF-GHJK", address="192.0.2.2", now=1_000, expires=9_000)
            waiting = await store.device_login("BCDF-GHJK", now=2_000)
            assert waiting is not None and waiting.approver is None and waiting.address == "192.0.2.1"
            assert await store.decide_device_login("BCDF-GHJK", approver=approver.id, scopes=("read",), event=event())
            assert not await store.decide_device_login("BCDF-GHJK", approver=None, scopes=(), event=event())
            first, second = [await store.poll_device_login("d1", now=now) for now in (3_000, 4_000)]
            assert first is not None and second is not None
            assert (first.polled, second.polled, second.approver, second.scopes) == (0, 3_000, approver, ("read",))
            assert [await store.end_device_login("d1") for _ in range(2)] == [True, False]
            assert await store.add_device_login("d3", "BCDF-GHJK", address="", now=1_000, expires=9_000)
            assert await store.device_login("BCDF-GHJK", now=9_000) is None
            assert await store.poll_device_login("d3", now=9_000) is None

        self._with(tmp_path, body)

    def test_an_invitation_ends_once_and_with_its_creator(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            creator = await store.add_token(_token("ann"), "h1", event=event())
            assert creator is not None
            wanted = Invitation(scopes=("read", "yank"), note="for bob", expires=9_000)
            await store.add_invitation("i1", wanted, creator=None, event=event())
            await store.add_invitation("i2", wanted, creator=creator.id, event=event())
            assert [await store.invitation(each, now=3_000) for each in ("i1", "i2", "i3")] == [wanted, wanted, None]
            assert await store.invitation("i1", now=9_000) is None
            await store.revoke_token(creator.id, event=event())
            assert await store.invitation("i2", now=3_000) is None
            assert [await store.end_invitation("i1") for _ in range(2)] == [True, False]

        self._with(tmp_path, body)

    def test_a_job_token_is_exchanged_once_and_ends_with_its_publisher(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            wanted = TrustedPublisher(0, "acme", "", "https://ci.example", "acme/skills", "release.yml", "", "", 1)
            made = await store.add_trusted_publisher(wanted, event=event())
            other = await store.add_trusted_publisher(replace(wanted, namespace="crew"), event=event())
            assert made == replace(wanted, id=made.id)
            assert await store.trusted_publishers("acme") == [made]
            assert await store.publishers_of("https://ci.example", "acme/skills") == [made, other]
            assert await store.publishers_of("https://ci.example", "acme/other") == []
            token = replace(_token("acme", publisher_id=made.id, provenance="{}"), expires=50)

            async def exchange(hashed: str, job: str, *, project: str = "7", at: int = 1) -> RegistryToken | None:
                return await store.add_job_token(
                    token, hashed, project_id=project, job_token=job, job_expires=90, event=event(at=at)
                )

            first = await exchange("h1", "j1")
            assert first is not None and first == replace(token, id=first.id) == await store.token("h1")
            assert await exchange("h2", "j1") is None, "used before"
            await raises(ConflictError, exchange("h2", "j2", project="8"))
            assert await exchange("h2", "j2", at=50) is not None, "the refused exchange used nothing up"
            assert await store.token("h1") is None, "it had expired"
            assert await exchange("h3", "j1", at=90) is not None
            assert not await store.remove_trusted_publisher("crew", made.id, event=event(at=95))
            assert await store.remove_trusted_publisher("acme", made.id, event=event(at=95))
            ended = await store.token("h3")
            assert ended is not None and ended.revoked == 95
            assert await store.trusted_publishers("acme") == []
            await raises(ConflictError, exchange("h4", "j4", at=96))

        self._with(tmp_path, body)
