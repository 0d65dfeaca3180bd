"""The client's token goes to its registry and to no other server."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable

import pytest

from install.servers import Answer, redirect, site
from metier.errors import MetierError, RefusedError, UnavailableError
from metier.registry.client import RegistryClient


def test_a_registry_on_this_machine_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with site() as proxy, site({"/whoami": Answer(b'{"name": "me"}')}) as here:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("all_proxy", proxy.url)
        assert RegistryClient(url=here.url, token="t0ken").whoami() == {"name": "me"}
        assert proxy.log == [] and here.log[0].headers["authorization"] == "Bearer t0ken"


def test_a_redirect_is_not_followed_with_the_token() -> None:
    with site({"/whoami": Answer(b"{}")}) as there, site() as here:
        here.routes["/whoami"] = redirect(f"{there.url}/whoami")
        with pytest.raises(MetierError):
            RegistryClient(url=here.url, token="t0ken").whoami()
        assert there.log == []


@pytest.mark.parametrize("url", ["http://192.0.2.7", "http://localhost.example.com", "http://127.0.0.1.example.com"])
def test_another_machine_is_asked_only_with_encryption(url: str) -> None:
    with pytest.raises(RefusedError, match="not encrypted"):
        RegistryClient(url=url, token="t0ken")
    assert RegistryClient(url="http://[::1]:8437").url == "http://[::1]:8437"


def test_a_silent_registry_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnavailableError, match=rf"{url} does not answer: nothing came for 0\.2 seconds"):
            RegistryClient(url=url, silence=0.2).search("pdf")


@pytest.mark.parametrize(("path", "read"), [
    ("/whoami", lambda client: client.whoami()),
    ("/skills", lambda client: client.search("pdf")),
    ("/skills/pdf/download", lambda client: client.archive("pdf", "1.0.0")),
])  # fmt: skip
def test_an_answer_without_an_end_is_not_kept(path: str, read: Callable[[RegistryClient], object]) -> None:
    body = gzip.compress(b" " * (65 * 1024 * 1024))
    with (
        site({path: Answer(body, headers={"content-encoding": "gzip"})}) as here,
        pytest.raises(UnavailableError, match="answers with more than"),
    ):
        read(RegistryClient(url=here.url))
