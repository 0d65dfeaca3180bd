"""Shell that downloads and runs: a pipe into an interpreter, a substitution, or a file that a later line starts."""

from __future__ import annotations

import re
from itertools import islice, pairwise

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, download_risk, reputation_of, urls_in
from metier.scan.expressions import text_pattern
from metier.scan.patterns import words
from metier.scan.readers.shell import Pipeline, ShellCommand
from metier.scan.readers.shell_flow import base_name
from metier.scan.scale import Confidence
from metier.scan.text import SkillText
from metier.values import dataclass, field

__all__ = ["FETCHERS", "INTERPRETERS", "DownloadedFiles", "judge_pipe", "judge_powershell"]

FETCHERS = words("curl wget aria2c fetch http https xh iwr irm invoke-webrequest invoke-restmethod")
INTERPRETERS = words(
    "sh bash zsh dash ksh fish ash python python2 python3 node perl ruby php osascript pwsh powershell deno bun iex"
)
_MOST_WORDS, _MOST_ADDRESSES = 400, 20
_SOURCES = frozenset(("source", ".", "eval", "exec"))
_STARTERS = words("chmod open installer start msiexec dpkg rpm hdiutil")
_DECODES = text_pattern(
    r"^(?:base64 .*(?:-d|-D|--decode)|openssl (?:enc|base64) .*-d|xxd .*-r|uudecode|base32 .*-d|certutil .*-decode)"
)
_PACKAGE_RUNNERS = words("npx bunx uvx pipx")
_MACHINES = words("ssh nc ncat telnet socat")
_SHUFFLES = text_pattern(r"^(?:tr ['\"]?[\[]?[a-zA-Z]-[a-zA-Z]\S* \S|rev$)")
_HIDDEN = text_pattern(r"^(?:/tmp/|/var/tmp/|/dev/shm/|\$\{?te?mp)|(?:^|/)\.[a-z0-9]", re.IGNORECASE)


_POWERSHELL_FETCHES = text_pattern(
    r"\b(?:irm|iwr|invoke-webrequest|invoke-restmethod|curl) |webclient|downloadstring|downloadfile"
)


@dataclass(slots=True)
class DownloadedFiles:
    """Files that earlier lines downloaded, by name, with their URLs and paths."""

    files: dict[str, tuple[Url, str]] = field(default_factory=dict)
    folders: dict[str, Url] = field(default_factory=dict)
    """Folders where piped archives were unpacked."""
    locked: set[str] = field(default_factory=set)
    """Folders where archives with a password were unpacked."""

    def judge_pipeline(self, pipeline: Pipeline) -> None:
        """Notes the folder of `curl ... | tar xz -C folder`."""
        urls = [url for command in pipeline if command.name in FETCHERS for url in urls_in(command.everything())]
        for command in pipeline if urls else ():
            folder = _unpacked_to(command)
            if command.name in ("tar", "unzip", "bsdtar") and folder:
                self.folders[folder] = urls[0]

    def judge(self, command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
        if command.name.lower() in FETCHERS:
            for url in islice(urls_in(" ".join(command.words[:_MOST_WORDS])), _MOST_ADDRESSES):
                self._note(command, url)
                if reputation_of(url, collector.purpose) is HostReputation.ANONYMOUS and not url.is_placeholder:
                    collector.flag("SK506", f"contacts {url.host}", text=text, at=command.at)
            return
        if command.name in _PACKAGE_RUNNERS:
            package = next((word for word in command.arguments if not word.startswith("-") and word != "run"), "")
            for url in urls_in(package):
                if reputation_of(url, collector.purpose) in (HostReputation.UNKNOWN, HostReputation.ANONYMOUS):
                    message = f"{command.name} runs code from {url.host}"
                    collector.flag("SK501", message, text=text, at=command.at, confidence=_confidence_for(url, text, collector))
        if command.name in ("unzip", "7z", "7za") and any(re.match(r"-[pP]", word) for word in command.arguments):
            collector.flag("SK705", "opens an archive with a password", text=text, at=command.at)
            self.locked.add(_unpacked_to(command) or ".")
        elif any(folder and word.startswith(f"{folder}/") for folder in self.locked for word in command.words[:2]):
            message = "runs a file from an archive with a password"
            collector.flag("SK502", message, text=text, at=command.at, confidence=Confidence.HIGH)
        found = self._run_by(command)
        if found is not None:
            url, path = found
            collector.flag("SK502", f"runs a file downloaded from {url.host}", text=text, at=command.at,
                       confidence=_file_confidence(url, path, collector))  # fmt: skip

    def _note(self, command: ShellCommand, url: Url) -> None:
        arguments = command.arguments[:_MOST_WORDS]
        name = ""
        for flag, value in pairwise(arguments):
            if re.fullmatch(r"-\w*[oO]|--output|--output-document|-OutFile", flag) and not value.startswith(("-", "http")):
                name = value
        name = name or next((target for operator, target in command.redirects if operator in (">", ">|")), "")
        if not name and (command.name == "wget" or any(re.fullmatch(r"-\w*O\w*|--remote-name", word) for word in arguments)):
            name = url.path.partition("?")[0].rpartition("/")[2]
        if name and name not in ("-", "/dev/null") and len(self.files) < 200:
            self.files[base_name(name)] = (url, name)

    def _run_by(self, command: ShellCommand) -> tuple[Url, str] | None:
        """Returns the URL and path of the downloaded file that a command runs."""
        if not command.words or not (self.files or self.folders):
            return None
        for folder, url in self.folders.items():
            if command.words[0].startswith(f"{folder}/"):
                return url, command.words[0]
        if command.words[0].startswith(("./", "/", "~", "$")) and base_name(command.words[0]) in self.files:
            return self.files[base_name(command.words[0])]
        name = command.name
        plain = [word for word in command.arguments if not word.startswith("-")]
        if name == "chmod":
            makes_program = plain and ("x" in plain[0] or plain[0].startswith("7"))
            return next(
                (self.files[base_name(word)] for word in plain[1:] if makes_program and base_name(word) in self.files), None
            )
        if name in INTERPRETERS or name in _SOURCES or name in _STARTERS:
            return self.files.get(base_name(plain[0])) if plain else None
        return None


def _unpacked_to(command: ShellCommand) -> str:
    return next((to.rstrip("/") for flag, to in pairwise(command.arguments) if flag in ("-C", "-d", "--directory")), "")


def _file_confidence(url: Url, path: str, collector: FindingCollector) -> Confidence:
    """Returns the confidence for a file. It can be inspected before it runs, so an unknown host alone is not enough."""
    kind = reputation_of(url, collector.purpose)
    if kind is HostReputation.ANONYMOUS or (kind is HostReputation.UNKNOWN and _HIDDEN.search(path)):
        return Confidence.HIGH
    return Confidence.MEDIUM if kind in (HostReputation.UNKNOWN, HostReputation.SHARED) else Confidence.LOW


def judge_powershell(text: SkillText, collector: FindingCollector) -> None:
    """Flags `iex (irm https://...)` and its variants. `irm ... | iex` is a pipeline like any other."""
    for found in islice(re.finditer(r"\b(?:iex|invoke-expression|start-process|invoke-item)\b", text.low), 200):
        spelled = text.text[max(0, found.start() - 200) : found.start() + 300]
        url = next(urls_in(spelled), None)
        if url is not None and _POWERSHELL_FETCHES.search(spelled.lower()):
            confidence = _confidence_for(url, text, collector)
            collector.flag("SK501", f"runs code from {url.host}", text=text, at=found.start(), confidence=confidence)


def judge_pipe(pipeline: Pipeline, text: SkillText, collector: FindingCollector) -> None:
    fetched = decoded = shuffled = None
    for command in pipeline:
        if _takes_stdin(command):
            if decoded is not None:
                collector.flag("SK701", f"decodes data and passes it to {command.name}", text=text, at=decoded.at)
            if fetched is not None:
                _fetch_and_run(fetched, command.name, text, collector)
            if shuffled is not None:
                collector.flag("SK701", f"transposes letters and passes them to {command.name}", text=text, at=shuffled.at)
        is_line = command.name in _MACHINES or command.words[:2] == ["openssl", "s_client"]
        if (command.name.lower() in FETCHERS or is_line) and command.words:
            fetched = command
        fetched = next((one for lower in command.inner for one in lower if one.name in FETCHERS), fetched)
        if _SHUFFLES.match(" ".join(command.words)) and not re.search(r"A-Z|\[:", command.words[-1]):
            shuffled = command
        if _DECODES.match(" ".join(command.words)):
            decoded = command
        if command.name in INTERPRETERS or command.name in _SOURCES:
            for inner in (one for lower in command.inner for one in lower):
                if inner.name in FETCHERS:
                    _fetch_and_run(inner, command.name, text, collector, at=command.at)
                elif _DECODES.match(" ".join(inner.words)):
                    collector.flag("SK701", f"decodes data and passes it to {command.name}", text=text, at=command.at)
        for lower in command.inner:
            judge_pipe(lower, text, collector)


def _takes_stdin(command: ShellCommand) -> bool:
    """Returns True if an interpreter runs its standard input, rather than a file or a one-liner."""
    if command.name not in INTERPRETERS:
        return False
    if command.name in ("sh", "bash", "zsh", "dash", "ksh", "ash") and "-s" in command.arguments:
        return True
    return all(
        word.startswith("-") and word not in ("-c", "-e", "-m", "-n", "-ne", "-pe", "-p", "-lc", "-V", "--version", "-r")
        for word in command.arguments[:1]
    ) and not any(word in ("-c", "-e", "-m") for word in command.arguments)


def _fetch_and_run(
    fetch: ShellCommand, shell: str, text: SkillText, collector: FindingCollector, at: int | None = None
) -> None:
    urls = list(urls_in(fetch.everything()))
    where = fetch.at if at is None else at
    if not urls:
        bare = next((word for word in fetch.arguments if re.fullmatch(r"[\w-]+(?:\.[\w-]+)+(?:/\S*)?", word)), "")
        urls = list(urls_in(f"http://{bare}")) if bare else []
    if not urls:
        machine = re.search(r"(?:^|[\s@])(\d{1,3}(?:\.\d{1,3}){3})(?![\w.])", " ".join(fetch.arguments))
        urls = list(urls_in(f"http://{machine[1]}")) if machine else []
    if not urls:
        collector.flag("SK501", f"passes a download to {shell}", text=text, at=where, confidence=Confidence.MEDIUM)
        return
    confidence = _confidence_for(urls[0], text, collector)
    collector.flag("SK501", f"passes a download from {urls[0].host} to {shell}", text=text, at=where, confidence=confidence)


def _confidence_for(url: Url, text: SkillText, collector: FindingCollector) -> Confidence:
    confidence = download_risk(url, collector.purpose)
    is_sample = (
        url.is_placeholder and text.is_in_document and reputation_of(url, collector.purpose) is not HostReputation.ANONYMOUS
    )
    return confidence.lowered() if is_sample else confidence
