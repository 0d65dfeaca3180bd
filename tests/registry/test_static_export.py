"""A registry as a static folder."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from install.servers import Answer
from install.servers import site as web_site
from metier.errors import NotFoundError
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access
from metier.install.refs.parsing import parse_ref
from metier.registry import RegistryLocation, export_static
from registry.builders import site


def test_public_skills_are_installed_from_the_folder_and_private_ones_are_not_in_it(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    location = RegistryLocation(f"sqlite://{tmp_path}/r/registry.sqlite", f"file://{tmp_path}/r/blobs")
    out = str(tmp_path / "out")
    with site(tmp_path / "r") as here:
        here.publish("pdf", "1.0.0", files={"a.txt": "x"})
        here.publish("charts", "1.0.0")
        here.publish("secret", "1.0.0", query="namespace=acme")
        done = asyncio.run(export_static(location, out))
        assert (done.skills, done.removed) == (("charts", "pdf"), ())
        with pytest.raises(NotFoundError):
            asyncio.run(export_static(location, out, ["secret"]))
        assert asyncio.run(export_static(location, out, ["pdf"])).removed == ("charts",)
    place = Path(out) / ".well-known/agent-skills"
    assert sorted(os.listdir(place)) == ["index.json", "pdf.zip"]
    routes = {f"/.well-known/agent-skills/{name}": Answer((place / name).read_bytes()) for name in os.listdir(place)}
    with web_site(dict(routes)) as served:
        access = Access(environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, folder=str(tmp_path))
        (found,) = fetch_ref(parse_ref(served.url), access).skills
    assert (found.name, sorted(entry.path for entry in found.files.list())) == ("pdf", ["SKILL.md", "a.txt"])
