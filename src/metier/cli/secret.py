"""`metier secret`: keys and passwords for skills. Values are read from a prompt or standard input, and never printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.errors import NotFoundError, UsageError
from metier.runtime import SecretPlace, StoredSecret, VaultKind, check_secret_name
from metier.spec import parse_host

from .completion import secret_names, skill_names
from .core.dispatch import command
from .core.result import Result
from .core.skill_argument import entry_named
from .core.terminal import Terminal, one_line, pad

__all__ = ["list_secrets", "remove", "set_secret"]

_VAULTS = {
    VaultKind.KEYRING: "the system's keyring",
    VaultKind.FILE: "a file that only you can read",
    VaultKind.PASSPHRASE: "an encrypted file",
}
_LONGEST = 64 * 1024


@command("secret", "set")
@click.argument("name")
@click.option("--skill", help="Only for this skill.", shell_complete=skill_names)
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Send it only to this host; may be repeated.")
@click.option(
    "--in", "places", multiple=True, type=click.Choice([each.value for each in SecretPlace]),
    help="The parts of a request that may hold it; may be repeated.  [default: headers]",
)  # fmt: skip
@click.option("--in-clear", is_flag=True, help="Give the value itself to scripts, instead of a placeholder.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the value from standard input instead of a prompt.")
def set_secret(
    app: App, *, name: str, skill: str | None, hosts: tuple[str, ...], places: tuple[str, ...], in_clear: bool, from_stdin: bool
) -> Result:
    """Store a secret for skills, such as an API key.

    NAME is the environment variable that scripts read. Scripts get a placeholder; metier puts the value into their requests,
    for the hosts that you name here or allow for the run. You are asked before a skill uses it for the first time.
    """
    if "=" in name:
        bare = check_secret_name(name.partition("=")[0])
        raise UsageError("the value of a secret is not an argument: other users could see it",
                         hint=f"run `metier secret set {bare}` and type the value")  # fmt: skip
    check_secret_name(name)
    if in_clear and (hosts or places):
        raise UsageError("--in-clear gives the value to the script, which can send it anywhere that it may reach",
                         hint="leave out --in-clear, or leave out --host and --in")  # fmt: skip
    named = tuple(str(parse_host(host)) for host in hosts)
    owner = entry_named(app, skill).name if skill else ""
    store = app.sessions.secrets  # a wrong setting is an error before the value is typed
    value = _read_value(name, from_stdin=from_stdin)
    chosen = tuple(map(SecretPlace, dict.fromkeys(places))) or (SecretPlace.HEADERS,)
    secret = StoredSecret(name=name, skill=owner, hosts=named, places=chosen, in_clear=in_clear)
    kind = store.set(secret, value)
    line = f"Stored {name} in {_VAULTS[kind]}" + (f", for {owner}" if owner else "")
    return Result(data=_fields(secret, kind), lines=lambda _: (one_line(line),))


@command("secret", "list")
def list_secrets(app: App) -> Result:
    """List stored secrets, without their values."""
    rows = [_fields(secret, kind) for secret, kind in app.sessions.secrets.all()]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not rows:
            yield "No secrets. Store one with `metier secret set NAME`."
        width = max((len(row["name"]) for row in rows), default=0)
        for row in rows:
            use = "in clear" if row["in_clear"] else f"to {', '.join(row['hosts'])}" if row["hosts"] else "to hosts of the run"
            what = f"{row['skill'] or 'every skill that you allow'}, {use}, {row['vault']}"
            yield f"{terminal.paint(pad(row['name'], width), 'bold')}  {one_line(what)}"

    return Result(data={"secrets": rows}, lines=lines)


@command("secret", "remove")
@click.argument("name", shell_complete=secret_names)
@click.option("--skill", help="Only the one for this skill.", shell_complete=skill_names)
def remove(app: App, *, name: str, skill: str | None) -> Result:
    """Remove a stored secret."""
    gone = app.sessions.secrets.remove(name, skill)
    if not gone:
        known = sorted({secret.name for secret, _ in app.sessions.secrets.all()})
        hint = f"there are {', '.join(known)}" if known else "see `metier secret list`"
        raise NotFoundError(f"no secret is named {name!r}" + (f" for {skill}" if skill else ""), hint=hint)
    return Result(data={"removed": name, "count": len(gone)}, lines=lambda _: (one_line(f"Removed {name}"),))


def _read_value(name: str, *, from_stdin: bool) -> str:
    if from_stdin:
        value = sys.stdin.read(_LONGEST + 1).removesuffix("\n").removesuffix("\r")
    elif sys.stdin.isatty():
        value = str(click.prompt(f"Value of {name}", hide_input=True, err=True, default="", show_default=False))
    else:
        raise UsageError("there is no terminal to type the value at", hint=f"pipe it in: metier secret set {name} --stdin")
    if not value or len(value) > _LONGEST or "\0" in value:
        raise UsageError("the value is empty, too long, or not text", hint="nothing was stored; run the command again")
    return value


def _fields(secret: StoredSecret, kind: VaultKind) -> dict[str, Any]:
    return {
        "name": secret.name,
        "skill": secret.skill,
        "hosts": list(secret.hosts),
        "in": list(secret.places),
        "in_clear": secret.in_clear,
        "vault": kind.value,
    }
