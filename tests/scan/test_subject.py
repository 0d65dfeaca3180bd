"""Detection of text files and binary files."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from metier.scan.subject import _decoded


def plainly(data: bytes) -> str | None:
    """Decodes without the short cut for images."""
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
def test_the_short_cut_for_images_changes_no_result(pieces: list[tuple[bytes, int]]) -> None:
    data = b"".join(piece * times for piece, times in pieces)
    assert _decoded(data) == plainly(data)
