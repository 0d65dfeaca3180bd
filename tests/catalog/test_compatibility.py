"""Programs and packages that a compatibility text names: what is recognised, and what is left alone."""

from __future__ import annotations

import pytest

from metier.catalog import missing_requirements, read_requirements


class Machine:
    """Has node 16, pdftotext and the package requests."""

    python = (3, 12, 0)
    system = "linux"

    def has_command(self, name: str) -> bool:
        return name in ("node", "pdftotext")

    def has_package(self, name: str) -> bool:
        return name == "requests"


def versions(command: str) -> tuple[int, ...]:
    return {"node": (16, 20, 2)}.get(command, ())


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Requires Node.js 18+", ["Node.js 18+ (this is 16.20.2)"]),
        ("Requires Node.js 18 or later.", ["Node.js 18+ (this is 16.20.2)"]),
        ("Node.js 16+", []),
        ("poppler-utils", []),
        ("Requires poppler-utils, imagemagick", ["imagemagick (magick is not on PATH)"]),
        ("Needs tesseract-ocr and qpdf installed", ["tesseract-ocr (tesseract is not on PATH)", "qpdf"]),
        ("requests, beautifulsoup4", ["Python package beautifulsoup4"]),
        ("Requires the Python packages requests and my-package", ["Python package my-package"]),
        ("Requires Python package openpyxl 3.1+", ["Python package openpyxl"]),
        ("Requires GitHub CLI", ["GitHub CLI (gh is not on PATH)"]),
        ("Requires ffmpeg", ["ffmpeg"]),
    ],
)
def test_a_known_name_is_checked(text: str, missing: list[str]) -> None:
    assert list(missing_requirements(read_requirements(text), Machine(), versions)) == missing


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Designed for Claude Code",
        "Optional: ffmpeg",
        "Works with ffmpeg or sox",
        "Does not need Docker",
        "Handles requests from the user and go to the page",
        "Needs network access, a browser and patience",
        "ffmpeg, if available",
        "Requires git access to the repository",
        "a" * 5000,
    ],
)
def test_prose_names_nothing(text: str) -> None:
    assert read_requirements(text) == ()


def test_a_version_that_cannot_be_read_is_enough() -> None:
    assert missing_requirements(read_requirements("Node.js 18+"), Machine(), lambda command: ()) == ()
