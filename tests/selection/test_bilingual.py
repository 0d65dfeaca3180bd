"""The builder of the bilingual table, on a few messages of our own."""

from __future__ import annotations

import zipfile
from pathlib import Path

from metier.selection.bilingual_table import parse_bilingual_table
from training.bilingual import build, model_one, read_glossary
from training.catalogs import read_pairs

GLOSSARY = "invoice,bill | 发票 | Rechnung | factura | facture | fatura | 請求書 | 송장 | счёт\n"
GERMAN = [
    ("Open the window", "Fenster öffnen"), ("Close the window", "Fenster schließen"), ("Open the door", "Tür öffnen"),
    ("Close the door", "Tür schließen"), ("Paint the window", "Fenster streichen"), ("Paint the door", "Tür streichen"),
]  # fmt: skip
PO = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#, fuzzy
msgid "Wrong"
msgstr "Unsicher"

msgid "Open "
"window"
msgstr "Fenster öffnen"

msgid "One door"
msgid_plural "Many doors"
msgstr[0] "Eine Tür"
msgstr[1] "Türen"
"""


def test_words_that_occur_together_are_aligned() -> None:
    sides = [(english.lower().split(), german.lower().split()) for english, german in GERMAN]
    chances, count = model_one(sides)
    assert max(chances["fenster"], key=chances["fenster"].__getitem__) == "window"
    assert max(chances["streichen"], key=chances["streichen"].__getitem__) == "paint"
    assert count["tür"] == 3


def test_the_same_messages_give_the_same_bytes() -> None:
    data = build({"de": GERMAN}, GLOSSARY, {"發": "发"})
    assert data == build({"de": list(GERMAN)}, GLOSSARY, {"發": "发"})
    table = parse_bilingual_table(data)
    assert table.find("Rechnungen", "de")[0] == ("invoice", 1.0)
    assert table.find("Fenster", "de")[0][0] == "window"
    assert table.find("发票", "zh")[0][0] == "invoice"
    assert not table.find("Dach", "de")
    assert "發票".translate(dict(table.simplified)) == "发票"


def test_a_word_on_two_lines_of_the_glossary_has_both_meanings() -> None:
    found = read_glossary(GLOSSARY + "account | 账户 | Konto | cuenta | compte | conta | 口座 | 계정 | счёт\n")
    assert [word for word, _ in found["ru"]["счёт"]] == ["invoice", "bill", "account"]


def test_catalogues_are_read_from_a_wheel_without_uncertain_messages(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "shop-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("shop/locale/de/LC_MESSAGES/django.po", PO)
        wheel.writestr("shop/locale/xx/LC_MESSAGES/django.po", PO)
    assert read_pairs(tmp_path) == {"de": [("One door", "Eine Tür"), ("Open window", "Fenster öffnen")]}
