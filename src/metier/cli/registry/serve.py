"""`metier registry serve`."""

from __future__ import annotations

import json
import socket
import ssl
import sys
from ipaddress import ip_address
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import ConfigError, ConflictError, UsageError

from .location import server_options

__all__ = ["serve"]

_PLAIN_HTTP = """\
warning: {address} is open to the network without TLS: anyone on the way can read tokens
hint: pass --tls-cert and --tls-key, or put a TLS proxy in front and pass --trust-proxy and --url; docs/deploy.md shows both
"""


@command("registry", "serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all interfaces.")
@click.option("--port", default=8437, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Number of processes.")
@click.option("--db", help="Database address: sqlite:///path or postgresql://…  [METIER_DB]")
@click.option("--blobs", help="Address of the archives: file:///path or s3://bucket?endpoint=…  [METIER_BLOBS]")
@click.option("--url", help="Public address, if clients do not connect to this one.")
@click.option("--tls-cert", metavar="FILE", help="PEM file with the certificate and its chain: serve https.")
@click.option("--tls-key", metavar="FILE", help="PEM file with the key of --tls-cert.")
@click.option(
    "--log",
    "log_style",
    type=click.Choice(["errors", "text", "json"]),
    help="Log on stderr: errors only, or every request too.  [default: registry.log]",
)
@click.option("--old-index", is_flag=True, help="Also serve the index of version 0.1.0, which has no digests.")
@click.option("--run-uploads", is_flag=True, help="Run uploaded skills in the sandbox, and show what they do on their page.")
@click.option(
    "--trust-proxy",
    metavar="ADDRESS",
    multiple=True,
    help="Address or network of a proxy whose X-Forwarded-For is believed; may be repeated.",
)
def serve(
    app: App, *, host: str, port: int, workers: int, db: str | None, blobs: str | None, url: str | None, old_index: bool,
    run_uploads: bool, trust_proxy: tuple[str, ...], tls_cert: str | None, tls_key: str | None, log_style: str | None,
) -> Result:  # fmt: skip
    """Serve a registry until Ctrl-C: the API, the pages, and the APIs of `npx skills` and `clawhub`.

    No set-up is needed: rows go to a SQLite file and archives to a folder in ~/.metier/registry. The first start prints an
    admin token, once.
    """
    more = _options_of_runs() if run_uploads or app.settings.boolean("registry.run_uploads") else {}
    options = server_options(
        app, db=db, blobs=blobs, url=url, old_index=old_index, trust_proxy=trust_proxy, log=_log_style(app, log_style), **more
    )
    _check_tls(tls_cert, tls_key)
    from metier.registry.server import Listener
    from metier.registry.server import serve as run

    chosen = _usable_port(host, port)
    as_json = "--json" in sys.argv
    scheme = "https" if tls_cert else "http"
    behind_proxy = bool(trust_proxy) or options.url.startswith("https:")

    def on_ready(token: str | None) -> None:
        address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{chosen}"
        if not (tls_cert or behind_proxy or _is_loopback(host)):
            sys.stderr.write(_PLAIN_HTTP.format(address=address))
        if as_json:
            lines = [json.dumps({"url": address, "admin_token": token})]
        else:
            lines = [f"Registry at {address} (Ctrl-C stops it)"]
            if token:
                public = options.url or address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
                lines += [
                    f"Admin token (shown once, save it): {token}",
                    f"Next: open {public}/login or run `metier login {public}`",
                    "Next: invite a colleague with `metier registry token create NAME --scope publish:TEAM`",
                ]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    listener = Listener(host=host, port=chosen, workers=workers, tls_certificate=tls_cert or "", tls_key=tls_key or "")
    run(options, listener, on_ready=on_ready)
    return Result(data={}, lines=lambda _: (), text="")


def _log_style(app: App, style: str | None) -> str:
    style = style or app.settings.path("registry.log") or "errors"
    if style not in ("errors", "text", "json"):
        raise ConfigError(
            f"unknown log {style!r}", file="registry.log", hint="use errors, text or json: metier config set registry.log json"
        )
    return style


def _check_tls(certificate: str | None, key: str | None) -> None:
    """Raises UsageError or ConflictError now: uvicorn would fail after printing the address."""
    if not certificate and not key:
        return
    if not certificate or not key:
        raise UsageError("--tls-cert and --tls-key belong together", hint="pass both files")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot use {certificate} and {key}: {why}", hint="pass the PEM files of one certificate and its key"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _options_of_runs() -> dict[str, Any]:  # Any: fields of ServerOptions
    """Returns the options of a registry that runs uploads. Raises RefusedError where they cannot be isolated."""
    from metier.app import RUN_LIMITS, RUN_UPLOADS
    from metier.runtime.behaviour import require_isolation

    require_isolation()
    return {"scanner": RUN_UPLOADS, "work": RUN_LIMITS}


def _usable_port(host: str, port: int) -> int:
    """Returns the port, or a free one for 0. Checked here, because uvicorn reports a used port after printing the address."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ConflictError(f"cannot listen on {host} port {port}: {why}", hint="pass another --port or --host") from None
        return int(probe.getsockname()[1])
