"""`metier registry`: a registry of your own."""

from __future__ import annotations

import json
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import ConflictError, UnavailableError

if TYPE_CHECKING:
    from metier.registry.domain.options import ServerOptions

__all__ = ["registry_options", "serve"]


@command("registry", "serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 is everywhere.")
@click.option("--port", default=8437, show_default=True, type=click.IntRange(0, 65535), help="0 is any that is free.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that share the database.")
@click.option("--db", help="Where rows are kept: sqlite:///path or postgresql://…  [METIER_DB]")
@click.option("--blobs", help="Where archives are kept: file:///path or s3://bucket?endpoint=…  [METIER_BLOBS]")
@click.option("--url", help="How clients reach it, if by another address than this one.")
@click.option("--old-index", is_flag=True, help="Also serve the index of version 0.1.0, which has no digests.")
@click.option("--trust-proxy", is_flag=True, help="Believe X-Forwarded-For: a proxy of yours writes it.")
def serve(
    app: App, *, host: str, port: int, workers: int, db: str | None, blobs: str | None, url: str | None, old_index: bool,
    trust_proxy: bool,
) -> Result:  # fmt: skip
    """Serve a registry of skills until Ctrl-C: an API, pages, and what `npx skills` and `clawhub` expect.

    Needs no set-up: rows go to a SQLite file and archives to a folder below ~/.metier/registry. The first start prints an
    administrator's token, once.
    """
    options = registry_options(app, db=db, blobs=blobs, url=url, old_index=old_index, trust_proxy=trust_proxy)
    from metier.registry.server.uvicorn_server import serve as run

    chosen = _usable_port(host, port)
    as_json = "--json" in sys.argv

    def told(token: str | None) -> None:
        address = f"http://{f'[{host}]' if ':' in host else host}:{chosen}"
        if as_json:
            lines = [json.dumps({"url": address, "admin_token": token})]
        else:
            lines = [f"registry at {address}"]
            if token:
                lines += [f"administrator's token, shown only now: {token}"]
            lines += ["Ctrl-C ends it"]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    run(options, host=host, port=chosen, workers=workers, told=told)
    return Result(data={}, lines=lambda _: (), text="")


def registry_options(
    app: App, *, db: str | None = None, blobs: str | None = None, url: str | None = None, **more: bool
) -> ServerOptions:
    """How a registry of the user's own is set up: by flags, else by settings, else below the home folder."""
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise UnavailableError(
            "a registry needs packages that are not installed", hint="pip install 'metier[registry]'", retryable=False
        )
    from metier.registry.domain.options import RequestRates, ServerOptions

    settings, folder = app.user_settings, app.paths.at("registry")
    return ServerOptions(
        db=db or settings.path("registry.db") or f"sqlite://{folder}/registry.sqlite",
        blobs=blobs or settings.path("registry.blobs") or f"file://{folder}/blobs",
        url=(url or settings.path("registry.url") or "").rstrip("/"),
        rates=RequestRates()
        if settings.boolean("registry.rate_limits")
        else RequestRates(read=(0, 0), download=(0, 0), write=(0, 0)),
        proxy_blobs=settings.boolean("registry.proxy_blobs"),
        **more,
    )


def _usable_port(host: str, port: int) -> int:
    """The port, or a free one for 0. Told now, in one sentence, and not by a server that has already said where it is."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ConflictError(
                f"cannot listen at {host} port {port}: {why}", hint="choose another with --port or --host"
            ) from None
        return int(probe.getsockname()[1])
