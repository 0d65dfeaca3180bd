"""The language of a text and the form of its words."""

from __future__ import annotations

import pytest

from metier.selection.languages import detect_language, fold, light_stem


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("帮我把表格导出成 Excel", "zh"),
        ("この契約書をレビューして", "ja"),
        ("계약서를 검토해줘", "ko"),
        ("проверь мой код", "ru"),
        ("Kannst du die Rechnung prüfen?", "de"),
        ("haz un gráfico de las ventas", "es"),
        ("fais un graphique des ventes", "fr"),
        ("faça um gráfico das vendas", "pt"),
        ("review the change before we merge it", "en"),
        ("translate 'Guten Morgen, wie geht es dir' to English for me and explain the grammar of it", "en"),
        ("how do I say 你好 in a letter to my teacher?", "en"),
        ("plot sales.csv", ""),
        ("E2E tests", ""),
        ("EN 301 549", ""),
        ("", ""),
    ],
)
def test_script_and_function_words_tell_the_language(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "erstellen erstelle erstellt"),
        ("de", "Rechnung Rechnungen"),
        ("es", "resumir resume resumen"),
        ("fr", "créer crée créez"),
        ("pt", "gráfico gráficos grafico"),
        ("ru", "создать создай создайте"),
        ("ru", "график графика графиков"),
    ],
)
def test_inflected_forms_have_one_stem(language: str, words: str) -> None:
    assert len({light_stem(fold(word, language), language) for word in words.split()}) == 1


def test_words_without_spaces_keep_their_form() -> None:
    assert light_stem(fold("データ", "ja"), "ja") == "データ"
    assert fold("계약서", "ko") == "계약서"
