"""Requests and skills in eight languages, through the table that ships."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from metier.selection import MatchDecision, Selector
from metier.selection.bilingual_table import load_bilingual_table, split_run
from metier.selection.index_document import read_skill
from metier.selection.query import read_query
from metier.selection.translation import find_language, translate_document
from metier.sources import BUNDLED, discover
from metier.sources.selection_index import IndexedSkill

REQUESTS = Path(__file__).resolve().parents[2] / "benchmarks" / "data"
ENGLISH = Path(__file__).resolve().parents[1] / "data" / "selection" / "unrelated.jsonl"


@dataclass(frozen=True)
class Skill:
    id: str
    name: str
    description: str
    body: str = ""


OWN = [
    Skill("de", "vertrag", "Prüft Mietverträge auf unzulässige Klauseln. Verwenden, wenn ein Mietvertrag geprüft werden soll."),
    Skill("es", "nominas", "Calcula las nóminas de los empleados y genera los recibos. Usar cuando se pidan nóminas."),
    Skill("fr", "devis", "Rédige des devis pour les artisans et les envoie au client. À utiliser pour tout devis."),
    Skill("pt", "receitas", "Sugere receitas com o que há na geladeira e monta a lista de compras da semana."),
    Skill("ja", "kaigi", "会議の録音から議事録を作成し、決定事項をまとめるスキル。議事録が必要なときに使う。"),
    Skill("ko", "jaso", "자기소개서를 첨삭하고 문장을 다듬는 스킬. 자기소개서 피드백을 요청할 때 사용."),
    Skill("ru", "pohod", "Составляет маршрут похода в горы и список снаряжения. Используй, когда планируют поход."),
    Skill("zh", "gongwen", "撰写和润色公文、通知和请示。需要起草公文时使用。"),
    Skill("en", "backup", "Backs up databases to cloud storage and restores them. Use when the user mentions a backup."),
]


@pytest.fixture(scope="module")
def bundled() -> Selector:
    return Selector([IndexedSkill(entry) for entry in discover(BUNDLED).entries])


@pytest.fixture(scope="module")
def own() -> Selector:
    return Selector(OWN)


def bundled_requests() -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in (REQUESTS / "languages.jsonl").read_text(encoding="utf-8").splitlines()]
    mine = [row for row in rows if row["skill"].startswith("bundled#")]
    return [(row["skill"].split("#")[1], text) for row in mine for key, text in row.items() if key not in ("skill", "en")]


def test_requests_in_eight_languages_find_the_bundled_skills(bundled: Selector) -> None:
    asked = bundled_requests()
    assert len(asked) == 48
    first = [bundled.select(text, limit=1).selected[0].name == name for name, text in asked]
    activated = [name in {match.name for match in bundled.select(text)} for name, text in asked]
    assert sum(first) >= 43
    assert sum(activated) >= 36


def test_unrelated_requests_in_eight_languages_activate_nothing(bundled: Selector) -> None:
    lines = (REQUESTS / "languages_unrelated.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 80
    assert [line for line in lines if bundled.select(json.loads(line)["query"])] == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Ist die Klausel in meinem Mietvertrag zulässig?"),
        ("es", "Necesito las nóminas de marzo de mis empleados"),
        ("fr", "Rédige un devis pour la salle de bain d'un client"),
        ("pt", "Que receitas posso fazer com o que tenho na geladeira?"),
        ("ja", "録音から議事録を作ってください"),
        ("ko", "자기소개서 좀 다듬어줘"),
        ("ru", "Собираемся в поход в горы, составь маршрут"),
        ("zh", "帮我起草一份公文"),
        ("de", "Stelle die Datenbank aus dem Backup wieder her"),
        ("zh", "把数据库备份到云端"),
    ],
)
def test_a_skill_is_found_in_its_own_language_and_in_english(own: Selector, language: str, text: str) -> None:
    [match] = own.select(text, limit=1)
    expected = "en" if "Backup" in text or "备份" in text else language
    assert match.id == expected
    assert match.decision is MatchDecision.ACTIVATE


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("write the minutes of the meeting from the recording", "ja"),
        ("check the clauses of my rental contract", "de"),
        ("plan a route for a hike in the mountains", "ru"),
    ],
)
def test_an_english_request_finds_a_skill_in_another_language(own: Selector, text: str, wanted: str) -> None:
    assert wanted in [match.id for match in own.select(text, limit=2)]


def test_the_reason_shows_the_word_and_its_translation(bundled: Selector) -> None:
    [match] = bundled.select("Zeichne ein Diagramm aus sales.csv", limit=1)
    assert match.name == "data-analysis"
    assert "Diagramm (chart)" in match.reason


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Rechnungsvorlage erstellen", "invoice template create"),
        ("请帮我翻译这份合同", "translate contract"),
        ("請幫我翻譯這份文件", "translate file"),
        ("hoja de cálculo con las facturas", "spreadsheet invoice"),
        ("계약서를 검토해줘", "contract review"),
        ("データベースのバックアップ", "database backup"),
        ("Teste mit PostgreSQL und fooBar.ts", "test PostgreSQL fooBar ts"),
    ],
)
def test_a_request_becomes_english_words(text: str, english: str) -> None:
    assert read_query(text).text == english


def test_a_word_that_is_not_in_the_table_does_not_match_an_english_word_of_the_same_spelling() -> None:
    english, german = read_query("an unknown poodle is a hit"), read_query("Ist der Pudel von meiner Nachbarin ein Wunder?")
    assert "poodl" in english.terms
    assert german.terms and not any(term.isascii() for term in german.terms)


def test_a_run_without_spaces_is_split_into_the_longest_known_words() -> None:
    known = {"数据", "数据库", "备份", "库"}
    run = "把数据库备份吧"
    pieces = split_run(run, lambda begin, end: run[begin:end] in known, {"把", "吧"}.__contains__)
    assert [run[begin:end] for begin, end, kind in pieces if kind == "word"] == ["数据库", "备份"]


def test_english_requests_are_read_as_before() -> None:
    digest = hashlib.blake2b(digest_size=8)
    for line in ENGLISH.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["query"]
        if find_language(text):
            continue
        query = read_query(text)
        digest.update(repr((query.terms, query.written)).encode())
        for part in (query.hashes, query.counts, query.weights, query.spelling, query.parts, query.follows):
            digest.update(part.tobytes())
    assert digest.hexdigest() == "fa674d6793e12a99"


def test_english_skills_are_indexed_as_they_are() -> None:
    for entry in discover(BUNDLED).entries:
        document = read_skill(IndexedSkill(entry))
        assert translate_document(document) is document


def test_the_table_is_not_loaded_for_english() -> None:
    program = (
        "from metier.selection import Selector\n"
        "from metier.selection.bilingual_table import load_bilingual_table as table\n"
        "from tests.selection.test_translation import OWN\n"
        "selector = Selector(OWN[-1:])\n"
        "for text in ('back up the database', 'plot sales.csv', 'backup', 'restore PostgreSQL snapshot'):\n"
        "    selector.select(text)\n"
        "print(table.cache_info().misses)\n"
        "selector.select('Datenbank sichern')\n"
        "print(table.cache_info().misses)\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_the_table_is_small_and_has_every_language() -> None:
    table = load_bilingual_table()
    assert all(len(places) > 1_500 for places in table.places.values())
    assert table.find("Rechnung", "de")[0][0] == "invoice"
    assert table.find("Rechnungen", "de")[0][0] == "invoice"


@pytest.mark.parametrize(
    "description",
    [
        "Schreibt Rechnungen. Nicht für Verträge.",
        "Escribe facturas. No usar para contratos.",
        "Rédige des factures. Ne pas utiliser pour les contrats.",
        "Escreve faturas. Não usar para contratos.",
        "Пишет счета. Не использовать для договоров.",
        "编写发票。不适用于合同。",
    ],
)
def test_words_after_a_negation_in_another_language_count_against_the_skill(description: str) -> None:
    document = translate_document(read_skill(Skill("x", "x", description)))
    assert "contract" in document.negative
    assert "contract" not in " ".join(document.purpose)
    assert "invoice" in " ".join(document.purpose)
