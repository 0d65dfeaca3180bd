"""The scripts inside the bundled skills, run as an agent runs them: another process, isolated, nothing on stdin."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

BUNDLED = Path(__file__).resolve().parents[2] / "src/metier/sources/bundled"
SCRAPE = "web-scraping/scripts/scrape.py"
ANALYZE = "data-analysis/scripts/analyze.py"
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # the shape is what each test is about
        return json.loads(self.out)

    @property
    def page(self) -> Any:
        return self.json["pages"][0]


def run(script: str, *arguments: str, stdin: bytes | None = None, cwd: Path | None = None) -> Ran:
    done = subprocess.run(
        [sys.executable, "-I", str(BUNDLED / script), *arguments],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=60,
        cwd=cwd,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


# --- a small web ----------------------------------------------------------------------------------------------------

HOME = """<!doctype html><html lang="en"><head><title>Home &amp; away</title><meta name="description" content="A page">
<style>p{}</style><script>var hidden = "<p>no</p>";</script></head><body><nav><a href="/about">About</a></nav>
<main id="content"><h1>Hello</h1><p class="lead big">First<p>Second <b>bold</b>
<ul><li>one<li>two</ul><a href="about#top" title="t">More</a> <a href="mailto:x@example.com">mail</a>
<a href="https://example.com/x?a=1&amp;b=2">Out</a>
<table><caption>Prices</caption><tr><th>Item<th>Price<tr><td rowspan=2>Lamp<td>9<tr><td>11</table></main></body>"""


class Server(ThreadingHTTPServer):
    """Remembers what was asked and when."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Web)
        self.seen: list[str] = []
        self.robots: str | None = None


class Web(BaseHTTPRequestHandler):
    """Each path is one way a server can behave."""

    server: Server

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        path, robots = self.path, self.server.robots
        pages: dict[str, tuple[int, dict[str, str], bytes]] = {
            "/robots.txt": (404 if robots is None else 200, {"Content-Type": "text/plain"}, (robots or "").encode()),
            "/": (200, {"Content-Type": "text/html; charset=utf-8"}, HOME.encode()),
            "/away": (302, {"Location": "/"}, b""),
            "/loop": (302, {"Location": "/loop"}, b""),
            "/to-file": (302, {"Location": "file:///etc/hosts"}, b""),
            "/busy": (429, {"Retry-After": "120"}, b"wait"),
            "/packed": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, gzip.compress(b"<p>packed")),
            "/bomb": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, gzip.compress(b"a " * 5_000_000)),
            "/liar": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, b"not gzip"),
            "/latin": (200, {"Content-Type": "text/html"}, b"<p>caf\xe9 \x80"),
            "/odd": (200, {"Content-Type": "text/html; charset=klingon"}, b"<p>qapla"),
            "/picture": (200, {"Content-Type": "image/png"}, b"\x89PNG\0"),
            "/binary": (200, {"Content-Type": "text/html"}, b"MZ\0\0\0"),
            "/empty": (200, {"Content-Type": "text/html"}, b""),
            "/big": (200, {"Content-Type": "text/html"}, b"<p>word " * 100_000),
            "/deep": (200, {"Content-Type": "text/html"}, b"<div>" * 100_000 + b"bottom"),
            "/links": (200, {"Content-Type": "text/html"}, b"".join(b"<a href=/%d>x</a>" % n for n in range(5_000))),
        }
        if path in ("/slow", "/drip"):
            self.dawdle(path)
            return
        status, headers, body = pages.get(path, (404, {"Content-Type": "text/html"}, b"nothing here"))
        self.answer(status, {**headers, "Content-Length": str(len(body))}, body)

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client has seen enough
            return

    def dawdle(self, path: str) -> None:
        """/slow says nothing for a while; /drip sends a byte now and then, which defeats a plain socket timeout."""
        if path == "/slow":
            time.sleep(3)
            return
        self.answer(200, {"Content-Type": "text/html"}, b"")
        for _ in range(30):
            try:
                self.wfile.write(b"x")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        return


@dataclass
class Site:
    server: Server

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    @property
    def seen(self) -> list[str]:
        return self.server.seen

    def set_robots(self, text: str) -> None:
        self.server.robots = text

    def scrape(self, path: str, *options: str) -> Ran:
        return run(SCRAPE, self.url(path), "--allow-private", "--delay", "0", *options)


@pytest.fixture
def site() -> Iterator[Site]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Site(server)
    server.shutdown()
    thread.join()
    server.server_close()


# --- web-scraping ---------------------------------------------------------------------------------------------------


def test_a_page_becomes_metadata_and_readable_text(site: Site) -> None:
    page = site.scrape("/").page
    assert page["metadata"] == {
        "title": "Home & away",
        "description": "A page",
        "language": "en",
        "heading": "Hello",
    }
    assert page["text"].splitlines()[:6] == ["About", "# Hello", "First", "Second bold", "- one", "- two"]
    assert "hidden" not in page["text"]


def test_links_are_absolute_and_listed_once(site: Site) -> None:
    links = site.scrape("/", "--get", "links").page["links"]
    assert [(link["url"], link["text"]) for link in links] == [
        (site.url("/about"), "About"),
        ("https://example.com/x?a=1&b=2", "Out"),
    ]


def test_a_table_keeps_its_header_and_repeats_spanning_cells(site: Site) -> None:
    assert site.scrape("/", "--get", "tables").page["tables"] == [
        {"caption": "Prices", "header": ["Item", "Price"], "rows": [["Lamp", "9"], ["Lamp", "11"]]}
    ]


@pytest.mark.parametrize(
    ("selector", "texts"),
    [
        ("p.lead", ["First"]),
        ("main > p", ["First", "Second bold"]),
        ("#content li", ["one", "two"]),
        ("nav a, caption", ["About", "Prices"]),
        ('a[href^="https:"]', ["Out"]),
        ("a[title]", ["More"]),
        ("body > p", []),
    ],
)
def test_a_selector_finds_elements(site: Site, selector: str, texts: list[str]) -> None:
    assert [element["text"] for element in site.scrape("/", "--select", selector).page["elements"]] == texts


@pytest.mark.parametrize("selector", ["", "p:hover", "> p", "p >", "a[", "p,,b"])
def test_a_selector_that_is_not_understood_stops_before_any_request(site: Site, selector: str) -> None:
    ran = site.scrape("/", "--select", selector)
    assert ran.code == 2
    assert "is not understood" in ran.err
    assert site.seen == []


def test_within_narrows_the_page(site: Site) -> None:
    assert site.scrape("/", "--get", "text", "--within", "nav").page["text"] == "About"


def test_a_redirect_is_followed_and_reported(site: Site) -> None:
    page = site.scrape("/away").page
    assert (page["url"], page["redirects"]) == (site.url("/"), [site.url("/away")])


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("/missing", 4, "answered 404"),
        ("/busy", 4, "asks to wait 120"),
        ("/loop", 3, "redirects more than 5 times"),
        ("/to-file", 2, "must start with http"),
        ("/picture", 6, "image/png"),
        ("/binary", 6, "binary"),
        ("/liar", 6, "said gzip"),
    ],
)
def test_a_page_that_cannot_be_used_gives_one_sentence_and_its_own_code(site: Site, path: str, code: int, says: str) -> None:
    ran = site.scrape(path)
    assert ran.code == code
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert (ran.json["pages"], ran.json["errors"][0]["code"]) == ([], code)


@pytest.mark.parametrize("path", ["/slow", "/drip"])
def test_a_slow_server_is_left_when_the_time_is_up(site: Site, path: str) -> None:
    ran = site.scrape(path, "--timeout", "0.5")
    assert (ran.code, "longer than 0.5 seconds" in ran.err or "timed out" in ran.err) == (3, True)


def test_gzip_is_unpacked(site: Site) -> None:
    assert site.scrape("/packed").page["text"] == "packed"


@pytest.mark.parametrize("path", ["/bomb", "/big"])
def test_a_page_is_read_only_up_to_max_bytes_and_printed_only_up_to_max_chars(site: Site, path: str) -> None:
    ran = site.scrape(path, "--max-bytes", "50000", "--max-chars", "2000")
    assert "larger than --max-bytes" in ran.page["warnings"][0]
    assert len(ran.out) < 4_000
    assert ran.page["text_next_offset"] == 2_000


def test_text_can_be_paged(site: Site) -> None:
    first = site.scrape("/big", "--get", "text", "--max-chars", "1000").page
    second = site.scrape("/big", "--get", "text", "--max-chars", "1000", "--offset", "1000").page
    assert (len(first["text"]), second["text_next_offset"]) == (1_000, 2_000)


def test_links_beyond_the_limit_are_counted(site: Site) -> None:
    page = site.scrape("/links", "--get", "links", "--limit", "10").page
    assert (len(page["links"]), page["links_left_off"]) == (10, 4_990)


def test_deep_nesting_does_not_break_the_parser(site: Site) -> None:
    assert site.scrape("/deep").page["text"] == "bottom"


@pytest.mark.parametrize(("path", "text"), [("/latin", "café €"), ("/odd", "qapla")])
def test_a_bad_encoding_is_read_as_well_as_possible_with_a_warning(site: Site, path: str, text: str) -> None:
    page = site.scrape(path).page
    assert page["text"] == text
    assert len(page["warnings"]) == 1


def test_an_empty_page_is_an_empty_answer(site: Site) -> None:
    ran = site.scrape("/empty")
    assert (ran.code, ran.page["text"]) == (0, "")


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\nAllow: /big$", True),
        ("User-agent: *\nDisallow: /*ig", False),
        ("User-agent: *\nDisallow:", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: metier-web-scraping\nDisallow: /private", True),
        ("User-agent: other\nDisallow: /", True),
    ],
)
def test_robots_txt_decides_whether_the_page_is_asked_for(site: Site, robots: str, allowed: bool) -> None:
    site.set_robots(robots)
    ran = site.scrape("/big")
    assert ran.code == (0 if allowed else 5)
    assert ("/big" in site.seen) is allowed


def test_requests_to_one_host_keep_their_distance(site: Site) -> None:
    """The script runs with a clock that stands still, so each pause is the whole delay."""
    program = """
        import runpy, sys, time
        time.monotonic = lambda: 0.0
        time.sleep = lambda pause: print(pause, file=sys.stderr)
        sys.argv = sys.argv[1:]
        runpy.run_path(sys.argv[0], run_name="__main__")
    """
    words = [str(BUNDLED / SCRAPE), site.url("/"), site.url("/empty"), "--allow-private", "--delay", "0.3"]
    done = subprocess.run([sys.executable, "-c", dedent(program), *words], capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["0.3", "0.3"]
    assert site.seen == ["/robots.txt", "/", "/empty"]


def test_one_bad_page_does_not_lose_the_good_ones(site: Site) -> None:
    ran = run(SCRAPE, site.url("/missing"), site.url("/"), "--allow-private", "--delay", "0")
    assert (ran.code, len(ran.json["pages"]), len(ran.json["errors"])) == (4, 1, 1)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "[::1]", "[::ffff:169.254.169.254]", "10.0.0.1", "0.0.0.0", "[64:ff9b::a00:1]"]
)
def test_a_private_address_is_refused_in_every_spelling(host: str) -> None:
    ran = run(SCRAPE, f"http://{host}/")
    assert ran.code == 5
    assert "--allow-private" in ran.err


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "//x", "http://", "http://u:p@x/", "http://x:99999/"])
def test_only_plain_web_addresses_are_accepted(url: str) -> None:
    assert run(SCRAPE, url).code == 2


def test_a_saved_page_is_read_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(HOME, encoding="utf-8")
    options = ("--base-url", "https://example.com/a/", "--get", "links")
    from_file = run(SCRAPE, "--from-file", "page.html", *options, cwd=tmp_path).page["links"]
    from_pipe = run(SCRAPE, "--from-file", "-", *options, stdin=HOME.encode()).page["links"]
    assert from_file == from_pipe
    assert from_file[1]["url"] == "https://example.com/a/about"


def test_output_goes_to_a_new_file_and_never_over_an_old_one(site: Site, tmp_path: Path) -> None:
    target = str(tmp_path / "links.json")
    assert site.scrape("/links", "--get", "links", "--output", target).json["written"] == target
    assert len(json.loads(Path(target).read_text("utf-8"))["pages"][0]["links"]) == 5_000
    assert site.scrape("/links", "--output", target).code == 1


# --- data-analysis --------------------------------------------------------------------------------------------------

SALES = 'day,region,units,price\n2024-01-01,North,3,$9.50\n2024-01-02,South,,n/a\n2024-01-03,North,5,"$1,200.00"\n'
SALES += "2024-01-04,South,2,$7\n"


def summary(data: str | bytes, *options: str) -> Ran:
    return run(ANALYZE, "summary", "-", *options, stdin=data.encode() if isinstance(data, str) else data)


def columns(ran: Ran) -> dict[str, Any]:
    return {column["name"]: column for column in ran.json["column_summaries"]}


def chart(tmp_path: Path, data: str, *options: str) -> tuple[Ran, Path]:
    target = tmp_path / "chart.svg"
    return run(ANALYZE, "chart", "-", *options, "--output", str(target), stdin=data.encode()), target


def drawn(path: Path) -> tuple[ET.Element, list[str]]:
    """The document and all the words in it."""
    root = ET.parse(path).getroot()
    return root, [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_csv_file_is_summarised_column_by_column() -> None:
    found = columns(summary(SALES))
    assert {name: column["type"] for name, column in found.items()} == {
        "day": "date",
        "region": "text",
        "units": "number",
        "price": "number",
    }
    assert (found["units"]["mean"], found["units"]["missing"], found["price"]["sum"]) == (3.333333333, 1, 1216.5)
    assert found["region"]["top"] == [{"value": "North", "count": 2}, {"value": "South", "count": 2}]
    assert found["day"]["days"] == 3


def test_leading_zeros_mark_a_code_and_not_a_number() -> None:
    assert columns(summary("zip\n01234\n99999\n"))["zip"]["type"] == "text"


def test_a_stray_word_does_not_turn_numbers_into_text() -> None:
    column = columns(summary("v\n" + "1\n" * 19 + "oops\n"))["v"]
    assert (column["type"], column["invalid"], column["invalid_examples"]) == ("number", 1, ["oops"])


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ('[{"a": 1, "b": {"c": 2}}]', ["a", "b.c"]),
        ('{"items": [{"a": 1}], "total": 1}', ["a"]),
        ('{"a": [1, 2], "b": [3, 4]}', ["a", "b"]),
        ("[1, 2]", ["value"]),
        ('{"a": 1}\n{"b": 2}\n', ["a", "b"]),
        ("a;b\n1;2\n", ["a", "b"]),
        ("a\tb\n1\t2\n", ["a", "b"]),
        ("\ufeffa,b\n1,2\n", ["a", "b"]),
        ("a,a,\n1,2,3\n", ["a", "a_2", "column3"]),
    ],
)
def test_many_shapes_of_table_are_understood(data: str, names: list[str]) -> None:
    assert list(columns(summary(data))) == names


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"", 4, "is empty"),
        (b"a,b\n", 4, "no data rows"),
        (b"\0\1\2", 3, "binary data"),
        (b"PK\x03\x04rest", 3, "Excel"),
        (b'{"a": ', 3, "not valid JSON"),
        (b"[" * 100_000, 3, "nests too deeply"),
        (b"a\n" + b"x" * 2_000_000, 3, "not valid CSV near line 2"),
    ],
)
def test_bad_input_gives_one_sentence_and_its_own_code(data: bytes, code: int, says: str) -> None:
    ran = summary(data)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_missing_file_and_an_unknown_column_are_named(tmp_path: Path) -> None:
    assert "cannot read 'nope.csv'" in run(ANALYZE, "summary", "nope.csv", cwd=tmp_path).err
    assert "there is no column 'x'; the columns are 'day'" in summary(SALES, "--columns", "x").err


def test_ragged_rows_are_kept_and_counted() -> None:
    ran = summary("a,b\n1\n1,2,3\n1,2\n")
    assert ran.json["rows"] == 3
    assert "2 rows do not have 2 cells" in ran.json["warnings"][0]


def test_a_large_table_is_cut_with_a_warning_and_a_short_answer() -> None:
    ran = summary("a,b\n" + "1,x\n" * 50_000, "--max-rows", "1000")
    assert (ran.json["rows"], len(ran.out) < 2_000) == (1_000, True)
    assert "only the first 1000 rows" in ran.json["warnings"][-1]


@pytest.mark.parametrize(
    ("options", "shape", "count"),
    [
        (("--kind", "bar", "--x", "region", "--y", "units"), "rect", 2),
        (("--kind", "line", "--x", "day", "--y", "units"), "polyline", 1),
        (("--kind", "scatter", "--x", "units", "--y", "price"), "circle", 3),
        (("--kind", "histogram", "--x", "units", "--bins", "2"), "rect", 2),
    ],
)
def test_each_kind_of_chart_is_well_formed_and_labelled(
    tmp_path: Path, options: tuple[str, ...], shape: str, count: int
) -> None:
    ran, target = chart(tmp_path, SALES, *options, "--title", "Sales <&> more")
    root, words = drawn(target)
    marks = [mark for mark in root.iter(f"{SVG}{shape}") if mark.get("fill") != "#ffffff"]
    assert (ran.code, ran.json["written"]) == (0, str(target))
    assert words[0] == "Sales <&> more"
    assert len(words) > 5
    assert len(marks) == count


def test_groups_get_a_legend(tmp_path: Path) -> None:
    _, target = chart(tmp_path, SALES, "--kind", "scatter", "--x", "day", "--y", "units", "--group", "region")
    assert {"North", "South"} <= set(drawn(target)[1])


def test_bars_start_at_zero_even_when_all_values_are_large(tmp_path: Path) -> None:
    _, target = chart(tmp_path, "k,v\na,1000\nb,1010\n", "--kind", "bar", "--x", "k", "--y", "v")
    assert "0" in drawn(target)[1]


@pytest.mark.parametrize("kind", ["bar", "line", "scatter", "histogram"])
@pytest.mark.parametrize("data", ["5,7", "0,0\n0,0", "-3,-4\n-1,-2", "1e-9,2e-9\n1e99,-1e99"])
def test_awkward_numbers_still_make_a_chart_inside_its_frame(tmp_path: Path, kind: str, data: str) -> None:
    options = ("--x", "x") if kind == "histogram" else ("--x", "x", "--y", "y")
    ran, target = chart(tmp_path, f"x,y\n{data}\n", "--kind", kind, *options)
    assert ran.code == 0, ran.err
    for mark in drawn(target)[0].iter(f"{SVG}circle"):
        assert 0 <= float(mark.get("cx", "nan")) <= 900
        assert 0 <= float(mark.get("cy", "nan")) <= 540


def test_a_chart_is_not_written_over_an_old_one_unless_forced(tmp_path: Path) -> None:
    options = ("--kind", "bar", "--x", "region")
    assert [chart(tmp_path, SALES, *options)[0].code for _ in range(2)] == [0, 5]
    assert chart(tmp_path, SALES, *options, "--force")[0].code == 0


def test_options_that_would_be_ignored_are_refused(tmp_path: Path) -> None:
    assert chart(tmp_path, SALES, "--kind", "histogram", "--x", "units", "--y", "price")[0].code == 2
    assert chart(tmp_path, SALES, "--kind", "bar", "--x", "region", "--trend")[0].code == 2


def test_a_chart_of_words_says_that_it_needs_numbers(tmp_path: Path) -> None:
    ran, target = chart(tmp_path, SALES, "--kind", "bar", "--x", "day", "--y", "region")
    assert (ran.code, target.exists()) == (4, False)
    assert "'region' does not hold numbers" in ran.err


# --- both -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [SCRAPE, ANALYZE])
def test_help_is_short_and_lists_the_exit_codes(script: str) -> None:
    ran = run(script, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "exit codes:" in ran.out
    assert len(ran.out) < 5_000


@pytest.mark.parametrize("script", [SCRAPE, ANALYZE])
def test_no_arguments_is_a_usage_error_and_never_a_prompt(script: str) -> None:
    ran = run(script)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("usage:")


@pytest.mark.parametrize("script", [SCRAPE, ANALYZE])
def test_the_script_declares_its_needs_and_has_none_to_install(script: str) -> None:
    head = (BUNDLED / script).read_text("utf-8")[:200]
    assert head.startswith('# /// script\n# requires-python = ">=3.9"\n# dependencies = []\n# ///\n')
