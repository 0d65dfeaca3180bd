"""A ClawHub registry on loopback, with answers in the shape of the public one."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from builders import skill_text
from install.servers import Answer, Seen, Site

__all__ = ["ClawHubSite", "packed"]

CREATED = 1_780_000_000_000
"""In May 2026."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """A zip without file modes, and with the file that ClawHub adds."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for path, data in {**files, "_meta.json": b"{}"}.items():
            made.writestr(zipfile.ZipInfo(path), data)
    return out.getvalue()


@dataclass
class ClawHubSite:
    site: Site
    uploads: bool = True
    """False for a server that takes a form with all files."""
    published: list[dict[str, Any]] = field(default_factory=list)
    stored: dict[str, tuple[bytes, dict[str, str]]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.site.url

    def answer(self, path: str, value: Mapping[str, Any] | Answer) -> None:
        found = value if isinstance(value, Answer) else Answer(json.dumps(value).encode(), headers=JSON)
        self.site.routes[f"/api/v1{path}"] = found

    def add(self, name: str, *versions: str, owner: str | None = "acme", listed: bool = True, **more: Any) -> None:
        """Adds a skill; its highest version is the first. `listed` says whether the hashes of files are known."""
        newest = {"version": versions[0], "createdAt": CREATED, "changelog": "", "license": None}
        person = {"handle": owner, "displayName": owner, "image": None} if owner else None
        skill = {"slug": name, "displayName": name, "summary": f"Does {name}", "tags": {"latest": versions[0]},
                 "stats": {"downloads": 12}, "createdAt": CREATED, "updatedAt": CREATED}  # fmt: skip
        self.answer(f"/skills/{name}", {"skill": skill, "latestVersion": newest, "owner": person, "moderation": None, **more})
        # In two pages.
        rows = [{"version": version, "createdAt": CREATED - place * 86_400_000, "changelog": ""}
                for place, version in enumerate(versions)]  # fmt: skip
        pages = {"": {"items": rows[:1], "nextCursor": "more"}, "more": {"items": rows[1:], "nextCursor": None}}
        self.site.routes[f"/api/v1/skills/{name}/versions"] = lambda seen: Answer(
            json.dumps(pages["more" if "cursor=more" in seen.path else ""]).encode(), headers=JSON
        )
        archives = {version: self.files(name, version) for version in versions}
        for version, files in archives.items():
            hashes = [{"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "contentType": None}
                      for path, data in files.items()]  # fmt: skip
            if listed:
                row = {"version": version, "createdAt": CREATED, "changelog": "", "files": hashes}
                self.answer(f"/skills/{name}/versions/{version}", {"version": row, "skill": {"slug": name}})
        self.downloads[name] = {version: packed(files) for version, files in archives.items()}
        self.site.routes["/api/v1/download"] = self._download

    downloads: dict[str, dict[str, bytes]] = field(default_factory=dict)

    @staticmethod
    def files(name: str, version: str) -> dict[str, bytes]:
        return {"SKILL.md": skill_text(name, body=f"Version {version}.\n").encode(), "references/a.md": b"More.\n"}

    def _download(self, seen: Seen) -> Answer:
        query = dict(pair.split("=") for pair in seen.path.partition("?")[2].split("&"))
        data = self.downloads.get(query["slug"], {}).get(query.get("version", ""))
        return Answer(data, headers={"Content-Type": "application/zip"}) if data else Answer(b"Version not found", status=404)

    def accept_uploads(self, upload_url: str) -> None:
        """Answers a publish; files go to `upload_url`, which may be another host."""
        self.answer("/whoami", {"user": {"handle": "acme"}})
        if self.uploads:
            self.answer("/skills/-/upload-url", {"uploadUrl": upload_url, "uploadTicket": "t1"})
        self.site.routes["/files"] = self._store
        self.site.routes["/api/v1/skills"] = self._publish

    def _store(self, seen: Seen) -> Answer:
        self.stored[f"s{len(self.stored)}"] = (seen.body, seen.headers)
        return Answer(json.dumps({"storageId": f"s{len(self.stored) - 1}"}).encode(), headers=JSON)

    def _publish(self, seen: Seen) -> Answer:
        form = seen.headers["content-type"].startswith("multipart/form-data")
        self.published.append({"form": seen.body} if form else json.loads(seen.body))
        body = {"ok": True, "skillId": "a", "versionId": "b", "publicationStatus": "pending"}
        return Answer(json.dumps(body).encode(), headers=JSON)


JSON = {"Content-Type": "application/json"}
