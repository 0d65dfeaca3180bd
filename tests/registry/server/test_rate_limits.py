"""Floods are refused, a normal installation is not, and every limit says its number."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.registry.domain.registry import RequestRates
from metier.registry.domain.tokens import new_token_text
from metier.registry.server.rate_limits import RateLimiter
from registry.builders import archive, site


def test_a_flood_is_refused_with_a_time_to_retry(tmp_path: Path) -> None:
    with site(tmp_path, rates=RequestRates(read=(3, 5))) as here:
        answers = [here.get("/skills") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [answer.headers.get("ratelimit-remaining") for answer in answers[:3]] == ["2", "1", "0"]
        assert answers[0].headers["ratelimit-limit"] == "3"
        assert 0 < int(answers[3].headers["retry-after"]) <= 60
        assert answers[3].json()["code"] == "too-many-requests"
        assert here.get("/healthz").status_code == 200
        here.clock.move(seconds=60)
        assert here.get("/skills").status_code == 200


def test_a_token_is_counted_by_itself_and_not_with_its_address(tmp_path: Path) -> None:
    with site(tmp_path, rates=RequestRates(read=(2, 4))) as here:
        token = here.token("acme", "read")
        assert [here.get("/skills").status_code for _ in range(3)] == [200, 200, 429]
        assert [here.get("/skills", token=token).status_code for _ in range(5)] == [200] * 4 + [429]


def test_unknown_tokens_are_refused_after_a_while_and_valid_ones_behind_the_same_address_never(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        token = here.token("acme", "read")
        wrong = [here.get("/skills", token=new_token_text()).status_code for _ in range(62)]
        assert wrong == [401] * 60 + [429] * 2
        assert here.get("/whoami", token=token).json()["name"] == "acme"
        assert here.get("/skills").status_code == 200


def test_more_clients_than_can_be_counted_share_one_count() -> None:
    limiter = RateLimiter(RequestRates(read=(2, 2)), lambda: 0.0)
    for number in range(100_000):
        limiter.take("read", f"client {number}", has_token=False)
    taken = [limiter.take("read", f"late {number}", has_token=False) for number in range(3)]
    assert [left for _, left, _ in filter(None, taken)] == [1, 0, -1]
    known = limiter.take("read", "client 7", has_token=False)
    assert known is not None
    assert known[1] == 0


def test_an_installation_of_two_hundred_skills_meets_no_limit(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        for _ in range(200):
            for path in ("/skills/pdf", "/index/pdf.json", "/skills/pdf/versions", "/skills/pdf/1.0.0.zip"):
                assert here.get(path).status_code == 200


def test_without_rate_limits_no_request_is_refused() -> None:
    assert RateLimiter(RequestRates(read=(0, 0)), lambda: 0.0).take("read", "x", has_token=False) is None


@pytest.mark.parametrize("form", [True, False])
def test_an_archive_over_the_limit_is_refused_with_the_exact_number(tmp_path: Path, form: bool) -> None:
    with site(tmp_path, upload_bytes=5_000) as here:
        data = archive("pdf", files={"assets/noise.bin": bytes(hash(str(n)) % 256 for n in range(9_000))})
        sent = {"files": {"f": ("a.zip", data)}} if form else {"content": data}
        answer = here.post("/skills", token=here.admin, **sent)
        assert answer.status_code == 413
        assert (answer.json()["code"], answer.json()["limit"]) == ("too-large", 5_000)
        assert "5,000" in answer.json()["detail"]
        assert f"{len(data):,}" in answer.json()["detail"]


def test_an_upload_without_a_length_is_cut_at_the_limit(tmp_path: Path) -> None:
    with site(tmp_path, upload_bytes=5_000) as here:
        taken: list[int] = []

        def chunks() -> object:
            for _ in range(100):
                taken.append(1)
                yield bytes(1_000)

        answer = here.post("/skills", token=here.admin, content=chunks())
        assert (answer.status_code, answer.json()["limit"]) == (413, 5_000)


def test_a_caller_who_may_not_publish_is_refused_before_the_upload_is_read(tmp_path: Path) -> None:
    with site(tmp_path, upload_bytes=10) as here:
        token = here.token("acme", "read")
        assert here.post("/skills", token=token, content=bytes(1_000)).status_code == 403
