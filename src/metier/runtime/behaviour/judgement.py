"""Judges an observation: findings with proof, and what stays undecided.

A rule asks what happened, and whether the skill's documents say so. "Documented" means that the host, file or mechanism is
named in the Markdown of the skill, or that the step is itself a code block of it. docs/behaviour.md has the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from metier.scan import (
    Confidence,
    Finding,
    HostReputation,
    Purpose,
    ScanReach,
    ScanVerdict,
    host_reputation,
)
from metier.spec import SKILL_FILE, parse
from metier.values import replace

from .canaries import HOME, PROJECT, Canary, CanaryKind
from .canary_search import find_canaries
from .commands import words
from .observation import DeedKind, ObservedRun, SkillObservation
from .report import BehaviourReport, SentSecret
from .sinkhole import SHELL_REPLY, Exchange
from .steps import Step

__all__ = ["judge"]

LOW, MEDIUM, HIGH = Confidence
_, PROJECT_REACH, MACHINE, ACCOUNTS = ScanReach

_SHELL_FILES = (
    ".bashrc",
    ".profile",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".bash_login",
    ".config/fish/config.fish",
)
_JOBS = (".crontab", ".at-job", ".config/systemd/", ".config/autostart/", "Library/LaunchAgents/", ".local/share/systemd/")
_AGENT_FILES = re.compile(
    r"(?:^|/)(?:\.claude/(?:settings[\w.]*\.json|CLAUDE\.md|commands/|agents/|hooks/)|\.claude\.json|\.mcp\.json|CLAUDE\.md"
    r"|AGENTS\.md|GEMINI\.md|\.cursor/(?:mcp\.json|rules)|\.codex/config\.toml|\.gemini/settings\.json|\.cursorrules"
    r"|\.windsurfrules|\.github/copilot-instructions)"
)
_OWN_TOOLS = frozenset(
    words(
        "ssh scp sftp ssh-keygen ssh-add git git-remote-https gpg gpg-agent aws gcloud kubectl docker npm curl wget gh bash sh "
        "dash zsh ls rsync find stat du cp tar"
    )
)
"""Programs that open such files for their own reasons, or that only hand them on: what was read is then judged by what left."""
_PLAIN_LINE = re.compile(
    r"\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*=[^`;&|]*|alias\s+[^;&|]+"
    r"|eval\s+\"?\$\([\w./ -]+(?:init|hook|shellenv|env|completion|activate)[\w ./-]*\)\"?"
    r"|(?:source|\.)\s+\S+|\[ -[fs] .*\] && (?:source|\.) .*|fpath=.*|autoload .*|)\s*"
)
_PACKAGE_COMMANDS = frozenset(
    words("pip pip3 pipx uv uvx npm npx pnpm yarn bun bunx brew apt apt-get cargo go gem conda poetry")
)


_Key = tuple[str, str, str]
"""Code, message and file of a finding."""


def judge(seen: SkillObservation) -> BehaviourReport:
    """Returns what happened, and what it means."""
    judges = [_RunJudge(seen, run) for run in seen.runs]
    found: dict[_Key, Finding] = {}
    where: dict[_Key, set[str]] = {}
    sent = frozenset(one.what for each in judges for one in each.sent_secrets())
    for each in judges:
        for finding in each.findings(sent):
            key = (finding.code, finding.message, finding.file)
            found.setdefault(key, finding)
            where.setdefault(key, set()).add(each.run.name)
    found = _without_echoes(found)
    differences = tuple(_differences(judges))
    hidden = [
        key
        for key, runs in where.items()
        if key in found and len(runs) < len(judges) and found[key].verdict is not ScanVerdict.PASS
    ]
    findings = [*found.values(), *_hidden_deeds([found[key] for key in hidden], [where[key] for key in hidden])]
    programs = _unique(deed.path.rsplit("/", 1)[-1] for each in judges for deed in each.run.of(DeedKind.EXEC))
    return BehaviourReport(
        findings=tuple(sorted(findings, key=lambda finding: finding.order)),
        undecided=tuple(_undecided(seen, judges)),
        steps=len(seen.steps),
        seconds=round(max((run.seconds for run in seen.runs), default=0), 1),
        cpu=round(sum(run.cpu for run in seen.runs), 2),
        hosts=_unique(host for each in judges for host in each.hosts),
        reads=_unique(path for each in judges for path in each.paths(DeedKind.READ)),
        writes=_unique(path for each in judges for path in each.paths(DeedKind.WRITE)),
        programs=programs,
        packages=_unique(name for each in judges for name in each.packages),
        sent=tuple({(one.what, one.host): one for each in judges for one in each.sent_secrets()}.values()),
        slept=int(max((deed.seconds for run in seen.runs for deed in run.of(DeedKind.SLEEP)), default=0)),
        differences=differences,
        finished=frozenset(
            seen.steps[deed.step].file
            for run in seen.runs
            for deed in run.of(DeedKind.ENDED)
            if deed.status == 0 and deed.step >= 0
        ),
    )


def _without_echoes(found: dict[_Key, Finding]) -> dict[_Key, Finding]:
    """Leaves out what a code block did by starting a script, which did the same by itself."""
    by_scripts = {(code, message) for (code, message, _), finding in found.items() if finding.line is None}
    return {key: finding for key, finding in found.items() if finding.line is None or key[:2] not in by_scripts}


class _RunJudge:
    """One run, with the questions that the rules ask about it."""

    def __init__(self, seen: SkillObservation, run: ObservedRun) -> None:
        self.seen = seen
        self.run = run
        self.prose = seen.sources.prose.lower()
        self.text = f"{self.prose}\n{seen.sources.code.lower()}"
        self.purpose = Purpose(name=seen.sources.name.lower(), description=_description(seen).lower())
        self.hosts = _unique(exchange.host for exchange in run.exchanges)
        self.hits = {host: find_canaries(self._payload(host), seen.home.canaries) for host in _groups(run.exchanges)}

    def findings(self, sent: frozenset[str]) -> Iterator[Finding]:
        """`sent` are the secrets that left in any run: that they were read needs no finding."""
        yield from self._sent()
        yield from self._downloads()
        yield from self._shells()
        yield from self._persistence()
        yield from self._agent_files()
        yield from self._destruction()
        yield from self._reads(sent)
        yield from self._itself()

    # Facts.

    @property
    def packages(self) -> tuple[str, ...]:
        stand_ins = [deed.path for deed in self.run.of(DeedKind.PACKAGE)]
        installed = [word for words in self._package_words() for word in words]
        return _unique([*stand_ins, *installed])

    def _package_words(self) -> Iterator[list[str]]:
        for deed in self.run.of(DeedKind.EXEC):
            name = deed.path.rsplit("/", 1)[-1]
            if name in _PACKAGE_COMMANDS and len(deed.words) > 1:
                rest = [word for word in deed.words[1:] if not word.startswith("-")]
                skip = 0 if name in ("npx", "uvx", "bunx") else 2 if rest[:2] == ["pip", "install"] else 1
                yield rest[skip : skip + (1 if not skip else 20)]

    def paths(self, kind: DeedKind) -> Iterator[str]:
        for deed in self.run.of(kind):
            inside = _below_home(deed.path)
            if inside and not inside.startswith((".claude/skills/", PROJECT, ".cache", ".npm")) and (
                kind is DeedKind.WRITE or f"{inside}" in self.seen.home.files
            ):  # fmt: skip
                yield f"~/{inside}"

    def sent_secrets(self) -> Iterator[SentSecret]:
        for host, hits in self.hits.items():
            for hit in hits:
                if self._weight(hit.canary, host) is not None:
                    yield SentSecret(
                        what=_shown(hit.canary), host=host, form=hit.form, run=self.run.name, sample=self._sample(host)
                    )

    def is_documented(self, host: str) -> bool:
        return _names(self.prose, host)

    def reputation(self, host: str) -> HostReputation:
        return host_reputation(host, self.purpose)

    def step_of(self, host: str) -> Step | None:
        """Returns the first step that connected to a host, or resolved it: then the only one is known to be the cause."""
        addresses = {address for address, name in self.run.names.items() if name == host} | {host}
        for deed in self.run.of(DeedKind.CONNECT, DeedKind.SEND):
            if deed.host in addresses and deed.step >= 0:
                return self.seen.steps[deed.step]
        return self.seen.steps[0] if len(self.seen.steps) == 1 else None

    def writer_of(self, path: str) -> Step | None:
        for deed in self.run.of(DeedKind.WRITE, DeedKind.REMOVE):
            if deed.step >= 0 and (deed.path == path or deed.path.startswith(f"{path}/")):
                return self.seen.steps[deed.step]
        return None

    def _payload(self, host: str) -> bytes:
        found = [exchange.sent for exchange in self.run.exchanges if _group(exchange) == host]
        found += [deed.data for deed in self.run.of(DeedKind.DATAGRAM) if (self.run.names.get(deed.host) or deed.host) == host]
        whole = b"\n".join(found)
        own = [exchange for exchange in self.run.exchanges if _group(exchange) == host]
        return b"\n".join((whole, _joined_names(own), _pieces(own)))

    def _sample(self, host: str) -> str:
        exchange = max((one for one in self.run.exchanges if _group(one) == host), key=lambda one: len(one.sent), default=None)
        if exchange is None:
            return f"UDP to {host}"
        first = f"{exchange.method} {exchange.protocol}://{exchange.host}{exchange.path}" if exchange.method else (
            f"{exchange.protocol} {exchange.host}:{exchange.port}"
        )  # fmt: skip
        body = exchange.sent.partition(b"\n\n")[2] if exchange.method else exchange.sent
        tail = body[:60].decode("utf-8", "backslashreplace").replace("\n", "\\n")
        return f"{first[:120]}, {_count(len(exchange.sent), 'byte')}" + (
            f": {tail}" if tail and exchange.protocol != "dns" else ""
        )

    # Rules.

    def _weight(self, canary: Canary, host: str) -> Confidence | None:
        """Returns the confidence that this value has no business at this host; None where it belongs."""
        if any(host == service or host.endswith(f".{service}") for service in canary.services):
            return None
        if canary.kind is CanaryKind.WORK:
            return None
        if canary.kind is CanaryKind.OWN:
            label = re.sub(r"[^a-z0-9]", "", host.rsplit(".", 2)[-2] if "." in host else host)
            words = canary.where.lower().split("_")
            return None if _names(self.text, host) or any(len(word) > 3 and word in label for word in words) else HIGH
        if canary.kind is CanaryKind.VARIABLE and canary.where.lower() in self.prose and self.is_documented(host):
            return MEDIUM
        if canary.kind is CanaryKind.PROJECT and self.is_documented(host) and ".env" in self.prose:
            return MEDIUM
        return HIGH

    def _sent(self) -> Iterator[Finding]:
        for host, hits in self.hits.items():
            weighed = [(hit, weight) for hit in hits if (weight := self._weight(hit.canary, host)) is not None]
            if not weighed:
                continue
            worst = max((weight for _, weight in weighed), key=lambda one: one.rank)
            forms = _unique(hit.form for hit, _ in weighed)
            what = _enumerate(_unique(_shown(hit.canary) for hit, _ in weighed))
            how = f" ({', '.join(forms)})" if forms != ("plain",) else ""
            yield self._finding(
                "SK921", f"sends {what} to {host}{how}", worst, ACCOUNTS, self.step_of(host), self._sample(host)
            )

    def _downloads(self) -> Iterator[Finding]:
        by_number = {str(exchange.number): exchange for exchange in self.run.exchanges if exchange.number}
        for deed in self.run.of(DeedKind.STAGE):
            exchange = by_number.get(deed.path)
            if exchange is None:
                continue
            step = self.seen.steps[deed.step]
            kind = self.reputation(exchange.host)
            weight = HIGH
            if kind in (HostReputation.KNOWN, HostReputation.LOCAL) or exchange.host.endswith(("example.com", "example.org")):
                weight = LOW
            elif (step.is_block or self.is_documented(exchange.host)) and kind is not HostReputation.ANONYMOUS:
                weight = MEDIUM
            proof = f"{exchange.method} {exchange.protocol}://{exchange.host}{exchange.path}, and the answer was run"
            yield self._finding("SK922", f"runs what {exchange.host} sends", weight, MACHINE, step, proof)

    def _shells(self) -> Iterator[Finding]:
        for exchange in self.run.exchanges:
            if exchange.protocol in ("tcp", "tls") and SHELL_REPLY in exchange.sent:
                proof = f"{exchange.host}:{exchange.port} sent a command and got its output"
                step = self.step_of(exchange.host)
                yield self._finding("SK923", f"gives {exchange.host}:{exchange.port} a shell", HIGH, MACHINE, step, proof)
            if b"mining.subscribe" in exchange.sent or b"mining.authorize" in exchange.sent:
                proof = exchange.sent[:80].decode("utf-8", "replace")
                yield self._finding(
                    "SK542", f"joins the mining pool {exchange.host}", HIGH, MACHINE, self.step_of(exchange.host), proof
                )

    def _persistence(self) -> Iterator[Finding]:
        for deed in self.run.of(DeedKind.CHANGED, DeedKind.NEW):
            inside = _below_home(deed.path)
            step = self.writer_of(deed.path)
            proof = deed.data.decode("utf-8", "replace").strip().partition("\n")[0][:160]
            if inside == ".ssh/authorized_keys":
                yield self._finding("SK924", "adds a key that may log in", HIGH, MACHINE, step, proof)
            elif inside in _SHELL_FILES:
                plain = all(_PLAIN_LINE.fullmatch(line) for line in deed.data.decode("utf-8", "replace").splitlines())
                weight = LOW if plain else self._disclosed(step, inside.rsplit("/", 1)[-1])
                yield self._finding("SK924", f"adds commands to ~/{inside}", weight, MACHINE, step, proof)
            elif inside.startswith(_JOBS):
                weight = self._disclosed(step, "cron", "systemd", "launchd", "autostart", "schedul", "startup")
                yield self._finding("SK924", f"installs a job that stays: ~/{inside}", weight, MACHINE, step, proof)
            elif "/hooks/" in inside and ".git/" in inside and not inside.endswith(".sample"):
                weight = self._disclosed(step, "hook")
                yield self._finding("SK924", f"installs a git hook: ~/{inside}", weight, MACHINE, step, proof)

    def _agent_files(self) -> Iterator[Finding]:
        for deed in self.run.of(DeedKind.CHANGED, DeedKind.NEW):
            inside = _below_home(deed.path)
            if not _AGENT_FILES.search(f"/{inside}") or inside.startswith(".claude/skills/"):
                continue
            name = inside.rsplit("/", 1)[-1]
            step = self.writer_of(deed.path)
            weight = self._disclosed(step, name.lower())
            is_project = inside.startswith(PROJECT)
            proof = deed.data.decode("utf-8", "replace").strip().partition("\n")[0][:160]
            if is_project and weight is not HIGH:
                weight = LOW
            yield self._finding("SK928", f"changes the agent's ~/{inside}", weight, MACHINE, step, proof)

    def _destruction(self) -> Iterator[Finding]:
        gone = [deed for deed in self.run.of(DeedKind.GONE) if _below_home(deed.path)]
        outside = [deed for deed in gone if not _below_home(deed.path).startswith(PROJECT)]
        if outside:
            step = self.writer_of(outside[0].path)
            weight = MEDIUM if step and step.is_block and len(outside) < 3 else HIGH
            names = _enumerate(_unique(f"~/{_below_home(deed.path)}" for deed in outside))
            yield self._finding("SK925", f"deletes {names}", weight, MACHINE, step, f"{_count(len(outside), 'file')} gone")
        elif len(gone) > 5:
            step = self.writer_of(gone[0].path)
            yield self._finding(
                "SK925", f"deletes {_count(len(gone), 'file')} of the project", HIGH, PROJECT_REACH, step, gone[0].path
            )
        documents = ("Documents/", "Mail/", f"{PROJECT}/")
        changed = [
            deed for deed in self.run.of(DeedKind.CHANGED) if _below_home(deed.path).startswith(documents)
            and self.seen.home.files.get(_below_home(deed.path), b"") and not _AGENT_FILES.search(deed.path)
            and deed.data[:20] not in self.seen.home.files[_below_home(deed.path)][:20] and b"Documents" in deed.path.encode()
        ]  # fmt: skip
        if changed:
            step = self.writer_of(changed[0].path)
            names = _enumerate(_unique(f"~/{_below_home(deed.path)}" for deed in changed))
            yield self._finding(
                "SK925", f"overwrites {names}", HIGH, MACHINE, step, changed[0].data[:60].decode("utf-8", "replace")
            )

    def _reads(self, sent: frozenset[str]) -> Iterator[Finding]:
        by_path = {canary.where: canary for canary in self.seen.home.canaries}
        read: dict[int, list[Canary]] = {}
        for deed in self.run.of(DeedKind.READ):
            canary = by_path.get(_below_home(deed.path))
            if (
                canary
                and canary.is_sensitive
                and not canary.where.startswith(PROJECT)
                and deed.by not in _OWN_TOOLS
                and deed.step >= 0
            ):
                read.setdefault(deed.step, []).append(canary)
        found_hosts = {host for host, hits in self.hits.items() if any(self._weight(hit.canary, host) for hit in hits)}
        for number, canaries in read.items():
            step = self.seen.steps[number]
            names = _enumerate(_unique(_shown(canary) for canary in canaries))
            targets = [
                host
                for host in self._targets(number)
                if not self.is_documented(host)
                and host not in found_hosts
                and any(self._weight(each, host) for each in canaries)
            ]
            unreadable = [host for host in targets if self._bytes_to(host) >= 16]
            if unreadable and not found_hosts:
                message = f"reads {names} and sends bytes that cannot be read to {unreadable[0]}"
                yield self._finding("SK927", message, HIGH, ACCOUNTS, step, self._sample(unreadable[0]))
                continue
            canaries = [canary for canary in canaries if _shown(canary) not in sent]
            if not canaries:
                continue
            names = _enumerate(_unique(map(_shown, canaries)))
            undisclosed = [canary for canary in canaries if canary.where.rsplit("/", 1)[-1].lower() not in self.prose]
            is_plain = step.is_block or all(canary.where == ".netrc" for canary in undisclosed)
            weight = LOW if is_plain else MEDIUM
            yield self._finding("SK926", f"reads {names}", weight, ACCOUNTS, step, f"opened by {step.name}"[:120])

    def _itself(self) -> Iterator[Finding]:
        for deed in self.run.of(DeedKind.OWN):
            step = self.writer_of(f"{HOME}/.claude/skills/{self.seen.sources.name}/{deed.path}")
            if deed.path.endswith((".md", ".py", ".sh", ".js", ".mjs")):
                yield self._finding("SK929", f"changes its own {deed.path}", MEDIUM, MACHINE, step, deed.path)
        for deed in self.run.of(DeedKind.SIGNAL):
            step = self.seen.steps[deed.step]
            yield self._finding("SK931", "tries to end the process that observes it", MEDIUM, MACHINE, step, "kill")

    def _disclosed(self, step: Step | None, *names: str) -> Confidence:
        return MEDIUM if (step and step.is_block) or any(name in self.prose for name in names) else HIGH

    def _targets(self, step: int) -> tuple[str, ...]:
        return _unique(
            self.run.names.get(deed.host, deed.host)
            for deed in self.run.of(DeedKind.CONNECT, DeedKind.SEND)
            if deed.step == step
        )

    def _bytes_to(self, host: str) -> int:
        """Returns the bytes that only the skill can have chosen: bodies, and what is sent without HTTP."""
        total = sum(
            len(deed.data) for deed in self.run.of(DeedKind.DATAGRAM) if self.run.names.get(deed.host, deed.host) == host
        )
        for exchange in self.run.exchanges:
            if exchange.host == host and exchange.protocol != "dns":
                chosen = exchange.sent.partition(b"\n\n")[2] if exchange.method else exchange.sent
                query = exchange.path.partition("?")[2]
                total += len(chosen) + (len(query) if len(query) > 40 else 0)
        return total

    def _finding(
        self, code: str, message: str, confidence: Confidence, reach: ScanReach, step: Step | None, proof: str
    ) -> Finding:
        if step and step.is_block and self.purpose.is_security and confidence is HIGH:
            confidence = MEDIUM  # a page about attacks shows them
        return Finding(
            code=code, message=message, confidence=confidence, reach=reach, file=step.file if step else "SKILL.md",
            line=step.line if step else None, excerpt=" ".join(proof.split())[:200],
        )  # fmt: skip


def _description(seen: SkillObservation) -> str:
    parsed = parse(seen.sources.documents.get(SKILL_FILE, "").encode())
    return parsed.manifest.description if parsed.manifest else ""


def _hidden_deeds(findings: Sequence[Finding], runs: Sequence[set[str]]) -> Iterator[Finding]:
    """Reports deeds of one run only: they depend on the clock, a terminal, a debugger or the marks of a build server."""
    severe = [(finding, names) for finding, names in zip(findings, runs, strict=True) if finding.verdict is ScanVerdict.BLOCK]
    if not severe:
        return
    finding, names = severe[0]
    if "desktop" in names:
        when = "only at a terminal, without a build server and a debugger"
    else:
        when = "only at a later date or on a build server"
    yield replace(finding, code="SK930", message=f"{finding.message}, {when}", confidence=MEDIUM, reach=MACHINE)


def _differences(judges: Sequence[_RunJudge]) -> Iterator[str]:
    if len(judges) < 2:
        return
    for kind, name in (("hosts", "connects to"), ("paths", "writes")):
        sets = [set(each.hosts) if kind == "hosts" else set(each.paths(DeedKind.WRITE)) for each in judges]
        for number, each in enumerate(judges):
            only = sets[number] - sets[1 - number]
            if only:
                yield f"{name} {_enumerate(tuple(sorted(only)))} only in the run {each.run.name!r}"


def _undecided(seen: SkillObservation, judges: Sequence[_RunJudge]) -> Iterator[str]:
    answered = _unique(exchange.host for run in seen.runs for exchange in run.exchanges if exchange.method)
    if answered:
        yield f"the answers of {_enumerate(answered)} were made up"
    refused = _unique(
        exchange.host for run in seen.runs for exchange in run.exchanges if exchange.protocol == "tls" and not exchange.sent
    )
    if refused:
        yield f"{_enumerate(refused)} could not be answered: the certificate was not accepted"
    packages = _unique(name for each in judges for name in each.packages)
    if packages:
        yield f"packages that are not installed: {_enumerate(packages)}"
    clones = [
        deed for run in seen.runs for deed in run.of(DeedKind.EXEC) if "clone" in deed.words[:4] and deed.path.endswith("/git")
    ]
    if clones:
        yield "it clones repositories, whose content is not known"
    if seen.missing:
        yield f"no interpreter here for {', '.join(seen.missing)}"
    if seen.sources.not_run:
        yield f"not run: {_enumerate(seen.sources.not_run)}"
    late = _unique(
        seen.steps[deed.step].name for run in seen.runs for deed in run.deeds if deed.note == "time" and deed.step >= 0
    )
    if late:
        yield f"out of time: {_enumerate(late, 3)}"
    if not all(run.is_complete for run in seen.runs):
        yield "the record of a run ended early"
    ended: dict[str, list[bool]] = {}
    for run in seen.runs:
        for deed in run.of(DeedKind.ENDED):
            if deed.step >= 0 and not seen.steps[deed.step].is_block:
                ended.setdefault(seen.steps[deed.step].file, []).append(deed.status == 0)
    failed = tuple(path for path, ends in ended.items() if not any(ends))
    if failed:
        yield f"ended with an error whatever the arguments: {_enumerate(failed, 3)}"


def _group(exchange: Exchange) -> str:
    """Names below one domain that are only resolved are one receiver: a tunnel through name queries uses many."""
    if exchange.protocol == "dns" and exchange.host.count(".") > 1:
        return ".".join(exchange.host.split(".")[-2:])
    return exchange.host


def _groups(exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    return _unique(_group(exchange) for exchange in exchanges)


def _joined_names(exchanges: Sequence[Exchange]) -> bytes:
    """Joins names that were only resolved, in their order, without the labels that all of them end with."""
    names = [exchange.host.split(".") for exchange in exchanges if exchange.protocol == "dns"]
    while len(names) > 1 and all(len(labels) > 1 for labels in names) and len({labels[-1] for labels in names}) == 1:
        names = [labels[:-1] for labels in names]
    return "".join("".join(labels) for labels in names).encode("latin-1", "replace") if len(names) > 1 else b""


def _pieces(exchanges: Sequence[Exchange]) -> bytes:
    """Joins the values of several requests in their order: of the last part of the path, of the query, and of the bodies."""
    if len(exchanges) < 2:
        return b""
    paths = "".join(exchange.path.partition("?")[0].rsplit("/", 1)[-1] for exchange in exchanges)
    queries = "".join(re.split(r"[=&]", exchange.path.partition("?")[2])[-1] for exchange in exchanges)
    bodies = b"".join(exchange.sent.partition(b"\n\n")[2] for exchange in exchanges)
    return b"\n".join((paths.encode("latin-1", "replace"), queries.encode("latin-1", "replace"), bodies))


def _names(text: str, host: str) -> bool:
    """Returns True if the text names the host, or the domain that it belongs to."""
    if host in text:
        return True
    parts = host.split(".")
    return len(parts) > 2 and not parts[-1].isdigit() and ".".join(parts[-2:]) in text


def _below_home(path: str) -> str:
    return path.removeprefix(f"{HOME}/") if path.startswith(f"{HOME}/") else ""


def _shown(canary: Canary) -> str:
    return canary.where if canary.kind in (CanaryKind.VARIABLE, CanaryKind.OWN) else f"~/{canary.where}"


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _enumerate(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
