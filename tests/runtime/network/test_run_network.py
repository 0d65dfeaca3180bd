"""Scripts that reach granted hosts: by the usual clients, over TLS and in clear, with and without secrets."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
import trustme

from metier.errors import RefusedError, UnavailableError, UsageError
from metier.extras import install_command
from metier.runtime import (
    ConnectionDecision,
    Interpreters,
    IsolationLevel,
    Limits,
    MaskedSecret,
    Outcome,
    Permissions,
    Policy,
    Runner,
    ScriptRun,
    SecretPlace,
    Session,
    SessionServices,
)
from metier.runtime.network import run_network
from metier.sources import BUNDLED, discover
from metier.testing import run_now, skill_folder
from runtime.network.api_server import ApiServer, serving, trusted_authority, unused_port

VALUE = "sk-live-3f9a8b7c6d5e"
needs_namespace = pytest.mark.skipif(
    not any(found.level is IsolationLevel.NAMESPACE for found in Runner().available()), reason="no namespaces here"
)
pytestmark = needs_namespace

URLLIB = """
import os, sys, urllib.request as u
request = u.Request(sys.argv[1], headers={'X-Key': os.environ['API_KEY']})
print(u.urlopen(request).status)
"""
REQUESTS = """
import os, sys, requests
session = requests.Session()
for _ in range(2):
    answer = session.get(sys.argv[1], headers={'X-Key': os.environ['API_KEY']})
print(answer.status_code)
"""
HTTPX = """
import os, sys, httpx
print(httpx.get(sys.argv[1], headers={'X-Key': os.environ['API_KEY']}).status_code)
"""
CURL = """
curl -sS -o /dev/null -w "%{http_code}" -H "X-Key: $API_KEY" "$1"
"""
FETCH = """
const answer = await fetch(process.argv[2], {headers: {'X-Key': process.env.API_KEY}});
console.log(answer.status);
"""
CLIENTS = {
    "urllib": ("go.py", URLLIB),
    "requests": ("go.py", REQUESTS),
    "httpx": ("go.py", HTTPX),
    "curl": ("go.sh", CURL),
    "node": ("go.mjs", FETCH),
}


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    made, bundle = trusted_authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", bundle)
    return made


@pytest.fixture
def api(authority: trustme.CA) -> Iterator[ApiServer]:
    with serving(authority) as server:
        yield server


def key(*hosts: str, places: Sequence[SecretPlace] = (SecretPlace.HEADERS,)) -> MaskedSecret:
    return MaskedSecret(name="API_KEY", value=VALUE, hosts=hosts, places=tuple(places))


def run(folder: Path, script: tuple[str, str], *arguments: str, **more: object) -> Outcome:
    name, source = script
    skill = skill_folder(folder, "caller", files={f"scripts/{name}": source})
    # The Python of the tests, which has the clients.
    interpreters = Interpreters(which=lambda program: sys.executable if program == "python3" else shutil.which(program))
    made = ScriptRun(folder=str(skill), script=f"scripts/{name}", arguments=arguments, limits=Limits(seconds=40), **more)  # type: ignore[arg-type]
    return run_now(Runner(level=IsolationLevel.NAMESPACE, interpreters=interpreters).run(made))


def python(source: str) -> tuple[str, str]:
    return "go.py", source


@pytest.mark.parametrize("client", CLIENTS)
def test_a_masked_secret_reaches_its_host_and_not_the_script(tmp_path: Path, api: ApiServer, client: str) -> None:
    if client in ("curl", "node") and shutil.which(client) is None:
        pytest.skip(f"no {client} here")
    outcome = run(tmp_path, CLIENTS[client], f"https://{api.host}/v1", hosts=(api.host,), masked=(key(api.host),))
    assert (outcome.stdout.strip(), outcome.stderr) == ("200", "")
    assert set(api.header("X-Key")) == {VALUE}
    assert {(each.host, each.port, each.decision) for each in outcome.connections} == {
        ("localhost", api.server_port, ConnectionDecision.ALLOWED)
    }
    assert all(each.sent > 50 and each.received > 50 for each in outcome.connections)


@pytest.mark.parametrize("is_masked", [True, False])
def test_the_proxy_serves_a_process_with_thousands_of_open_files(tmp_path: Path, api: ApiServer, is_masked: bool) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for _ in range(1100):
            held.enter_context(open(os.devnull, "rb"))
        masked = (key(api.host),) if is_masked else ()
        source = URLLIB if is_masked else URLLIB.replace("os.environ['API_KEY']", "'none'")
        assert run(tmp_path, python(source), f"https://{api.host}/v1", hosts=(api.host,), masked=masked).stdout == "200\n"


@pytest.mark.parametrize("client", CLIENTS)
def test_without_a_masked_secret_tls_is_the_scripts_own(tmp_path: Path, api: ApiServer, client: str) -> None:
    if client in ("curl", "node") and shutil.which(client) is None:
        pytest.skip(f"no {client} here")
    outcome = run(tmp_path, CLIENTS[client], f"https://{api.host}/v1", hosts=(api.host,), secrets={"API_KEY": VALUE})
    assert (outcome.stdout.strip(), outcome.stderr) == ("200", "")
    assert set(api.header("X-Key")) == {VALUE}


def test_the_script_sees_a_placeholder_and_the_authority_without_its_key(tmp_path: Path, api: ApiServer) -> None:
    source = "import os\nprint(os.environ['API_KEY'])\nprint(open(os.environ['SSL_CERT_FILE']).read().count('PRIVATE'))\n"
    outcome = run(tmp_path, python(source), hosts=(api.host,), masked=(key(api.host),))
    shown, private = outcome.stdout.split()
    assert shown.startswith("metier-masked-")
    assert private == "0"


def test_output_that_holds_a_value_in_clear_is_redacted(tmp_path: Path) -> None:
    source = "import base64, os\nkey = os.environ['API_KEY']\nprint(key, base64.b64encode(b'me:' + key.encode()).decode())\n"
    outcome = run(tmp_path, python(source), secrets={"API_KEY": VALUE})
    assert VALUE not in outcome.stdout
    assert outcome.stdout.count("[API_KEY]") == 2


def test_a_body_and_a_query_get_the_value_if_asked_in_one_piece_and_in_chunks(tmp_path: Path, api: ApiServer) -> None:
    source = (
        "import http.client, os, sys, ssl, urllib.parse as p\n"
        "import urllib.request as u\n"
        "url, key = sys.argv[1], os.environ['API_KEY']\n"
        "u.urlopen(url + '?key=' + key, data=b'{\"key\": \"' + key.encode() + b'\"}').read()\n"
        "def parts():\n"
        "    yield b'x' * 70000\n"
        "    yield key[:9].encode()\n"
        "    yield key[9:].encode()\n"
        "u.urlopen(u.Request(url, data=parts(), method='POST')).read()\n"
        "u.urlopen(url, data=b'y' * 3_000_000 + key.encode()).read()\n"
    )
    outcome = run(
        tmp_path,
        python(source),
        f"https://{api.host}/v1",
        hosts=(api.host,),
        masked=(key(api.host, places=tuple(SecretPlace)),),
    )
    assert outcome.ok, outcome
    small, chunked, large = api.seen
    assert small["path"] == f"/v1?key={VALUE}"
    assert small["body"] == f'{{"key": "{VALUE}"}}'
    assert chunked["body"] == "x" * 70000 + VALUE
    assert large["body"] == "y" * 3_000_000 + VALUE


def test_large_and_chunked_answers_are_streamed_and_connections_kept(tmp_path: Path, api: ApiServer) -> None:
    source = (
        "import sys, requests\n"
        "session = requests.Session()\n"
        "print(len(session.get(sys.argv[1] + '/large/20000000').content), session.get(sys.argv[1] + '/chunked').text)\n"
    )
    outcome = run(tmp_path, python(source), f"https://{api.host}", hosts=(api.host,), masked=(key(api.host),))
    assert outcome.stdout == "20000000 one two three\n"
    [connection] = outcome.connections
    assert connection.received > 20_000_000


def test_an_upgraded_connection_is_passed_on_with_its_secret(tmp_path: Path, api: ApiServer) -> None:
    source = (
        "import os, socket, ssl, sys\n"
        "port = int(sys.argv[1])\n"
        "plain = socket.create_connection(('localhost', port))\n"
        "link = ssl.create_default_context().wrap_socket(plain, server_hostname='localhost')\n"
        "head = f'GET /ws HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nUpgrade: echo\\r\\nConnection: Upgrade\\r\\nX-Key: '\n"
        "link.sendall(head.encode() + os.environ['API_KEY'].encode() + b'\\r\\n\\r\\n')\n"
        "stream = link.makefile('rwb')\n"
        "while stream.readline().strip():\n"
        "    pass\n"
        "for word in (b'one\\n', b'two\\n'):\n"
        "    stream.write(word)\n"
        "    stream.flush()\n"
        "    print(stream.readline().decode().strip())\n"
    )
    outcome = run(tmp_path, python(source), str(api.server_port), hosts=(api.host,), masked=(key(api.host),))
    assert (outcome.stdout, outcome.stderr) == ("ONE\nTWO\n", "")
    assert api.header("X-Key") == [VALUE]


def test_plain_http_works_and_a_redirect_to_another_host_is_refused_and_reported(tmp_path: Path) -> None:
    with serving() as plain, serving() as other:
        source = (
            "import sys, requests\n"
            "print(requests.get(sys.argv[1] + '/v1').status_code)\n"
            "print(requests.get(sys.argv[1] + '/redirect?' + sys.argv[2]).status_code)\n"
        )
        where = f"http://127.0.0.1:{other.server_port}/stolen"
        outcome = run(tmp_path, python(source), f"http://{plain.host}", where, hosts=(plain.host,))
        assert outcome.stdout == "200\n403\n"
        assert other.seen == []
    assert [(each.host, each.decision) for each in outcome.connections][-1] == ("127.0.0.1", ConnectionDecision.REFUSED)


def test_a_placeholder_sent_to_another_granted_host_stays_one_and_is_reported(tmp_path: Path, api: ApiServer) -> None:
    with serving() as other:
        script = CLIENTS["urllib"]
        outcome = run(tmp_path, script, f"http://{other.host}/", hosts=(api.host, other.host), masked=(key(api.host),))
        assert outcome.ok, outcome
        [sent] = other.header("X-Key")
    assert sent.startswith("metier-masked-")
    assert "the placeholder of API_KEY was sent" in outcome.connections[0].note


def test_the_certificate_of_the_real_server_is_verified(tmp_path: Path, authority: trustme.CA) -> None:
    with serving(trustme.CA()) as forged, serving(authority, "other.example") as misnamed:
        for server in (forged, misnamed):
            script = CLIENTS["curl"]
            outcome = run(tmp_path, script, f"https://{server.host}/", hosts=(server.host,), masked=(key(server.host),))
            assert not outcome.ok
            assert server.seen == []
            assert outcome.connections[0].decision is ConnectionDecision.FAILED
            assert "TLS" in outcome.connections[0].note


def test_a_host_that_is_down_fails_with_the_reason(tmp_path: Path) -> None:
    host = f"localhost:{unused_port()}"
    outcome = run(tmp_path, ("go.sh", 'curl -s -o /dev/null -w "%{http_code}" "$1"\n'), f"http://{host}/", hosts=(host,))
    assert outcome.stdout == "502"
    assert outcome.connections[0].decision is ConnectionDecision.FAILED


def test_a_server_of_the_script_itself_is_reached_without_the_proxy(tmp_path: Path) -> None:
    source = (
        "import http.server, threading, urllib.request as u\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "print(u.urlopen(f'http://127.0.0.1:{server.server_port}/').status)\n"
    )
    outcome = run(tmp_path, python(source), hosts=("example.com",))
    assert outcome.stdout == "200\n", outcome
    assert outcome.connections == ()


def test_a_value_that_breaks_the_request_is_not_quoted_to_the_script(tmp_path: Path, api: ApiServer) -> None:
    source = (
        "import os, sys, urllib.error, urllib.request as u\n"
        "try:\n"
        "    u.urlopen(u.Request(sys.argv[1], headers={'X-Key': os.environ['API_KEY']}))\n"
        "except urllib.error.HTTPError as error:\n"
        "    print(error.code, error.read()[::-1])\n"
    )
    broken = MaskedSecret(name="API_KEY", value="first line\r\nsecond: line", hosts=(api.host,))
    outcome = run(tmp_path, python(source), f"https://{api.host}/", hosts=(api.host,), masked=(broken,))
    assert outcome.stdout.startswith("400 "), outcome
    assert "line second"[::-1] not in outcome.stdout
    assert "dnoces" not in outcome.stdout
    assert api.seen == []


BROKEN = (
    b"GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x00\x00",
    b"\x16" * 70000,
    b"PRI * HTTP/2.0\r\n\r\n",
    b"CONNECT \xff HTTP/1.1\r\n\r\n",
    b"CONNECT a:99999999 HTTP/1.1\r\n\r\n",
    b"\0" * 100,
)


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_broken_requests_are_answered_or_closed_and_print_nothing(
    tmp_path: Path, data: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import socket\n"
        "for port in (3128, 80, 443):\n"
        "    link = socket.create_connection(('127.0.0.1', port))\n"
        "    try:\n"
        f"        link.sendall({data!r})\n"
        "        link.shutdown(socket.SHUT_WR)\n"
        "        while link.recv(4096): pass\n"
        "    except OSError: pass  # the proxy has closed it\n"
        "print('done')\n"
    )
    outcome = run(tmp_path, python(source), hosts=("example.com",))
    assert outcome.stdout == "done\n", outcome
    assert all(each.decision is not ConnectionDecision.ALLOWED for each in outcome.connections)
    assert capfd.readouterr().err == ""


def test_a_strict_client_accepts_the_certificates_of_the_run() -> None:
    import socket
    import ssl
    import threading

    from metier.runtime.network.authority import RunAuthority

    authority = RunAuthority()
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    for host in ("api.example.com", "127.0.0.1", "::1"):
        ours, theirs = socket.socketpair()
        server = authority.context(host)
        thread = threading.Thread(target=lambda link=ours, made=server: made.wrap_socket(link, server_side=True).close())
        thread.start()
        with context.wrap_socket(theirs, server_hostname=host) as client:
            assert client.selected_alpn_protocol() is None
        thread.join()


def test_the_bundled_web_scraping_reads_a_granted_page_and_no_other(api: ApiServer) -> None:
    permissions = Permissions(policy=Policy.of(allow=[f"Network(localhost:{api.server_port})"]))
    session = Session(
        discover(BUNDLED), services=SessionServices(runner=Runner(level=IsolationLevel.NAMESPACE), permissions=permissions)
    )
    url = f"https://{api.host}/page"
    outcome = run_now(session.run_script("web-scraping", "scrape", [url, "--delay", "0"], hosts=[api.host]))
    assert {request["path"] for request in api.seen} == {"/robots.txt", "/page"}, outcome
    other = f"http://127.0.0.1:{unused_port()}/"
    outcome = run_now(session.run_script("web-scraping", "scrape", [other, "--allow-private"], hosts=[api.host]))
    assert outcome.exit_code == 3
    assert outcome.connections[0].decision is ConnectionDecision.REFUSED


def test_hosts_that_are_none_and_secrets_without_a_host_of_the_run_are_refused(tmp_path: Path) -> None:
    script = python("print(1)\n")
    with pytest.raises(UsageError, match="every host"):
        run(tmp_path, script, hosts=("*",))
    with pytest.raises(RefusedError, match=r"API_KEY is for b\.example, which this run cannot reach"):
        run(tmp_path, script, hosts=("a.example",), masked=(key("b.example"),))
    with pytest.raises(RefusedError, match="has no host"):
        run(tmp_path, script, hosts=("a.example",), masked=(key(),))
    with pytest.raises(RefusedError, match="ports"):
        run(tmp_path, script, hosts=tuple(f"a.example:{port}" for port in range(1000, 1040)))


def test_without_the_extra_a_masked_secret_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metier.runtime.network import authority as module

    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError) as missing:
        run(tmp_path, python("print(1)\n"), hosts=("a.example",), masked=(key("a.example"),))
    assert missing.value.hint == f"run `{install_command('secrets')}`"


def test_a_cancelled_run_closes_its_proxy(tmp_path: Path) -> None:
    import asyncio
    import threading

    before = {thread.name for thread in threading.enumerate()}
    skill = skill_folder(tmp_path, "slow", files={"scripts/go.py": "import time\ntime.sleep(60)\n"})
    made = ScriptRun(folder=str(skill), script="scripts/go.py", hosts=("example.com",))

    async def cancel() -> None:
        task = asyncio.create_task(Runner(level=IsolationLevel.NAMESPACE).run(made))
        while not any(thread.name == "metier-proxy" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert "metier-proxy" not in {thread.name for thread in threading.enumerate()} - before
    assert run_network.RunNetwork(made).close() == ()
