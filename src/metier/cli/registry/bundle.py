"""`metier registry bundle`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural

from .location import blobs_option, db_option, existing_registry

if TYPE_CHECKING:
    from metier.registry import BundleResult, BundleRow

__all__ = ["bundle", "bundle_data", "release_line"]


@command("registry", "bundle")
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("names", nargs=-1, required=True, metavar="NAME[@VERSION]...")
@click.option("--no-deps", is_flag=True, help="Leave out what the skills depend on.")
@db_option
@blobs_option
def bundle(app: App, *, file: str, names: tuple[str, ...], no_deps: bool, db: str | None, blobs: str | None) -> Result:
    """Write skills and their dependencies into one file, for a registry without a network.

    The file has the archives with their digests, the signatures and the public keys. Import it elsewhere with
    `metier registry unbundle FILE`. It has private skills too, if you name them.
    """
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.registry import bundle as run

    done = asyncio.run(run(location, file, names, dependencies=not no_deps))
    lines = [f"Wrote {plural(len(done.releases), 'skill')} to {one_line(file)} ({plural(done.bytes, 'byte')})"]
    lines += [release_line(row, f", needed by {row.needed_by}" if row.needed_by else "") for row in done.releases]
    lines += [f"  sha256 {done.sha256}", f"  import it elsewhere: metier registry unbundle {one_line(file)}"]
    return Result(data={"file": file, **bundle_data(done)}, lines=lambda _terminal: iter(lines))


def release_line(row: BundleRow, end: str) -> str:
    signed = f", signed by {', '.join(map(one_line, row.signers))}" if row.signers else ", not signed"
    return f"  {row.name} {row.version} in {row.namespace}{signed}{end}"


def bundle_data(done: BundleResult) -> dict[str, object]:
    rows = [
        {
            "name": row.name, "version": row.version, "namespace": row.namespace, "signers": list(row.signers),
            "needed_by": row.needed_by, "created": row.created,
        }
        for row in done.releases
    ]  # fmt: skip
    return {"releases": rows, "keys": list(done.keys), "sha256": done.sha256, "bytes": done.bytes}
