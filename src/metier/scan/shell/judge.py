"""Shell that fetches and runs, shell that reads and sends: rules over whole pipelines and the lines that follow them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, pairwise

from metier.scan.known.hosts import Standing, Url, standing, urls_in
from metier.scan.notes import Notes
from metier.scan.scale import Confidence
from metier.scan.subject import NETWORK
from metier.scan.text import Kind, Text, words

from .commands import judge_command, walk
from .reader import Command, Pipeline, is_too_long, pipelines
from .steps import base_name, note_steps

__all__ = ["FETCHERS", "INTERPRETERS", "judge_shell"]

FETCHERS = words("curl wget aria2c fetch http https xh iwr irm invoke-webrequest invoke-restmethod")
INTERPRETERS = words(
    "sh bash zsh dash ksh fish ash python python2 python3 node perl ruby php osascript pwsh powershell deno bun iex"
)
_SOURCES = frozenset(("source", ".", "eval", "exec"))
_DECODES = re.compile(
    r"^(?:base64 .*(?:-d|-D|--decode)|openssl (?:enc|base64) .*-d|xxd .*-r|gunzip|zcat|gzip .*-d|uudecode|base32 .*-d|rev$|tr )"
)
_PROGRAM = re.compile(r"[a-z][a-z0-9_.+-]{1,30}")
_DATA_OPTIONS = words("-F --form -d --data --data-binary --data-raw --data-urlencode")
_BUILTINS = words(
    "echo cd export set local return exit shift read printf test true false pwd source eval trap wait "
    "declare readonly unset "
    "break continue alias type let"
)
_COMMON = words(
    "git npm npx pnpm yarn bun node deno pip pip3 uv uvx python python3 docker docker-compose podman kubectl "
    "helm terraform aws gcloud az "
    "gh curl wget ssh scp rsync make cmake cargo go rustc java mvn gradle ffmpeg pandoc convert magick jq "
    "yq sed awk grep rg find tar "
    "zip unzip openssl gpg brew apt apt-get yum dnf apk systemctl crontab psql mysql sqlite3 redis-cli "
    "mongosh playwright pytest ruff "
    "claude codex gemini ollama vercel netlify wrangler flyctl heroku supabase stripe osascript open "
    "powershell pwsh nmap nc"
)


@dataclass(slots=True)
class _Downloads:
    """Files that earlier lines fetched, by name."""

    files: dict[str, Url] = field(default_factory=dict)

    def note(self, command: Command, url: Url) -> None:
        words = command.arguments
        name = ""
        for index, word in enumerate(words):
            if (
                word in ("-o", "-O", "--output", "--output-document")
                and index + 1 < len(words)
                and not words[index + 1].startswith(("-", "http"))
            ):
                name = words[index + 1]
        name = name or next((target for operator, target in command.redirects if operator in (">", ">|")), "")
        if not name and (command.name == "wget" or any(re.fullmatch(r"-\w*O\w*|--remote-name", word) for word in words)):
            name = url.path.partition("?")[0].rpartition("/")[2]
        if name and name not in ("-", "/dev/null") and len(self.files) < 200:
            self.files[base_name(name)] = url

    def run_by(self, command: Command) -> Url | None:
        """The address of a fetched file that this command runs."""
        if not self.files:
            return None
        name = command.name
        if command.words and command.words[0].startswith(("./", "/", "~", "$")) and base_name(command.words[0]) in self.files:
            return self.files[base_name(command.words[0])]
        runs = (
            name in INTERPRETERS
            or name in _SOURCES
            or name in ("chmod", "open", "installer", "start", "msiexec", "dpkg", "rpm", "hdiutil")
        )
        if runs and (name != "chmod" or any("x" in word or word.startswith("7") for word in command.arguments[:1])):
            script = next(
                (word for word in command.arguments if not word.startswith("-") and not (name == "chmod" and "x" in word)), ""
            )
            return next(
                (
                    self.files[base_name(word)]
                    for word in (script, *command.arguments[1:2])
                    if base_name(word) in self.files and (word == script or name == "chmod")
                ),
                None,
            )
        return None


def judge_shell(text: Text, notes: Notes, *, own: str, purpose: str, inner: Callable[[Text], None]) -> None:
    """All that shell text has to say. Code that an interpreter is handed in an argument goes to `inner`."""
    if is_too_long(text.text):
        notes.add("SK902", "the script is too long to follow to its end", file=text.path, line=text.first)
    downloads = _Downloads()
    _powershell(text, notes, own)
    for pipeline in pipelines(text.text):
        _pipe_to_shell(pipeline, text, notes, own)
        for command in walk(pipeline):
            judge_command(command, pipeline, text, notes, purpose)
            _capabilities(command, text, notes)
            _fetched(command, downloads, text, notes, own)
            _handed_code(command, text, inner)
            if command.name in ("curl", "wget"):
                _uploads(command, text, notes, own, purpose)
        note_steps(pipeline, text, notes, own, purpose)
    _locks_files(text, notes)


def _locks_files(text: Text, notes: Notes) -> None:
    """Encrypts in a loop and deletes what it encrypted."""
    low = text.low
    for found in islice(
        re.finditer(r"\b(?:openssl enc -|gpg (?:--batch |--yes |-\w+ ){0,6}(?:-c|--symmetric)|7z a -p)", low), 50
    ):
        near = low[max(0, found.start() - 300) : found.end() + 300]
        if re.search(r"\b(?:for|while|find|xargs)\b", near) and re.search(
            r"\b(?:rm|shred|unlink)\b|-sdel", near[min(300, found.start()) :]
        ):
            notes.find("SK532", "encrypts files one after another and deletes them", text=text, at=found.start())


def _uploads(command: Command, text: Text, notes: Notes, own: str, purpose: str) -> None:
    """A file goes to a host that the skill's name and description do not speak of."""
    words = command.arguments
    is_file = any(re.fullmatch(r"-T\S*|--upload-file\S*|--post-file\S*", word) for word in words) or any(
        flag in _DATA_OPTIONS and re.match(r"(?:[\w\[\]-]{1,40}=)?@[^\s@-]", value) for flag, value in pairwise(words)
    )
    target = next((word for word in words if re.match(r"https?://", word)), "")
    for url in urls_in(target) if is_file else ():
        kind = standing(url, own)
        if kind in (Standing.PLAIN, Standing.LOOSE, Standing.SHARED) and not url.is_placeholder and url.label not in purpose:
            is_grave = kind is Standing.LOOSE or url.is_plain_http or not NETWORK.search(purpose)
            is_told = not text.is_shown or re.search(r"upload|backup|collect|log|sync|mirror|save", url.text.lower())
            sure = Confidence.HIGH if is_grave else Confidence.MEDIUM if is_told else Confidence.LOW
            notes.find("SK615", f"sends a file to {url.host}", text=text, at=command.at, confidence=sure)


def _powershell(text: Text, notes: Notes, own: str) -> None:
    """`iex (irm https://...)` and its many spellings; the pipe `irm ... | iex` is a pipeline like any other."""
    for found in islice(re.finditer(r"\b(?:iex|invoke-expression)\b", text.low), 200):
        spelled = text.text[found.start() : found.start() + 300].partition("\n")[0]
        url = next(urls_in(spelled), None)
        if url is not None and re.search(r"irm |iwr |invoke-(?:web|rest)|webclient|downloadstring|curl ", spelled.lower()):
            notes.find(
                "SK501", f"runs what {url.host} answers", text=text, at=found.start(), confidence=_sure_of(url, own, text)
            )


def _pipe_to_shell(pipeline: Pipeline, text: Text, notes: Notes, own: str) -> None:
    fetched = decoded = None
    for command in pipeline:
        if _takes_stdin(command):
            if decoded is not None:
                notes.find("SK701", f"decodes something and hands it to {command.name}", text=text, at=decoded.at)
            if fetched is not None:
                _fetch_and_run(fetched, command.name, text, notes, own)
        if command.name.lower() in FETCHERS and command.words:
            fetched = command
        if _DECODES.match(" ".join(command.words)) and command.name not in ("tr", "rev", "gunzip", "zcat", "gzip"):
            decoded = command
        if command.name in INTERPRETERS or command.name in _SOURCES:
            for inner in (one for lower in command.inner for one in lower):
                if inner.name in FETCHERS:
                    _fetch_and_run(inner, command.name, text, notes, own, at=command.at)
                elif _DECODES.match(" ".join(inner.words)) and inner.name in ("base64", "openssl", "xxd", "base32"):
                    notes.find("SK701", f"decodes something and hands it to {command.name}", text=text, at=command.at)
        for lower in command.inner:
            _pipe_to_shell(lower, text, notes, own)


def _takes_stdin(command: Command) -> bool:
    """An interpreter that will run what comes through the pipe, rather than a file or a one-liner that reads it."""
    if command.name not in INTERPRETERS:
        return False
    if command.name in ("sh", "bash", "zsh", "dash", "ksh", "ash") and "-s" in command.arguments:
        return True
    return all(
        word.startswith("-") and word not in ("-c", "-e", "-m", "-n", "-ne", "-pe", "-p", "-lc", "-V", "--version", "-r")
        for word in command.arguments[:1]
    ) and not any(word in ("-c", "-e", "-m") for word in command.arguments)


def _fetch_and_run(fetch: Command, shell: str, text: Text, notes: Notes, own: str, at: int | None = None) -> None:
    urls = list(urls_in(fetch.everything()))
    where = fetch.at if at is None else at
    if not urls:
        bare = next((word for word in fetch.arguments if re.fullmatch(r"[\w-]+(?:\.[\w-]+)+(?:/\S*)?", word)), "")
        urls = list(urls_in(f"http://{bare}")) if bare else []
    if not urls:
        notes.find("SK501", f"hands a download to {shell}", text=text, at=where, confidence=Confidence.MEDIUM)
        return
    notes.find(
        "SK501", f"hands what {urls[0].host} answers to {shell}", text=text, at=where, confidence=_sure_of(urls[0], own, text)
    )


def _sure_of(url: Url, own: str, text: Text) -> Confidence:
    """How bad it is to run what an address answers."""
    kind = standing(url, own)
    sure = {
        Standing.KNOWN: Confidence.LOW,
        Standing.LOCAL: Confidence.LOW,
        Standing.OWN: Confidence.MEDIUM,
        Standing.SHARED: Confidence.MEDIUM,
        Standing.PLAIN: Confidence.HIGH,
        Standing.LOOSE: Confidence.HIGH,
    }[kind]
    return sure.lowered() if url.is_placeholder and text.is_shown and kind is not Standing.LOOSE else sure


def _fetched(command: Command, downloads: _Downloads, text: Text, notes: Notes, own: str) -> None:
    if command.name in FETCHERS:
        for url in urls_in(" ".join(command.words)):
            downloads.note(command, url)
            if standing(url, own) is Standing.LOOSE and not url.is_placeholder:
                notes.find("SK506", f"talks to {url.host}", text=text, at=command.at)
        return
    url_run = downloads.run_by(command)
    if url_run is not None:
        kind = standing(url_run, own)
        sure = {Standing.LOOSE: Confidence.HIGH, Standing.PLAIN: Confidence.MEDIUM, Standing.SHARED: Confidence.MEDIUM}.get(
            kind, Confidence.LOW
        )
        notes.find("SK502", f"runs what it downloaded from {url_run.host}", text=text, at=command.at, confidence=sure)


def _handed_code(command: Command, text: Text, inner: Callable[[Text], None]) -> None:
    """`python -c '...'`, `bash -c '...'`, and here-documents for an interpreter."""
    kind = (
        Kind.PYTHON
        if command.name.startswith("python")
        else Kind.JAVASCRIPT
        if command.name in ("node", "bun", "deno")
        else Kind.SHELL
    )
    if command.name not in INTERPRETERS or command.name in ("osascript", "php", "ruby", "perl"):
        return
    line, column = text.place(command.at)
    for flag, code in zip(command.arguments, command.arguments[1:], strict=False):
        if flag in ("-c", "-e", "-lc", "-ic") and len(code) > 3:
            inner(
                Text(text.path, kind, code, first=line, column=column, via=text.via, is_shown=text.is_shown, around=text.around)
            )
    if command.body:
        inner(Text(text.path, kind, command.body, first=line + 1, via=text.via, is_shown=text.is_shown, around=text.around))


def _capabilities(command: Command, text: Text, notes: Notes) -> None:
    name = command.name
    if name in _COMMON or (not text.is_shown and _PROGRAM.fullmatch(name) and name not in _BUILTINS):
        notes.use("processes", name)
    if "://" in command.everything() and name not in ("echo", "printf"):
        for url in urls_in(command.everything()):
            if not url.is_placeholder:
                notes.use("network", url.host)
