"""Expressions are compiled when they are needed, and text is told from bytes without mending all of an image."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metier.scan.patterns import lazy_pattern
from metier.scan.subject import _decoded


def test_an_expression_does_what_a_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern(r"(?P<name>a+)b?", re.IGNORECASE), re.compile(r"(?P<name>a+)b?", re.IGNORECASE)
    text = "xAAb ab"
    assert lazy.findall(text) == compiled.findall(text)
    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in compiled.finditer(text)]
    assert lazy.sub("-", text) == compiled.sub("-", text)
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert lazy.match(text) is None
    assert lazy.search(text, 2) is not None


def test_a_wrong_expression_is_told_when_it_is_used() -> None:
    with pytest.raises(re.error, match="unterminated"):
        lazy_pattern("(").search("")


def test_importing_the_rules_compiles_none_of_them() -> None:
    code = (
        "import re._compiler as c, metier.spec, metier.archive, ast, base64; import metier.scan.rules.phrases\n"
        "made = []; compiled = c.compile; c.compile = lambda p, flags=0: made.append(p) or compiled(p, flags)\n"
        "import metier.scan.scanner; assert not made, made"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def plainly(data: bytes) -> str | None:
    """What text is, without a short cut."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\r\n", "\n")
    text = data.decode("utf-8", "replace")
    if b"\0" in data[:8192] or text.count("\ufffd") > max(8, len(text) // 20):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


_PIECES = st.sampled_from(
    [b"word ", b"\xff", b"\xe2\x82", b"\xe2\x82\xac", b"\xf0\x9f", b"\r\n", b"\xc3\xa9", b"\x80", "\ufffd".encode()]
)


@given(st.lists(st.tuples(_PIECES, st.integers(1, 40)), max_size=12))
@example([(b"\xff", 9), (b"word ", 40)])
@example([(b"\xff", 8)])
@example([(b"word ", 30), (b"\xe2\x82", 9)])
def test_bytes_are_text_or_not_whatever_short_cut_is_taken(pieces: list[tuple[bytes, int]]) -> None:
    data = b"".join(piece * times for piece, times in pieces)
    assert _decoded(data) == plainly(data)
