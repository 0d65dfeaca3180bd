"""`metier registry serve`."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import ConflictError

from .location import server_options

__all__ = ["serve"]


@command("registry", "serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all interfaces.")
@click.option("--port", default=8437, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Number of processes.")
@click.option("--db", help="Database address: sqlite:///path or postgresql://…  [METIER_DB]")
@click.option("--blobs", help="Address of the archives: file:///path or s3://bucket?endpoint=…  [METIER_BLOBS]")
@click.option("--url", help="Public address, if clients do not connect to this one.")
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
    run_uploads: bool, trust_proxy: tuple[str, ...],
) -> Result:  # fmt: skip
    """Serve a registry until Ctrl-C: the API, the pages, and the APIs of `npx skills` and `clawhub`.

    No set-up is needed: rows go to a SQLite file and archives to a folder in ~/.metier/registry. The first start prints an
    admin token, once.
    """
    more = _options_of_runs() if run_uploads or app.settings.boolean("registry.run_uploads") else {}
    options = server_options(app, db=db, blobs=blobs, url=url, old_index=old_index, trust_proxy=trust_proxy, **more)
    from metier.registry.server import serve as run

    chosen = _usable_port(host, port)
    as_json = "--json" in sys.argv

    def on_ready(token: str | None) -> None:
        address = f"http://{f'[{host}]' if ':' in host else host}:{chosen}"
        if as_json:
            lines = [json.dumps({"url": address, "admin_token": token})]
        else:
            lines = [f"Registry at {address} (Ctrl-C stops it)"]
            if token:
                lines += [
                    f"Admin token (shown once, save it): {token}",
                    f"Next: open {address}/login or run `metier login {address}`",
                    "Next: invite a colleague with `metier registry token create NAME --scope publish:TEAM`",
                ]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    run(options, host=host, port=chosen, workers=workers, on_ready=on_ready)
    return Result(data={}, lines=lambda _: (), text="")


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
