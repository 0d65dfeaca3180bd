"""The folder that the site is built from: the pages of docs/, the documents of the repository and the generated pages.

Hand-written pages say where generated text goes with a comment, `<!-- generated: NAME -->`, so that they read well without it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["DOCUMENTS", "Pages", "copy_pages"]

DOCUMENTS = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
"""Documents at the root of the repository, with their names on the site."""
Pages = Mapping[str, Callable[[], str]]
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)]*)?\)")
_MARK = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)
_FILE = re.compile(r"^(`{3,})file (\S+)$", re.MULTILINE)
_LANGUAGES = {".md": "markdown", ".py": "python", ".json": "json"}
_ANSWER = re.compile(r"\[\[([\w-]+)\]\]")
_KEYS = {"Enter", "Space", "Down", "Up", "Tab", "Esc", "Ctrl-C", "Ctrl-D"}
"""Of transcripts (tests/journeys/transcript.py): files that a page writes, and answers and keys that it types."""


def copy_pages(root: Path, target: Path, parts: Pages) -> None:
    """Copies docs/ and the documents at the root, with links that work on the site and the generated parts filled in."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "docs", target)
    shutil.copytree(root / "deploy", target / "deploy")
    for page in sorted((root / "docs").rglob("*.md")):
        name = page.relative_to(root / "docs").as_posix()
        _write(target / name, page.read_text(encoding="utf-8"), _Site(root, page, name), parts)
    for document, name in DOCUMENTS.items():
        page = root / document
        _write(target / name, page.read_text(encoding="utf-8"), _Site(root, page, name), parts)


def _write(file: Path, text: str, site: _Site, parts: Pages) -> None:
    text = _MARK.sub(lambda found: parts[found[1]](), text)
    text = _FILE.sub(lambda found: f'{found[1]}{_LANGUAGES.get(Path(found[2]).suffix, "text")} title="{found[2]}"', text)
    text = _ANSWER.sub(lambda found: "" if found[1] in _KEYS else found[1], text)
    file.write_text(_LINK.sub(site.link, text), encoding="utf-8")


class _Site:
    """One page: where it lies in the repository, and what it is called on the site."""

    def __init__(self, root: Path, page: Path, name: str) -> None:
        self.root, self.page = root, page
        self.up = "../" * name.count("/")

    def link(self, found: re.Match[str]) -> str:
        """Returns the link as the site has it. A file that the site does not have is named without a link."""
        image, text, path, anchor = found[1], found[2], found[3], found[4] or ""
        try:
            target = (self.page.parent / path).resolve().relative_to(self.root).as_posix()
        except ValueError:
            return found[0]
        if target == "README.md":
            return f"[{text}]({self.up}index.md)"
        if target in DOCUMENTS:
            return f"[{text}]({self.up}{DOCUMENTS[target]}{anchor})"
        if target.startswith("docs/"):
            text = re.sub(r"^docs/(?:.*/)?([\w-]+)\.md$", lambda name: name[1].replace("-", " "), text)
            return f"{image}[{text}]({self.up}{target.removeprefix('docs/')}{anchor})"
        if target.startswith("deploy/"):
            return f"[{text}]({self.up}{target})"
        return text
