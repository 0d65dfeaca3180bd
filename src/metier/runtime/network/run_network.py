"""The network of one run: the variables and files that a script sees, and the proxy outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence

from metier.errors import RefusedError
from metier.runtime.script_run import ScriptRun
from metier.spec import HostPattern, parse_host

from .authority import RunAuthority, system_certificates
from .connections import Connection
from .hosts import GrantedHosts
from .placeholders import SecretPlaceholders
from .proxy import Listeners, Proxy, Resolve, resolve

__all__ = ["BUNDLE", "BUNDLE_NAMES", "RunNetwork"]

_PROXY_PORT = 3128
_MOST_PORTS = 32
BUNDLE = "/run/metier/certificates.pem"
_PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
BUNDLE_NAMES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT",
    "AWS_CA_BUNDLE", "DENO_CERT", "CARGO_HTTP_CAINFO", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)  # fmt: skip
_INSIDE = "localhost,127.0.0.1,::1"


class RunNetwork:
    takes_all = False
    links: Mapping[str, str] = {}

    def __init__(self, run: ScriptRun, *, resolve: Resolve = resolve) -> None:
        self.granted = GrantedHosts.of(run.hosts)
        _check_ports(self.granted)
        for each in run.masked:
            _check_hosts(each.name, tuple(map(parse_host, each.hosts)), self.granted)
        self._placeholders = SecretPlaceholders(run.masked)
        self._authority = RunAuthority() if run.masked else None
        self._proxy = Proxy(self.granted, self._placeholders, authority=self._authority, resolve=resolve)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports to listen on inside, the proxy's first."""
        return tuple(dict.fromkeys((_PROXY_PORT, 80, 443, *self.granted.ports)))

    @property
    def secrets(self) -> dict[str, str]:
        """The placeholders, by the names of the secrets."""
        return self._placeholders.variables

    @property
    def variables(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{_PROXY_PORT}"
        grants_this_machine = any(self.granted.covers_name(name) for name in ("localhost", "127.0.0.1", "::1"))
        past_proxy = "" if grants_this_machine else _INSIDE
        found = {**dict.fromkeys(_PROXY_NAMES, address), "NO_PROXY": past_proxy, "no_proxy": past_proxy}
        return {**found, **(dict.fromkeys(BUNDLE_NAMES, BUNDLE) if self._has_bundle else {})}

    @property
    def files(self) -> list[tuple[str, bytes]]:
        """Files of the run's root: names are resolved by the proxy alone, and its certificates are trusted."""
        names = [
            pattern.name for pattern in self.granted.patterns if not pattern.name.startswith("*.") and ":" not in pattern.name
        ]
        hosts = "127.0.0.1 localhost skill\n::1 localhost\n" + "".join(
            f"127.0.0.1 {name}\n" for name in dict.fromkeys(names) if not name[0].isdigit() and name != "localhost"
        )
        found = [
            ("/etc/resolv.conf", b"nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"),
            ("/etc/hosts", hosts.encode()),
            ("/etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\nservices: files\n"),
        ]
        if self._has_bundle:
            own = self._authority.certificate if self._authority else b""
            found.append((BUNDLE, system_certificates().rstrip(b"\n") + b"\n" + own))
        return found

    def start(self, descriptors: Sequence[int]) -> None:
        """Starts the proxy on descriptors from inside the run: one for each port, and the last for name queries."""
        *tcp, udp = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        self._proxy.start(Listeners(dict(zip(self.ports, tcp, strict=True)), udp))

    def close(self) -> tuple[Connection, ...]:
        return self._proxy.close()

    @property
    def _has_bundle(self) -> bool:
        # Without a secret to put in, TLS is the script's own. It then trusts what the caller trusts.
        return self._authority is not None or "SSL_CERT_FILE" in os.environ


def _check_ports(granted: GrantedHosts) -> None:
    if len(granted.ports) > _MOST_PORTS:
        raise RefusedError(f"the hosts name {len(granted.ports)} ports", rule="network", hint=f"name at most {_MOST_PORTS}")


def _check_hosts(name: str, wanted: tuple[HostPattern, ...], granted: GrantedHosts) -> None:
    """Raises RefusedError if a secret is for a host that the run cannot reach."""
    if not wanted:
        raise RefusedError(f"the masked secret {name} has no host", rule="secrets",
                           hint=f"run `metier secret set {name} --host HOST`")  # fmt: skip
    for each in wanted:
        if not any(pattern.covers_pattern(each) or each.covers_pattern(pattern) for pattern in granted.patterns):
            raise RefusedError(
                f"{name} is for {each}, which this run cannot reach", rule="secrets", hint=f"add --network {each}"
            )
