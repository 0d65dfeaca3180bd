"""Parameters read from docstrings: three styles of Python, and JSDoc."""

from __future__ import annotations

import pytest

from metier.runtime.docstrings import DocumentedParameter, read_docstring, read_jsdoc

GOOGLE = """Draw a histogram.

Args:
    path (str): The table to read,
        with a header line: always.
    bins (int, optional): Number of bars. Defaults to 10.
    kind ({'bar', 'line'}): The shape.
    columns (list[str]): Names of columns.
    title: The title.

Returns:
    int: The status.
"""
NUMPY = """Draw a histogram.

Parameters
----------
path : str
    The table to read,
    with a header line: always.
bins : int, default 10
    Number of bars.
kind : {'bar', 'line'}
    The shape.
columns : list of str
    Names of columns.
title
    The title.

Returns
-------
int
    The status.
"""
SPHINX = """Draw a histogram.

:param path: The table to read,
    with a header line: always.
:type path: str
:param int bins: Number of bars. Defaults to 10.
:param kind: The shape.
:type kind: Literal['bar', 'line']
:param columns: Names of columns.
:type columns: list[str]
:param title: The title.
:return: The status.
"""
JSDOC = """/**
 * Draw a histogram.
 *
 * @param {string} path - The table to read,
 *   with a header line: always.
 * @param {number} [bins=10] - Number of bars.
 * @param {"bar"|"line"} kind - The shape.
 * @param {string[]} columns Names of columns.
 * @param title The title.
 * @returns {number} The status.
 */"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_three_styles_of_python_say_the_same(text: str) -> None:
    path, bins, kind, columns, title = read_docstring(text)
    assert path == DocumentedParameter(name="path", type="string", description="The table to read, with a header line: always.")
    assert (bins.type, bins.default, bins.is_optional) == ("integer", 10, True)
    assert (kind.type, kind.choices, kind.is_optional) == ("string", ("bar", "line"), False)
    assert (columns.type, columns.is_repeated) == ("string", True)
    assert title == DocumentedParameter(name="title", description="The title.")


def test_jsdoc_says_the_same() -> None:
    path, bins, kind, columns, title = read_jsdoc(JSDOC)
    assert path == DocumentedParameter(name="path", type="string", description="The table to read, with a header line: always.")
    assert (bins.type, bins.default, bins.is_optional) == ("number", 10, True)
    assert (kind.type, kind.choices) == ("string", ("bar", "line"))
    assert (columns.type, columns.is_repeated) == ("string", True)
    assert title == DocumentedParameter(name="title", description="The title.")


def test_jsdoc_on_one_line_is_read() -> None:
    assert read_jsdoc("/** @param {number} bins - How many. */") == (
        DocumentedParameter(name="bins", type="number", description="How many."),
    )


def test_prose_with_colons_documents_no_parameters() -> None:
    assert read_docstring("Fill a form.\n\nNote: it is slow.\n\nUsage: fill.py FORM\n") == ()
    assert read_docstring("") == ()


@pytest.mark.parametrize(
    ("written", "kind", "is_optional"),
    [("int | None", "integer", True), ("Optional[float]", "number", False), ("pathlib.Path", "string", False),
     ("int or float", "number", False), ("np.ndarray", "", False), ("dict[str, int]", "", False)],
)  # fmt: skip
def test_a_type_without_a_sure_json_form_is_left_open(written: str, kind: str, is_optional: bool) -> None:
    [found] = read_docstring(f"Draw.\n\nArgs:\n    value ({written}): The value.\n")
    assert (found.type, found.is_optional) == (kind, is_optional)


def test_an_option_keeps_its_dashes() -> None:
    [found] = read_docstring("Draw.\n\nArgs:\n    --bins (int): How many.\n")
    assert (found.name, found.type) == ("--bins", "integer")
