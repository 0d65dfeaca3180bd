"""The internet that journeys reach through a proxy on loopback: repositories, an archive, and an address that wants a token."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from install.servers import Answer, Repository, Seen, authority, proxy, site
from metier.archive import Contents, Member, pack

HOSTS = ("github.com", "example.com", "internal.co")


@contextlib.contextmanager
def internet(folder: Path) -> Iterator[dict[str, str]]:
    """Serves HOSTS; yields the variables that lead a program there, and the token of internal.co."""
    github = folder / "github"
    _fill_github(github)
    routes: dict[str, Answer | Callable[[Seen], Answer]] = {
        "/skill.zip": Answer(_archive("example-skill")),
        "/skill": _internal,
    }
    ca, file = authority(folder)
    with site(routes, ca=ca, hosts=HOSTS, git_root=github) as served, proxy(served.port) as address:
        yield {"https_proxy": address, "SSL_CERT_FILE": file, "TOKEN": "s3cret"}


def _fill_github(folder: Path) -> None:
    for owner in ("anthropics", "user"):
        (folder / owner).mkdir(parents=True)
    skills = Repository(folder / "anthropics" / "skills.git")
    skills.commit({f"{name}/SKILL.md": _skill(name) for name in ("code-review", "slides")})
    one = Repository(folder / "user" / "my-skill.git")
    one.commit({"SKILL.md": _skill("my-skill", "1.0.0")})
    one.tag("v1.0.0")
    one.commit({"SKILL.md": _skill("my-skill", "1.1.0")})
    Repository(folder / "user" / "empty.git").commit({"README.md": "Nothing yet.\n"})


def _internal(request: Seen) -> Answer:
    if request.headers.get("authorization") != "Bearer s3cret":
        return Answer(status=401)
    return Answer(_archive("internal-skill"), headers={"Content-Type": "application/zip"})


def _archive(name: str) -> bytes:
    return pack(Contents([Member(f"{name}/SKILL.md", _skill(name).encode())]))


def _skill(name: str, version: str = "1.0.0") -> str:
    description = f"Does {name.replace('-', ' ')}. Use when the user wants {name.replace('-', ' ')}."
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  version: {version}\n---\n\n# {name}\n\nDo it well.\n"
