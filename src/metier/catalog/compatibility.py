"""Programs and packages that a `compatibility` text names, for advice only.

`needs` decides whether a skill is available, and reads only plain requirements. This reads more: `Node.js 18+`, packages of
Debian such as `poppler-utils`, a list of Python packages. What it finds missing is shown and never makes a skill unavailable.
Only known names count, so that a word of prose is not taken for a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from metier.lazy import lazy_pattern

from .needs import Environment

__all__ = ["Requirement", "missing_requirements", "read_requirements"]

# Each name, in lower case, with the programs of which one must be on PATH.
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "node.js": ("node", "nodejs"), "nodejs": ("node", "nodejs"), "node": ("node", "nodejs"), "npm": ("npm",), "npx": ("npx",),
    "deno": ("deno",), "bun": ("bun",), "go": ("go",), "golang": ("go",), "rust": ("rustc",), "cargo": ("cargo",),
    "ruby": ("ruby",), "php": ("php",), "perl": ("perl",), "java": ("java",), "jdk": ("javac",), "default-jre": ("java",),
    "docker": ("docker",), "docker.io": ("docker",), "git": ("git",), "ffmpeg": ("ffmpeg",), "pandoc": ("pandoc",),
    "jq": ("jq",), "uv": ("uv",),
    "poppler": ("pdftotext",), "poppler-utils": ("pdftotext",), "qpdf": ("qpdf",), "pdftk": ("pdftk",),
    "pdftk-java": ("pdftk",), "imagemagick": ("magick", "convert"), "graphicsmagick": ("gm",), "ghostscript": ("gs",),
    "tesseract": ("tesseract",), "tesseract-ocr": ("tesseract",), "libreoffice": ("soffice", "libreoffice"),
    "graphviz": ("dot",), "ripgrep": ("rg",), "texlive": ("pdflatex",), "texlive-latex-base": ("pdflatex",),
    "libimage-exiftool-perl": ("exiftool",), "exiftool": ("exiftool",), "libjpeg-turbo-progs": ("jpegtran",),
    "webp": ("cwebp",), "inkscape": ("inkscape",), "librsvg2-bin": ("rsvg-convert",), "wkhtmltopdf": ("wkhtmltopdf",),
    "sox": ("sox",), "postgresql-client": ("psql",), "default-mysql-client": ("mysql",), "redis-tools": ("redis-cli",),
    "sqlite3": ("sqlite3",), "openssh-client": ("ssh",), "p7zip-full": ("7z",), "unzip": ("unzip",), "yt-dlp": ("yt-dlp",),
    "kubectl": ("kubectl",), "terraform": ("terraform",), "gh": ("gh",), "github cli": ("gh",),
    "chromium": ("chromium", "chromium-browser"),
}  # fmt: skip
_PACKAGES = frozenset({
    "aiohttp", "beautifulsoup4", "boto3", "duckdb", "fastapi", "flask", "httpx", "jinja2", "lxml", "matplotlib", "networkx",
    "numpy", "opencv-python", "openpyxl", "pandas", "pdf2image", "pdfplumber", "pillow", "playwright", "plotly", "polars",
    "psycopg", "pyarrow", "pydantic", "pymupdf", "pypdf", "pypdf2", "pytesseract", "python-docx", "python-pptx", "pyyaml",
    "reportlab", "requests", "scikit-learn", "scipy", "seaborn", "selenium", "sqlalchemy", "statsmodels", "sympy", "torch",
    "transformers", "xlsxwriter",
})  # fmt: skip
_SOFTENS = lazy_pattern(
    r"\b(?:optional(?:ly)?|recommended|preferred|if available|when available|either|e\.g\.|such as|no|not|never|without)\b"
    r"|n't\b|\bor\b(?!\s+(?:later|newer|higher|above)\b)", re.IGNORECASE,
)  # fmt: skip
_LEAD = lazy_pattern(
    r"^(?:(?:this skill|it)\s+)?(?:requires?|required|needs?|must have|depends on|prerequisites?|uses|with|and|the)\b:?\s*",
    re.IGNORECASE,
)
_PYTHON_LIST = lazy_pattern(
    r"^(?:(?:the\s+)?python\s+(?:packages?|librar(?:y|ies)|modules?)|pip packages?):?\s+", re.IGNORECASE
)
_ITEM = lazy_pattern(
    r"(?P<name>[A-Za-z][A-Za-z0-9.+-]*?(?: CLI)?)(?:(?:\s*(?:>=|≥)\s*|\s+(?:v|version\s+)?)(?P<version>\d+(?:\.\d+){0,2})"
    r"\s*(?P<least>\+|or (?:later|newer|higher|above))?)?(?:\s+(?:is\s+)?installed)?", re.IGNORECASE,
)  # fmt: skip


class Requirement(NamedTuple):
    """One program or Python package that a text names."""

    text: str
    """As it is written, such as `Node.js 18+`."""
    commands: tuple[str, ...] = ()
    """Programs of which one will do."""
    version: tuple[int, ...] = ()
    """The lowest version; empty for any."""
    package: str = ""
    """The name of a Python package; empty for a program."""


def read_requirements(text: str) -> tuple[Requirement, ...]:
    """Returns the known programs and packages of a compatibility text, each once."""
    found: dict[Requirement, None] = {}
    for clause in re.split(r"[;\n()]|\.(?=\s|$)", text[:2000]):
        if not clause.strip() or _SOFTENS.search(clause):
            continue
        clause = _LEAD.sub("", clause.strip())
        listed = _PYTHON_LIST.search(clause)
        items = re.split(r"\s*[,&]\s*(?:and\s+)?|\s+and\s+", clause[listed.end() :] if listed else clause)
        found.update(dict.fromkeys(one for item in items if (one := _read(item.strip(" `"), is_package=bool(listed)))))
    return tuple(found)


def missing_requirements(
    requirements: tuple[Requirement, ...], machine: Environment, version_of: Callable[[str], tuple[int, ...]]
) -> tuple[str, ...]:
    """Returns a sentence for each requirement that this machine lacks. `version_of` returns () if it cannot be read."""
    return tuple(reason for one in requirements if (reason := _missing(one, machine, version_of)))


def _read(item: str, *, is_package: bool) -> Requirement | None:
    item = _PYTHON_LIST.sub("", _LEAD.sub("", item))
    match = _ITEM.fullmatch(item)
    if match is None:
        return None
    name = match["name"].lower()
    if is_package or name in _PACKAGES:
        return Requirement(match["name"], package=name)
    if name not in _PROGRAMS:
        return None
    version = tuple(int(part) for part in (match["version"] or "").split(".") if part)
    least = "+" if version else ""
    written = f"{match['name']} {match['version']}{least}" if version else match["name"]
    return Requirement(written, commands=_PROGRAMS[name], version=version)


def _missing(one: Requirement, machine: Environment, version_of: Callable[[str], tuple[int, ...]]) -> str:
    if one.package:
        return "" if machine.has_package(one.package) else f"Python package {one.text}"
    here = next((command for command in one.commands if machine.has_command(command)), None)
    if here is None:
        name = one.commands[0]
        return one.text if one.text.lower() == name else f"{one.text} ({name} is not on PATH)"
    if not one.version:
        return ""
    version = version_of(here)
    if not version or version >= one.version:
        return ""
    return f"{one.text} (this is {'.'.join(map(str, version))})"
