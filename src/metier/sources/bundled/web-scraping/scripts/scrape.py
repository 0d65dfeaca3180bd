# /// script
# requires-python = ">=3.9"
# dependencies = []
# ///
"""Fetch web pages politely and print what was asked for as JSON.

Every request goes through one gate: http or https only, a public address (the one that was checked is the one that is
dialled), robots.txt obeyed, a pause between requests, a cap on bytes and on time. One file and only the standard
library, so that it also runs isolated (`python3 -I`) and alone.
"""

from __future__ import annotations

import argparse
import codecs
import html.parser
import http.client
import ipaddress
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

OK, UNWRITABLE, USAGE, NETWORK, HTTP_STATUS, REFUSED, UNUSABLE = 0, 1, 2, 3, 4, 5, 6
SECTIONS = ("metadata", "text", "links", "tables")
MAX_URLS = 10
MAX_REDIRECTS = 5
MAX_DEPTH = 300
MAX_NODES = 300_000
MAX_SPAN = 50
CELL_CHARS = 1_000
LONGEST_CRAWL_DELAY = 60.0
USER_AGENT = "metier-web-scraping/1.0"

EPILOG = """\
sections for --get: metadata, text, links, tables (default: metadata,text)
selectors: tag #id .class [attr] [attr=v] [attr^=v] [attr$=v] [attr*=v] [attr~=v], joined by space, > or comma

exit codes: 0 ok; 1 --output cannot be written; 2 bad option, URL or selector; 3 network failure or timeout;
            4 HTTP error status; 5 refused (robots.txt, private address); 6 not a text page
With several URLs the exit code is that of the first failure; the pages that worked are still printed.

examples:
  python3 scripts/scrape.py https://example.com/
  python3 scripts/scrape.py https://example.com/ --get links,tables --within main
  python3 scripts/scrape.py https://example.com/news --select "article > h2 a" --limit 20
  python3 scripts/scrape.py --from-file saved.html --base-url https://example.com/ --get tables
"""


class ScrapeError(Exception):
    """A reason to give up on one page: one sentence, and the exit code that goes with it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


# --- where we may go ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """A URL taken apart and made safe to send."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        return f"{self.scheme}://{host}" + ("" if usual else f":{self.port}")

    @property
    def url(self) -> str:
        return self.origin + self.path


def parse_url(text: str) -> Target:
    """Accept only absolute http(s) URLs without credentials; percent-encode what a request line cannot carry."""
    try:
        parts = urllib.parse.urlsplit(text.strip())
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii") if parts.hostname else ""
    except ValueError as error:  # UnicodeError from idna is a ValueError too
        raise ScrapeError(f"{text!r} is not a URL: {error}", USAGE) from error
    if parts.scheme not in ("http", "https"):
        raise ScrapeError(f"{text!r} must start with http:// or https://", USAGE)
    if not re.fullmatch(r"[A-Za-z0-9._:-]+", host):
        raise ScrapeError(f"{text!r} has no usable host name", USAGE)
    if parts.username is not None or parts.password is not None:
        raise ScrapeError("URLs with a user name or password are not accepted", USAGE)
    path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = urllib.parse.quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    scheme_port = 443 if parts.scheme == "https" else 80
    return Target(parts.scheme, host, port or scheme_port, path + (f"?{query}" if query else ""))


def is_public(text: str) -> bool:
    """Is this address out on the internet? IPv4 hidden inside an IPv6 address is judged as the IPv4 it reaches."""
    address = ipaddress.ip_address(text.split("%", maxsplit=1)[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


def sandbox_proxy() -> tuple[str, int] | None:
    """The proxy of metier's sandbox, which checks addresses itself. Other proxies are not used."""
    inside = "SKILL_DIR" in os.environ and os.environ.get("HTTPS_PROXY") == "http://127.0.0.1:3128"
    return ("127.0.0.1", 3128) if inside else None


def vetted_address(target: Target, *, allow_private: bool) -> str:
    """One address of the host. All of them must be public, or a second answer could lead inside."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ScrapeError(f"cannot resolve {target.host!r}: {error}", NETWORK) from error
    addresses = [str(entry[4][0]) for entry in found]
    inside = [address for address in addresses if not is_public(address)]
    if inside and not allow_private:
        raise ScrapeError(
            f"{target.host!r} is at the non-public address {inside[0]}; pass --allow-private if that is intended",
            REFUSED,
        )
    if not addresses:
        raise ScrapeError(f"{target.host!r} has no address", NETWORK)
    # IPv4 first: many containers resolve IPv6 but cannot route it.
    return min(addresses, key=lambda address: ":" in address)


# --- one request ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """What one run may cost."""

    timeout: float
    max_bytes: int
    delay: float
    allow_private: bool
    user_agent: str


@dataclass(frozen=True)
class Answer:
    """What the server sent, with the body already decompressed."""

    target: Target
    status: int
    reason: str
    headers: http.client.HTTPMessage
    body: bytes
    truncated: bool


class PinnedHTTP(http.client.HTTPConnection):
    """Dials the address that was checked, so that a second DNS answer cannot change the destination."""

    address = ""

    def connect(self) -> None:
        self.sock = socket.create_connection((self.address, self.port), self.timeout)


class PinnedHTTPS(http.client.HTTPSConnection):
    """As PinnedHTTP, and still verifies the certificate against the host name."""

    address = ""

    def connect(self) -> None:
        raw = socket.create_connection((self.address, self.port), self.timeout)
        self.sock = ssl.create_default_context().wrap_socket(raw, server_hostname=self.host)


def within(seconds: float, work: Callable[[], T], what: str) -> T:
    """Run `work` for at most `seconds`. A socket timeout restarts with each byte; this one does not."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread and raised there
            failed.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise ScrapeError(f"{what} took longer than {seconds:g} seconds; try a larger --timeout", NETWORK)
    return done[0]


def open_connection(target: Target, limits: Limits) -> http.client.HTTPConnection:
    """To the checked address, or through the proxy of a sandbox, which refuses every host that the user did not allow."""
    proxy = sandbox_proxy()
    if proxy is None:
        address = vetted_address(target, allow_private=limits.allow_private)
        kind = PinnedHTTPS if target.scheme == "https" else PinnedHTTP
        connection = kind(target.host, target.port, timeout=limits.timeout)
        connection.address = address
        return connection
    usual = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    through = usual(*proxy, timeout=limits.timeout)
    through.set_tunnel(target.host, target.port)
    return through


def request(target: Target, limits: Limits) -> Answer:
    """Send one GET, follow nothing."""
    connection = open_connection(target, limits)
    headers = {"User-Agent": limits.user_agent, "Accept": "text/html,*/*;q=0.5", "Accept-Encoding": "gzip"}
    try:
        connection.request("GET", target.path, headers=headers)
        response = connection.getresponse()
        raw, cut = read_capped(response, limits.max_bytes)
        body, cut_again = decompress(raw, response.headers.get("Content-Encoding", ""), limits.max_bytes)
        return Answer(target, response.status, response.reason, response.headers, body, cut or cut_again)
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise ScrapeError(f"cannot fetch {target.url}: {reason}", NETWORK) from error
    finally:
        connection.close()


def read_capped(response: http.client.HTTPResponse, cap: int) -> tuple[bytes, bool]:
    """At most `cap` bytes of the body, and whether there was more."""
    chunks = bytearray()
    while len(chunks) <= cap:
        chunk = response.read1(65_536)
        if not chunk:
            return bytes(chunks), False
        chunks += chunk
    return bytes(chunks[:cap]), True


def decompress(raw: bytes, encoding: str, cap: int) -> tuple[bytes, bool]:
    """Undo gzip or deflate, never to more than `cap` bytes: a small body can unpack to gigabytes."""
    name = encoding.strip().lower()
    if name in ("", "identity") or not raw:
        return raw, False
    if name not in ("gzip", "x-gzip", "deflate"):
        raise ScrapeError(f"the server used the unsupported content encoding {encoding!r}", UNUSABLE)
    for window in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):  # gzip or zlib by header, then headerless deflate
        unpacker = zlib.decompressobj(window)
        try:
            body = unpacker.decompress(raw, cap)
        except zlib.error:
            continue
        return body, bool(unpacker.unconsumed_tail)
    raise ScrapeError(f"the server said {name} but sent something else", UNUSABLE)


# --- manners --------------------------------------------------------------------------------------------------------


@dataclass
class Robots:
    """The rules of one robots.txt that apply to us (RFC 9309: longest match wins, allow wins a tie)."""

    rules: list[tuple[str, bool]] = field(default_factory=list)
    crawl_delay: float = 0.0

    def allows(self, path: str) -> bool:
        hits = [(len(pattern), allowed) for pattern, allowed in self.rules if robots_match(pattern, path)]
        return max(hits)[1] if hits else True


def robots_match(pattern: str, path: str) -> bool:
    """`*` is any run of characters and a final `$` the end. Plain string search, so no pattern can be slow."""
    anchored = pattern.endswith("$")
    first, *rest = pattern.rstrip("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not rest:
        return not anchored or at == len(path)
    for part in rest[:-1] if anchored else rest:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not anchored or (path.endswith(rest[-1]) and len(path) - len(rest[-1]) >= at)


def parse_robots(text: str, user_agent: str) -> Robots:
    """The group that names us, else the group for everyone."""
    token = user_agent.split("/", maxsplit=1)[0].strip().lower()
    groups: dict[str, Robots] = {}
    names: list[str] = []
    in_rules = False
    for line in text.splitlines()[:5_000]:
        key, _, value = line.split("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            names = [value.lower()] if in_rules else [*names, value.lower()]
            in_rules = False
            for name in names:
                groups.setdefault(name, Robots())
        elif key in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for name in names:
                add_rule(groups[name], key, value)
    return groups.get(token) or groups.get("*") or Robots()


def add_rule(robots: Robots, key: str, value: str) -> None:
    """Add one line to a group. An empty value says nothing."""
    if key == "crawl-delay":
        if re.fullmatch(r"\d{1,6}(\.\d+)?", value):
            robots.crawl_delay = float(value)
    elif value:
        robots.rules.append((urllib.parse.quote(value, safe="/%:@!$&'()*+,;=~-._?"), key == "allow"))


class Visitor:
    """Makes all requests of one run, so that pauses and robots.txt answers are shared between pages."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._robots: dict[str, Robots] = {}
        self._last: dict[str, float] = {}

    def visit(self, url: str) -> tuple[Answer, list[str]]:
        """The page, and the URLs that redirected to it. Every hop passes the same gate as the first."""
        hops: list[str] = []
        target = parse_url(url)
        while True:
            self._ask_permission(target)
            answer = self._send(target)
            following = redirect_of(answer)
            if following is None:
                check_status(answer)
                return answer, hops
            hops.append(target.url)
            if len(hops) > MAX_REDIRECTS:
                raise ScrapeError(f"{url} redirects more than {MAX_REDIRECTS} times", NETWORK)
            target = parse_url(following)

    def _ask_permission(self, target: Target) -> None:
        if target.origin not in self._robots:
            self._robots[target.origin] = self._read_robots(target)
        robots = self._robots[target.origin]
        if not robots.allows(target.path):
            raise ScrapeError(f"robots.txt of {target.origin} does not allow {target.path}", REFUSED)
        if robots.crawl_delay > LONGEST_CRAWL_DELAY:
            raise ScrapeError(
                f"robots.txt of {target.origin} asks for {robots.crawl_delay:g} seconds between requests, "
                f"more than the {LONGEST_CRAWL_DELAY:g} this script waits",
                REFUSED,
            )

    def _read_robots(self, start: Target) -> Robots:
        """No robots.txt (4xx) means no rules; a server in trouble (5xx) means keep out. Both by RFC 9309."""
        target = parse_url(start.origin + "/robots.txt")
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._send(target)
            following = redirect_of(answer)
            if following is None:
                break
            target = parse_url(following)
        else:
            return Robots()
        if answer.status >= 500:
            raise ScrapeError(f"robots.txt of {start.origin} answered {answer.status}, which means keep out", REFUSED)
        if answer.status != 200:
            return Robots()
        return parse_robots(answer.body[:512_000].decode("utf-8", "replace"), self._limits.user_agent)

    def _send(self, target: Target) -> Answer:
        robots = self._robots.get(target.origin, Robots())
        pause = max(self._limits.delay, robots.crawl_delay) - (time.monotonic() - self._last.get(target.host, -1e9))
        if pause > 0:
            time.sleep(pause)
        try:
            return within(self._limits.timeout, lambda: request(target, self._limits), f"fetching {target.url}")
        finally:
            self._last[target.host] = time.monotonic()


def redirect_of(answer: Answer) -> str | None:
    location = answer.headers.get("Location")
    if answer.status not in (301, 302, 303, 307, 308) or not location:
        return None
    # http.client decodes headers as latin-1; servers that send a bare path in UTF-8 are common.
    fixed = location.encode("latin-1", "replace").decode("utf-8", "replace")
    return urllib.parse.urljoin(answer.target.url, fixed)


def check_status(answer: Answer) -> None:
    if 200 <= answer.status < 300:
        return
    wait = answer.headers.get("Retry-After", "")
    hint = f"; the server asks to wait {wait[:40]}" if wait else ""
    raise ScrapeError(f"{answer.target.url} answered {answer.status} {answer.reason}{hint}", HTTP_STATUS)


# --- bytes to text --------------------------------------------------------------------------------------------------


NOT_FOR_PAGES = frozenset({"punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "unicode-escape"})
"""Codecs Python knows that no page uses, and that are slow or give the bytes another meaning."""


def decode(body: bytes, declared: str | None) -> tuple[str, str, list[str]]:
    """Text, encoding used, warnings. Order: byte order mark, HTTP header, meta tag, UTF-8, Windows-1252."""
    warnings: list[str] = []
    head = body[:2_048].decode("latin-1")
    meta = re.search(r"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w-]{1,40})", head, re.IGNORECASE)
    for name in (bom_of(body), declared, meta.group(1) if meta else None):
        if name is None:
            continue
        try:
            codec = codecs.lookup(name)
            if codec.name in NOT_FOR_PAGES:
                raise LookupError(name)
            if codec.name in ("iso8859-1", "ascii"):  # browsers read both as Windows-1252
                codec = codecs.lookup("cp1252")
            text = str(body.decode(codec.name, "replace"))
        except (LookupError, UnicodeError, TypeError, ValueError, AssertionError):
            warnings.append(f"the page names the unknown encoding {name[:40]!r}")
            continue
        lost = text.count("\ufffd")
        if lost:
            warnings.append(f"{lost} characters could not be decoded as {codec.name}")
        return text.lstrip("\ufeff"), codec.name, warnings
    try:
        return body.decode("utf-8"), "utf-8", warnings
    except UnicodeDecodeError:
        warnings.append("no encoding was declared and the bytes are not UTF-8; read as Windows-1252")
        return body.decode("cp1252", "replace"), "cp1252", warnings


def bom_of(body: bytes) -> str | None:
    marks = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    return next((name for mark, name in marks if body.startswith(mark)), None)


def check_is_text(body: bytes, content_type: str) -> None:
    """Refuse pictures, archives and the like, by the declared type and by the bytes themselves."""
    textual = re.match(r"text/|application/([\w.-]+\+)?(xhtml|xml|json|javascript)", content_type)
    if content_type and not textual:
        raise ScrapeError(f"the content is {content_type[:80]!r}, not a text page", UNUSABLE)
    if bom_of(body) is None and b"\0" in body[:4_096]:
        raise ScrapeError("the content is binary, not a text page", UNUSABLE)


# --- text to tree ---------------------------------------------------------------------------------------------------


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = words("area base br col embed hr img input link meta source track wbr")
HIDDEN = words("head script style noscript template svg iframe object canvas")
BLOCK = words(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hr li main nav ol option p pre section summary table tbody td tfoot th thead tr ul"
)
PARAGRAPH_ENDS = BLOCK - words("body dd dt li option tbody td tfoot th thead tr")
PARAGRAPH_FENCE = words("div td th li section article body")
# An opening tag closes an open one of the listed kinds, searching no further up than the fence.
CLOSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (words("li"), words("ul ol")),
    "dt": (words("dt dd"), words("dl")),
    "dd": (words("dt dd"), words("dl")),
    "option": (words("option"), words("select")),
    "td": (words("td th"), words("tr table")),
    "th": (words("td th"), words("tr table")),
    "tr": (words("tr"), words("table")),
    "tbody": (words("thead tbody tfoot"), words("table")),
    "tfoot": (words("thead tbody tfoot"), words("table")),
    **{tag: (words("p"), PARAGRAPH_FENCE) for tag in PARAGRAPH_ENDS},
}


@dataclass(eq=False)
class Node:
    """An element; its children are elements and strings in document order."""

    tag: str
    attributes: dict[str, str]
    parent: Node | None
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in document order, without recursion: pages can nest deeply."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(child for child in reversed(node.children) if isinstance(child, Node))

    def find(self, *tags: str) -> Iterator[Node]:
        return (node for node in self.walk() if node.tag in tags)


class TreeBuilder(html.parser.HTMLParser):
    """A forgiving tree: unclosed paragraphs, list items and cells close where a browser would close them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("#document", {}, None)
        self.nodes = 0
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.nodes >= MAX_NODES:
            return
        self.nodes += 1
        if tag in CLOSES:
            self._close(*CLOSES[tag])
        parent = self._open[-1]
        node = Node(tag, {name: value or "" for name, value in reversed(attrs)}, parent)
        parent.children.append(node)
        if tag not in VOID and len(self._open) < MAX_DEPTH:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # HTML ignores the slash: <div/> stays open. Inside svg it would not, but svg is hidden anyway.
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._close(frozenset({tag}), frozenset({"table"}) - {tag})

    def handle_data(self, data: str) -> None:
        if self.nodes < MAX_NODES:
            self._open[-1].children.append(data)

    def _close(self, tags: frozenset[str], fence: frozenset[str]) -> None:
        for at in range(len(self._open) - 1, 0, -1):
            if self._open[at].tag in tags:
                del self._open[at:]
                return
            if self._open[at].tag in fence:
                return


def parse_html(text: str) -> tuple[Node, list[str]]:
    builder = TreeBuilder()
    warnings = []
    try:
        builder.feed(text)
        builder.close()
    except (AssertionError, ValueError) as error:  # html.parser raises these on a few malformed declarations
        warnings.append(f"parsing stopped early: {error}")
    if builder.nodes >= MAX_NODES:
        warnings.append(f"parsing stopped after {MAX_NODES} elements")
    return builder.root, warnings


# --- selectors ------------------------------------------------------------------------------------------------------

Test = Callable[[Node], bool]


@dataclass(frozen=True)
class Step:
    """One compound selector, and whether its parent (>) or any ancestor must match the step before."""

    tests: tuple[Test, ...]
    is_child: bool


SIMPLE = re.compile(
    r"""(?P<tag>\*|[A-Za-z][\w-]*) | \#(?P<id>[\w-]+) | \.(?P<class>[\w-]+) |
    \[\s*(?P<name>[\w:-]+)\s*(?:(?P<how>[\^$*~]?=)\s*(?:"(?P<dq>[^"]*)"|'(?P<sq>[^']*)'|(?P<bare>[\w./:#-]+))\s*)?\]""",
    re.VERBOSE,
)
JOIN = re.compile(r"\s*([>,])\s*|\s+")


def parse_selector(text: str) -> list[list[Step]]:
    """The alternatives (comma) of a selector, each a list of steps from the outside in."""
    alternatives: list[list[Step]] = [[]]
    tests: list[Test] = []
    is_child = False
    at, source = 0, text.strip()
    while at < len(source):
        simple = SIMPLE.match(source, at)
        if simple and not (simple.group("tag") and tests):
            tests.append(make_test(simple))
            at = simple.end()
            continue
        join = JOIN.match(source, at)
        if not join or not tests:
            break
        alternatives[-1].append(Step(tuple(tests), is_child))
        tests, is_child, at = [], join.group(1) == ">", join.end()
        if join.group(1) == ",":
            alternatives.append([])
    if at < len(source) or not tests:
        raise ScrapeError(f"the selector {text!r} is not understood at {source[at : at + 20]!r}; see --help", USAGE)
    alternatives[-1].append(Step(tuple(tests), is_child))
    return alternatives


def make_test(simple: re.Match[str]) -> Test:
    """One condition as a function of a node."""
    group = simple.groupdict()
    if group["tag"]:
        tag = group["tag"].lower()
        return lambda node: tag in ("*", node.tag) and node.tag != "#document"
    if group["id"]:
        return lambda node: node.attributes.get("id") == group["id"]
    if group["class"]:
        return lambda node: group["class"] in node.attributes.get("class", "").split()
    name = group["name"].lower()
    wanted = next((group[key] for key in ("dq", "sq", "bare") if group[key] is not None), "")
    compare: dict[str | None, Callable[[str], bool]] = {
        None: lambda value: True,
        "=": lambda value: value == wanted,
        "^=": lambda value: bool(wanted) and value.startswith(wanted),
        "$=": lambda value: bool(wanted) and value.endswith(wanted),
        "*=": lambda value: bool(wanted) and wanted in value,
        "~=": lambda value: wanted in value.split(),
    }
    check = compare[group["how"]]
    return lambda node: name in node.attributes and check(node.attributes[name])


def select(root: Node, alternatives: Sequence[Sequence[Step]]) -> list[Node]:
    """Matching nodes in document order. One pass per step, so the cost does not grow with nesting."""
    hits: set[int] = set()
    for steps in alternatives:
        matched: set[int] | None = None
        for step in steps:
            matched = advance(root, step, matched)
        hits |= matched or set()
    return [node for node in root.walk() if id(node) in hits]


def advance(root: Node, step: Step, before: set[int] | None) -> set[int]:
    """Nodes that pass `step` below a node in `before` (None: anywhere)."""
    below: set[int] = set()
    passed: set[int] = set()
    for node in root.walk():
        parent = id(node.parent)
        if before is not None and (parent in before or parent in below):
            below.add(id(node))
        placed = before is None or (parent in before if step.is_child else id(node) in below)
        if placed and all(test(node) for test in step.tests):
            passed.add(id(node))
    return passed


# --- tree to answers ------------------------------------------------------------------------------------------------


def text_of(node: Node) -> str:
    """Readable text: a line per block, headings marked with #, list items with a dash."""
    parts: list[str] = []
    stack: list[Node | str] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item if item.startswith("\n") else re.sub(r"\s+", " ", item))
        elif item.tag == "br":
            parts.append("\n")
        elif item.tag not in HIDDEN or item is node:
            edge = ["\n"] if item.tag in BLOCK and item is not node else []
            stack.extend([*edge, *reversed(item.children), *([lead(item)] if edge else [])])
    lines = (line.strip() for line in "".join(parts).splitlines())
    return "\n".join(line for line in lines if line.strip("# -"))


def lead(node: Node) -> str:
    if re.fullmatch("h[1-6]", node.tag):
        return "\n" + "#" * int(node.tag[1]) + " "
    return "\n- " if node.tag == "li" else "\n"


def line_of(node: Node) -> str:
    return " ".join(text_of(node).split())


def metadata_of(root: Node) -> dict[str, str]:
    """Title, description, language, canonical URL and first heading, where present."""
    found: dict[str, str] = {}
    for node in root.find("title", "meta", "html", "link", "h1"):
        attributes = node.attributes
        if node.tag in ("title", "h1"):
            found.setdefault("title" if node.tag == "title" else "heading", line_of(node))
        elif node.tag == "meta" and attributes.get("name", "").lower() in ("description", "author"):
            found.setdefault(attributes["name"].lower(), attributes.get("content", ""))
        elif node.tag == "html" and attributes.get("lang"):
            found.setdefault("language", attributes["lang"])
        elif node.tag == "link" and attributes.get("rel", "").lower() == "canonical":
            found.setdefault("canonical", attributes.get("href", ""))
    return {key: value[:CELL_CHARS] for key, value in found.items() if value}


def links_of(root: Node, base: str) -> list[dict[str, str]]:
    """Each http(s) address once, absolute, without its fragment, with the first text that names it."""
    links: dict[str, str] = {}
    for node in root.find("a", "area"):
        try:
            url = urllib.parse.urldefrag(urllib.parse.urljoin(base, node.attributes.get("href", "").strip())).url
        except ValueError:
            continue
        url = url.replace(" ", "%20")
        if "href" in node.attributes and url.startswith(("http://", "https://")):
            links[url] = links.get(url) or line_of(node)[:300] or node.attributes.get("title", "")[:300]
    return [{"url": url[:2_000], "text": text} for url, text in links.items()]


def base_of(root: Node, url: str) -> str:
    declared = next((node.attributes["href"] for node in root.find("base") if "href" in node.attributes), "")
    try:
        return urllib.parse.urljoin(url, declared)
    except ValueError:
        return url


def tables_of(root: Node) -> list[dict[str, Any]]:
    """Tables with at least one cell. Header is the first row when it is all th or stands in a thead."""
    tables = []
    for table in root.find("table"):
        rows = [row for row in table.find("tr") if nearest(row, "table") is table]
        grid = grid_of(rows)
        if not any(grid):
            continue
        cells = [cell for cell in rows[0].children if isinstance(cell, Node)]
        headed = nearest(rows[0], "thead", "table").tag == "thead" or all(cell.tag == "th" for cell in cells)
        caption = next((line_of(node)[:300] for node in table.find("caption")), "")
        body = grid[1:] if headed else grid
        tables.append({"caption": caption, "header": grid[0] if headed else [], "rows": body})
    return tables


def nearest(node: Node, *tags: str) -> Node:
    """The closest ancestor of one of these kinds, else the document itself."""
    at = node.parent
    while at is not None and at.parent is not None and at.tag not in tags:
        at = at.parent
    return at or node


def grid_of(rows: Iterable[Node]) -> list[list[str]]:
    """Cell text by position: a spanning cell is repeated in every place it covers."""
    grid: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    for row in rows:
        line: list[str] = []
        for cell in (node for node in row.children if isinstance(node, Node) and node.tag in ("td", "th")):
            fill_from_above(line, hanging)
            text, down = line_of(cell)[:CELL_CHARS], span(cell, "rowspan")
            for _ in range(span(cell, "colspan")):
                if down > 1:
                    hanging[len(line)] = (down - 1, text)
                line.append(text)
        fill_from_above(line, hanging)
        grid.append(line)
    return grid


def fill_from_above(line: list[str], hanging: dict[int, tuple[int, str]]) -> None:
    while len(line) in hanging:
        left, text = hanging.pop(len(line))
        if left > 1:
            hanging[len(line)] = (left - 1, text)
        line.append(text)


def span(cell: Node, name: str) -> int:
    value = cell.attributes.get(name, "1").strip()
    return min(max(int(value), 1), MAX_SPAN) if re.fullmatch(r"\d{1,4}", value) else 1


# --- answers to bounded JSON ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """What to take from each page, and how much of it."""

    sections: tuple[str, ...]
    within: list[list[Step]] | None
    select: list[list[Step]] | None
    limit: int
    max_chars: int
    offset: int


class Budget:
    """Characters that are left for one page; sections draw on it in turn."""

    def __init__(self, chars: int) -> None:
        self.left = chars

    def take(self, items: Sequence[Any], limit: int) -> list[Any]:
        kept = []
        for item in items[:limit]:
            self.left -= len(json.dumps(item, ensure_ascii=False)) + 2
            if self.left < 0:
                break
            kept.append(item)
        return kept


def extract(text: str, url: str, content_type: str, wanted: Wanted) -> dict[str, Any]:
    """The sections asked for, within budget. What is left off is counted, so that nothing is lost silently."""
    is_markup = not content_type or "html" in content_type or "xml" in content_type
    root, warnings = parse_html(text) if is_markup else (Node("#document", {}, None, [text]), [])
    base = base_of(root, url)
    scopes = select(root, wanted.within) if wanted.within else [root]
    if not scopes:
        warnings.append("--within matches nothing on this page")
    budget = Budget(wanted.max_chars)
    page: dict[str, Any] = {}
    if "metadata" in wanted.sections:
        page["metadata"] = metadata_of(root)
    if wanted.select is not None:
        found = [node for scope in scopes for node in select(scope, wanted.select)]
        add_items(page, "elements", [describe(node, base) for node in dict.fromkeys(found)], wanted.limit, budget)
    if "links" in wanted.sections:
        links = {link["url"]: link for scope in scopes for link in links_of(scope, base)}
        add_items(page, "links", list(links.values()), wanted.limit, budget)
    if "tables" in wanted.sections:
        add_tables(page, [table for scope in scopes for table in tables_of(scope)], wanted.limit, budget)
    if "text" in wanted.sections:
        whole = "\n".join(text_of(scope) for scope in scopes) if is_markup else text
        add_text(page, whole, wanted.offset, max(budget.left, 1_000))
    return {**page, "warnings": warnings}


def describe(node: Node, base: str) -> dict[str, Any]:
    """An element as text and attributes, with href and src made absolute."""
    attributes = {name: value[:500] for name, value in list(node.attributes.items())[:20]}
    for name in ("href", "src"):
        if name in attributes:
            try:
                attributes[name] = urllib.parse.urljoin(base, attributes[name].strip())
            except ValueError:
                continue
    return {"tag": node.tag, "text": line_of(node)[:CELL_CHARS], "attributes": attributes}


def add_items(page: dict[str, Any], name: str, items: list[Any], limit: int, budget: Budget) -> None:
    kept = budget.take(items, limit)
    page[name] = kept
    if len(kept) < len(items):
        page[f"{name}_left_off"] = len(items) - len(kept)


def add_tables(page: dict[str, Any], tables: list[dict[str, Any]], limit: int, budget: Budget) -> None:
    shown = []
    for table in tables[:limit]:
        rows = budget.take(table["rows"], limit)
        left_off = len(table["rows"]) - len(rows)
        shown.append({**table, "rows": rows, **({"rows_left_off": left_off} if left_off else {})})
        if budget.left < 0:
            break
    page["tables"] = shown
    if len(shown) < len(tables):
        page["tables_left_off"] = len(tables) - len(shown)


def add_text(page: dict[str, Any], whole: str, offset: int, chars: int) -> None:
    page["text"] = whole[offset : offset + chars]
    page["text_total_chars"] = len(whole)
    if offset + chars < len(whole):
        page["text_next_offset"] = offset + chars


# --- command line ---------------------------------------------------------------------------------------------------


def scrape_url(url: str, visitor: Visitor, wanted: Wanted, timeout: float) -> dict[str, Any]:
    answer, hops = visitor.visit(url)
    content_type = answer.headers.get_content_type() if answer.headers.get("Content-Type") else ""
    check_is_text(answer.body, content_type)
    text, encoding, warnings = decode(answer.body, answer.headers.get_content_charset())
    final = answer.target.url
    page = within(timeout, lambda: extract(text, final, content_type, wanted), f"reading {final}")
    if answer.truncated:
        warnings.append("the page is larger than --max-bytes; only its beginning was read")
    about = {"url": final, "requested": url, "redirects": hops, "content_type": content_type, "encoding": encoding}
    return {**about, **page, "warnings": warnings + page["warnings"]}


def scrape_file(path: str, base: str, wanted: Wanted, limits: Limits) -> dict[str, Any]:
    """The same answers from a page that is already on disk, or on standard input (-)."""
    try:
        if path == "-":
            if sys.stdin is None or sys.stdin.isatty():
                raise ScrapeError("--from-file - needs a page on standard input", USAGE)
            body = sys.stdin.buffer.read(limits.max_bytes + 1)
        else:
            with open(path, "rb") as file:
                body = file.read(limits.max_bytes + 1)
    except (OSError, ValueError) as error:
        raise ScrapeError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}", USAGE) from error
    check_is_text(body, "")
    text, encoding, warnings = decode(body[: limits.max_bytes], None)
    page = within(limits.timeout, lambda: extract(text, base, "", wanted), f"reading {path!r}")
    if len(body) > limits.max_bytes:
        warnings.append("the file is larger than --max-bytes; only its beginning was read")
    return {"file": path, "encoding": encoding, **page, "warnings": warnings + page["warnings"]}


def bounded(kind: Callable[[str], Any], low: float, high: float) -> Callable[[str], Any]:
    """An argparse type: a number between two bounds."""

    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from error
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low:g} and {high:g}")
        return value

    return convert


def agent_name(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e][\x20-\x7e]{0,199}", text):
        raise argparse.ArgumentTypeError("must be 1-200 printable ASCII characters")
    return text


def section_names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(SECTIONS)}")
    return names


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scrape.py",
        description="Fetch web pages politely and print text, links, tables or selected elements as JSON.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("urls", nargs="*", metavar="URL", help=f"up to {MAX_URLS} http or https pages")
    add("--get", type=section_names, metavar="LIST", help="comma-separated sections to print")
    add("--select", metavar="SELECTOR", help="print the elements that match; alone it replaces the default sections")
    add("--within", metavar="SELECTOR", help="look only inside the elements that match, e.g. main")
    add("--limit", type=bounded(int, 1, 100_000), default=100, help="most links, rows or elements (default 100)")
    add("--max-chars", type=bounded(int, 1_000, 10_000_000), default=20_000, help="most characters printed (20000)")
    add("--offset", type=bounded(int, 0, 10**9), default=0, help="where the text starts; use text_next_offset")
    add("--output", metavar="FILE", help="write the JSON to a new FILE, up to 10 million characters")
    add("--delay", type=bounded(float, 0, 600), default=1.0, help="seconds between requests to a host (default 1)")
    add("--timeout", type=bounded(float, 0.1, 300), default=20.0, help="seconds for one request (default 20)")
    add("--max-bytes", type=bounded(int, 1, 50_000_000), default=2_000_000, help="most bytes of a page (2000000)")
    add("--user-agent", type=agent_name, default=USER_AGENT, help=f"default {USER_AGENT}")
    add("--allow-private", action="store_true", help="also visit private, loopback and link-local addresses")
    add("--from-file", metavar="FILE", help="read a saved page instead of fetching; - is standard input")
    add("--base-url", default="", help="where the saved page came from, to make its links absolute")
    return parser


def wanted_from(options: argparse.Namespace) -> Wanted:
    sections = options.get or (() if options.select else ("metadata", "text"))
    return Wanted(
        sections=sections,
        within=parse_selector(options.within) if options.within is not None else None,
        select=parse_selector(options.select) if options.select is not None else None,
        limit=100_000 if options.output else options.limit,
        max_chars=(10_000_000 if options.output else options.max_chars) // max(len(options.urls), 1),
        offset=options.offset,
    )


def collect(options: argparse.Namespace, wanted: Wanted) -> tuple[dict[str, Any], int]:
    """All pages and all failures; the code of the first failure."""
    limits = Limits(options.timeout, options.max_bytes, options.delay, options.allow_private, options.user_agent)
    visitor = Visitor(limits)
    jobs: list[tuple[str, Callable[[], dict[str, Any]]]] = []
    if options.from_file is not None:
        jobs.append((options.from_file, lambda: scrape_file(options.from_file, options.base_url, wanted, limits)))
    for url in options.urls:
        jobs.append((url, lambda url=url: scrape_url(url, visitor, wanted, options.timeout)))  # type: ignore[misc]
    pages, errors, code = [], [], OK
    for name, job in jobs:
        try:
            pages.append(job())
        except ScrapeError as error:
            errors.append({"url": name[:2_000], "code": error.code, "message": str(error)})
            print(f"scrape.py: {error}", file=sys.stderr)
            code = code or error.code
    return {"pages": pages, "errors": errors}, code


def emit(result: dict[str, Any], output: str | None) -> int:
    """Print the result, or write it to a file that does not exist yet and print where it went."""
    text = json.dumps(result, ensure_ascii=False, indent=1)
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be written
    if output is None:
        sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
        return OK
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError:
        print(f"scrape.py: {output!r} already exists; choose another --output", file=sys.stderr)
        return UNWRITABLE
    except (OSError, ValueError) as error:
        print(f"scrape.py: cannot write {output!r}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return UNWRITABLE
    print(json.dumps({"written": output, "characters": len(text), "errors": result["errors"]}, ensure_ascii=True))
    return OK


def main() -> int:
    parser = build_parser()
    options = parser.parse_args()
    if bool(options.urls) == bool(options.from_file is not None):
        parser.error("give at least one URL, or --from-file FILE, not both")
    if len(options.urls) > MAX_URLS:
        parser.error(f"{len(options.urls)} URLs given; at most {MAX_URLS} in one run")
    if options.output and os.path.lexists(options.output):
        parser.exit(UNWRITABLE, f"scrape.py: {options.output!r} already exists; choose another --output\n")
    try:
        wanted = wanted_from(options)
    except ScrapeError as error:
        parser.exit(error.code, f"scrape.py: {error}\n")
    result, code = collect(options, wanted)
    return emit(result, options.output) or code


def run() -> NoReturn:
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader left early, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    sys.exit(code)


if __name__ == "__main__":
    run()
