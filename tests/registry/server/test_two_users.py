"""Two users and random requests: neither sees nor changes what is the other's. METIER_FULL=1 sends many more of them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from registry.random_requests import RandomRequest, RandomRequests
from registry.two_users import USERS, Reply, World, world

FULL = "METIER_FULL" in os.environ
ROUND = 1_500
_RENEWAL = 100
_COMPARED_READS = 0.1
ROUNDS = 25 if FULL else 1


async def check(made: World, requests: RandomRequests) -> None:
    """Sends one request and checks what it showed and changed."""
    request = await requests.next()
    others = [name for name in USERS if name != request.caller]
    before = await made.owned()
    foreign = [name for name, (_, _, owners, offered) in before.items() if request.caller not in (*owners, offered)]
    # A read is expected to change nothing, so the rows are compared for a part of the reads only.
    compared = others if request.route.method != "GET" or made.random.random() < _COMPARED_READS else []
    old = {other: await made.state(other, foreign) for other in compared}
    reply = await made.send(request.route.method, request.target, headers=request.headers, body=request.body)
    after = await made.owned()
    where = f"{request.caller or 'anonymous'}: {request.route.method} {request.target} {request.body[:300]!r} -> {reply.status}"
    assert reply.status < 500, f"{where}\n{reply.whole[:2000]}"
    hidden, visible = set[str](), set[str]()
    for name in {*made.packages, *after}:
        words = {name.partition(":")[2], *made.packages.get(name, ())}
        (visible if _seen(request, name, before) or _seen(request, name, after) else hidden).update(words)
    secrets = hidden.union(*(made.users[other].secrets for other in others)) - visible
    shown = reply.whole
    leaked = [secret for secret in secrets if secret in shown and secret not in request.text]
    assert not leaked, f"{where}\nshows {leaked}\n{shown[:2000]}"
    if request.route.path == "/stats" and reply.status == 200:
        # The session of a revoked token is no session, so that caller is anonymous.
        callers = {request.caller, ""} if "cookie" in request.headers else {request.caller}
        expected = {sum(_seen(replace(request, caller=caller), name, after) for name in after) for caller in callers}
        assert reply.json()["packages"] in expected, where
    for other in compared:
        new = await made.state(other, foreign)
        changed = {table: (old[other][table], new[table]) for table in new if new[table] != old[other][table]}
        assert not changed, f"{where}\nchanges {changed}"
    made.clock.move(seconds=10)
    await learn(made, request, reply)
    made.counts[f"{reply.status // 100}xx"] += 1


def _seen(request: RandomRequest, name: str, state: dict[str, tuple[str, str, frozenset[str], str]]) -> bool:
    """Whether the caller may read the package."""
    visibility, status, owners, _ = state.get(name, ("private", "active", frozenset(), ""))
    return status not in ("deleted", "quarantined") and (visibility == "public" or request.caller in owners)


async def learn(made: World, request: RandomRequest, reply: Reply) -> None:
    """Remembers what the caller now has, as secrets towards the other user."""
    user = made.users.get(request.caller)
    if user is None or reply.status >= 400:
        return
    text = reply.whole
    for token in re.findall(r"mtr_[A-Za-z0-9]{49}", text):
        if token not in user.tokens and token not in request.text:
            user.secrets |= {token, token[:10]}
            user.tokens.append(token)
    if request.route.path == "/login" and (session := re.search(r"metier_session=([^;]+)", text)):
        user.sessions.append(session[1])
        user.secrets.add(session[1])
    if request.route.path == "/api/v1/skills/-/upload-url":
        user.tickets.append(reply.json()["uploadTicket"])
        user.secrets.add(user.tickets[-1])
    draft = made.drafts.pop(hashlib.sha256(request.body).hexdigest(), None)
    if draft and reply.status == 201:
        name, _, words = draft
        made.packages[name] |= words | {name.partition(":")[2]}


async def run(folder: Path, seed: int, *, requests: int, db: str = "") -> Counter[str]:
    async with world(folder, seed, db=db) as made:
        source = RandomRequests(made)
        for number in range(requests):
            if number % _RENEWAL == 0:
                await made.renew()
            await check(made, source)
    return made.counts


def test_two_users_neither_see_nor_change_what_is_the_others(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    for seed in range(ROUNDS):
        total += asyncio.run(run(tmp_path / str(seed), seed, requests=ROUND))
    assert sum(total.values()) == ROUND * ROUNDS
    assert total["2xx"] > ROUND * ROUNDS / 4


@pytest.mark.skipif(not FULL, reason="long runs take METIER_FULL=1")
def test_two_users_are_as_separate_over_postgresql(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    total: Counter[str] = Counter()
    for seed in range(100, 100 + ROUNDS):
        with request.getfixturevalue("postgres").database() as url:
            total += asyncio.run(run(tmp_path / str(seed), seed, requests=ROUND, db=url))
    assert sum(total.values()) == ROUND * ROUNDS
