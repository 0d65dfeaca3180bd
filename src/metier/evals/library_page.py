"""The benchmark of a library as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from metier.errors import plural

from .charts import Bar, as_text, bars, lines
from .html_page import html_page, number_cell, table
from .library_bench import CleanUp, LibraryBench

__all__ = ["render_library_page"]

_MOST_ROWS = 50


def render_library_page(bench: LibraryBench, *, title: str) -> str:
    return html_page(title, _parts(bench))


def _parts(bench: LibraryBench) -> Iterator[str]:
    yield f"<p>{plural(bench.requests, 'request')} to a library of {plural(bench.skills, 'skill')}.</p>"
    yield "<h2>Is the right skill found?</h2>"
    rows = []
    for one in bench.scores:
        low, high = one.interval
        share = one.first / max(one.requests, 1)
        rows.append(Bar(label=one.ranker, share=share, text=f"{share:.0%} ({low:.0%} to {high:.0%})", spread=(high - low) / 2))
    yield bars(rows, "Requests whose skill comes first, by ranker")
    yield table(
        ("ranker", "first", "in the first five", "NDCG@10"),
        (
            [
                as_text(one.ranker),
                number_cell(f"{one.first:,}"),
                number_cell(f"{one.in_five:,}"),
                number_cell(f"{one.ndcg:.3f}"),
            ]
            for one in bench.scores
        ),
    )
    if len(bench.decay) > 1:
        yield "<h2>In smaller and larger libraries</h2>"
        yield "<p>Random parts of this library; the share of requests whose skill comes first.</p>"
        names = [one.ranker for one in bench.scores]
        yield lines({name: [(point.size, point.first[name]) for point in bench.decay] for name in names}, "First by size")
    if bench.confusions:
        yield "<h2>Which skills are confused?</h2>"
        yield table(
            ("request of", "goes to", "requests", "such as"),
            (
                [as_text(one.skill), as_text(one.rival), number_cell(str(one.requests)), as_text(one.example[:200])]
                for one in bench.confusions[:_MOST_ROWS]
            ),
        )
    if bench.black_holes:
        yield "<h2>Which skills take requests of others?</h2>"
        yield table(
            ("skill", "taken", "from skills", "own requests"),
            (
                [as_text(one.skill), *(number_cell(str(count)) for count in (one.taken, one.victims, one.own))]
                for one in bench.black_holes[:_MOST_ROWS]
            ),
        )
    if bench.clean_up:
        yield from _clean_up(bench.clean_up)


def _clean_up(found: CleanUp) -> Iterator[str]:
    before, after = (f"{low:.0%} to {high:.0%}" for low, high in found.intervals)
    yield "<h2>What would help?</h2>"
    yield f"<p>Switch off {as_text(', '.join(found.off))}, or say in their descriptions what they are not for.</p>"
    yield (
        f"<p>Of {plural(found.tested, 'request')} that this was not chosen on, "
        f"{found.before:,} find their skill now ({before}), "
        f"{found.after:,} then ({after}).</p>"
    )
