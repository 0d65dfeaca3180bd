"""Connections of the proxy to hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.runtime.network.hosts import GrantedHosts
from metier.runtime.network.placeholders import SecretPlaceholders
from metier.runtime.network.proxy import Proxy
from metier.runtime.network.relay import Target
from runtime.network.api_server import serving, trusted_authority


@pytest.mark.parametrize("is_tls", [False, True])
def test_only_connecting_is_limited_in_time_and_not_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_tls: bool
) -> None:
    authority, bundle = trusted_authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", bundle)
    with serving(authority if is_tls else None) as server:
        proxy = Proxy(GrantedHosts.of([server.host]), SecretPlaceholders(()))
        upstream = proxy.connect(Target("localhost", server.server_port), is_tls=is_tls)
        assert upstream.link.gettimeout() is None
        proxy.forget(upstream.link)
        proxy.close()
