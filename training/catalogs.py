"""Message pairs, English and translated, from the catalogues inside packages of PyPI and npm.

Reads wheels, source distributions and npm archives as they were downloaded. Formats: compiled and plain gettext catalogues,
the diagnostics of TypeScript, and the language packs of VS Code.
"""

from __future__ import annotations

import ast
import gettext
import io
import json
import re
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Pairs", "read_pairs", "read_simplified"]

Pairs = dict[str, list[tuple[str, str]]]
_CODES = {
    "de": "de", "de-de": "de", "es": "es", "es-es": "es", "fr": "fr", "fr-fr": "fr", "ja": "ja", "ja-jp": "ja", "ko": "ko",
    "ko-kr": "ko", "pt-br": "pt", "pt": "pt", "ru": "ru", "ru-ru": "ru", "zh-hans": "zh", "zh-cn": "zh",
}  # fmt: skip
_GETTEXT = re.compile(r"(?:^|/)([A-Za-z]{2}(?:[_-]\w+)?)/LC_MESSAGES/(.+)\.(mo|po)$")
_TYPESCRIPT = re.compile(r"/lib/([\w-]+)/diagnosticMessages\.generated\.json$")
_DIAGNOSTIC = re.compile(r'diag\(\d+, \d /\* \w+ \*/, ("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")')
_VSCODE_MAIN = re.compile(r"translations/main\.i18n\.json\.js$")
_VSCODE_PACK = re.compile(r"language-pack-([a-z-]+?)-\d")
_LOCALIZE = re.compile(r"""localize2?\((\d+),\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_FIELD = re.compile(r'^(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?)?\s*"(.*)"\s*$')


def read_pairs(folder: Path) -> Pairs:
    """Returns the pairs by language, each once and sorted, so that the order of the files does not matter."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    english: dict[int, str] = {}
    packs: dict[str, list[str | None]] = {}
    for archive in sorted(folder.iterdir()):
        if archive.name.endswith((".whl", ".tar.gz", ".tgz")):
            _read_archive(archive, found, english, packs)
    for language, messages in packs.items():
        found[language] |= {(english[n], text) for n, text in enumerate(messages) if text and n in english}
    return {language: sorted(pairs) for language, pairs in sorted(found.items())}


def read_simplified(folder: Path) -> dict[str, str]:
    """Returns traditional Chinese characters with their simplified form, from messages that differ in characters only."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for archive in sorted(folder.glob("*.whl")):
        texts: dict[str, dict[tuple[str, str], str]] = {"hans": {}, "hant": {}}
        for name, data in _members(archive):
            if (hit := _GETTEXT.search(name)) and hit[3] == "mo" and hit[1] in ("zh_Hans", "zh_Hant", "zh_CN", "zh_TW"):
                side = texts["hans" if hit[1] in ("zh_Hans", "zh_CN") else "hant"]
                side |= {(name[: hit.start(1)], english): text for english, text in _compiled(data)}
        for key, text in texts["hant"].items():
            other = texts["hans"].get(key, "")
            if len(other) == len(text) and sum(a != b for a, b in zip(text, other, strict=True)) * 2 <= len(text):
                for char, plain in zip(text, other, strict=True):
                    votes[char][plain] += 1
    usual = {char: max(sorted(counts), key=counts.__getitem__) for char, counts in votes.items() if char > "\u3400"}
    return {char: plain for char, plain in usual.items() if plain != char}


def _read_archive(
    archive: Path, found: dict[str, set[tuple[str, str]]], english: dict[int, str], packs: dict[str, list[str | None]]
) -> None:
    catalogues: dict[tuple[str, str], tuple[str, bytes]] = {}
    keyed: dict[str, dict[str, str]] = {}
    pack = _VSCODE_PACK.search(archive.name)
    for name, data in _members(archive):
        if hit := _GETTEXT.search(name):
            if language := _CODES.get(hit[1].lower().replace("_", "-")):
                place = (language, name[: hit.start(3)])
                if hit[3] == "mo" or place not in catalogues:
                    catalogues[place] = (hit[3], data)
        elif hit := _TYPESCRIPT.search(name):
            keyed[_CODES.get(hit[1], hit[1])] = json.loads(data)
        elif name.endswith("/lib/_tsc.js"):
            keyed["en"] = {json.loads(key): json.loads(text) for key, text in _DIAGNOSTIC.findall(data.decode())}
        elif pack and _VSCODE_MAIN.search(name):
            listed = data.decode().split("=", 1)[1].rsplit("];", 1)[0]
            packs[_CODES[pack[1]]] = json.loads(listed.replace("\tundefined,", "\tnull,") + "]")
        elif pack and name.endswith(".i18n.json"):
            bundle = json.loads(data).get("contents", {}).get("bundle", {})
            found[_CODES[pack[1]]] |= {(key.split("/", 1)[0] if "/{" in key else key, text) for key, text in bundle.items()}
        elif name.endswith(".js") and b"localize" in data and "monaco-vscode" in archive.name:
            for number, text in _LOCALIZE.findall(data.decode()):
                english[int(number)] = str(ast.literal_eval(text))
    for (language, _), (form, data) in sorted(catalogues.items()):
        found[language] |= set(_compiled(data) if form == "mo" else _plain(data.decode("utf-8", "replace")))
    for language in {*keyed} & {*_CODES.values()}:
        source = keyed.get("en", {})
        found[language] |= {(source[key], text) for key, text in keyed[language].items() if key in source}


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    wanted = (".mo", ".po", ".json", ".js")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            for name in sorted(packed.namelist()):
                if name.endswith(wanted[:2]):
                    yield name, packed.read(name)
        return
    with tarfile.open(archive) as unpacked:
        for member in unpacked:
            stream = unpacked.extractfile(member) if member.isfile() and member.name.endswith(wanted) else None
            if stream:
                yield member.name, stream.read()


def _compiled(data: bytes) -> Iterator[tuple[str, str]]:
    # Any: gettext keeps its catalogue in a private attribute, and has no other way to list it.
    catalogue = vars(gettext.GNUTranslations(io.BytesIO(data)))["_catalog"]
    for key, text in catalogue.items():
        english = key[0] if isinstance(key, tuple) else key
        if english and text:
            yield english.split("\x04")[-1], text


def _plain(text: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"\n\s*\n", text):
        if re.search(r"^#,.*fuzzy", block, re.MULTILINE):
            continue
        fields: dict[str, str] = {}
        current = ""
        for line in block.splitlines():
            if hit := _FIELD.match(line):
                current = hit[1] or current
                fields[current] = fields.get(current, "") + hit[2].replace(r"\n", " ").replace(r"\"", '"')
        translated = fields.get("msgstr") or fields.get("msgstr[0]")
        if fields.get("msgid") and translated:
            yield fields["msgid"], translated
