"""Single shell commands: persistence, privilege, destruction, secrets. `downloads` judges what is fetched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import is_unknown_host, urls_in
from metier.scan.data.secrets import SECRET_COMMANDS, secret_place
from metier.scan.expressions import text_pattern
from metier.scan.patterns import words
from metier.scan.readers.shell import Pipeline, ShellCommand
from metier.scan.scale import Confidence, ScanReach
from metier.scan.text import SkillText

from .file_writes import SEVERE_JOB, judge_writes

__all__ = ["judge_command", "walk"]

_HOME = text_pattern(
    r"(?:/|/\*|~|~/|~/\*|\$home|\$home/|\$home/\*|\$\{home\}/?\*?|/home/?\*?|/users/?\*?|/etc/?\*?|/usr/?\*?|/var/?\*?"
    r"|/bin/?|/boot/?|/lib/?|/(?:root)/?\*?|c:\\?\*?|%userprofile%\\?\*?|~/documents/?\*?|~/desktop/?\*?|~/\.\*?)"
)
# Expressions of sed and awk start with a slash too.
_PATH = text_pattern(r"(?:~|\$HOME)?/[\w./*@%+:=~-]+")
_READERS = words(
    "cat less more head tail base64 xxd od strings grep cp mv tar zip gzip scp rsync curl wget sed awk jq openssl dd tee"
    " python python3 sqlite3 cut sort nc ncat find ls gpg age 7z"
)
_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108 - words, no files
_SHELLS = text_pattern(r"^(?:u\+s|\+s|4[0-7]{3}|6[0-7]{3}|g\+s)$")
_SECRET_STORES = words(
    "gh heroku vercel flyctl fly wrangler netlify railway aws gcloud az op vault doppler pass kubectl docker npx supabase"
)
_MINERS = words("xmrig cpuminer minerd ethminer cgminer bfgminer nbminer t-rex phoenixminer lolminer xmr-stak ccminer")


def walk(pipeline: Pipeline) -> Iterator[ShellCommand]:
    """Yields every command of a pipeline, with those inside substitutions."""
    for command in pipeline:
        yield command
        for inner in command.inner:
            yield from walk(inner)


def judge_command(command: ShellCommand, pipeline: Pipeline, text: SkillText, collector: FindingCollector) -> None:
    _reads_secrets(command, text, collector)
    judge_writes(command, pipeline, text, collector)
    if "sudo" in command.prefixes or "doas" in command.prefixes:
        collector.flag("SK521", f"runs {command.name or 'a command'} as root", text=text, at=command.at)
    rule = _BY_NAME.get(command.name)
    if rule is not None:
        rule(command, text, collector)
    elif command.name in _MINERS:
        collector.flag("SK542", f"starts the miner {command.name}", text=text, at=command.at)
    elif command.name.startswith("mkfs"):
        collector.flag("SK531", "formats a disk", text=text, at=command.at, confidence=Confidence.MEDIUM)
    stored = re.search(r" (?:set|add|store|save) ([A-Z][A-Z0-9_]*_(?:PASSWORD|PASSWD|PASS|PIN))\b", " ".join(command.words))
    if stored and command.name not in _SECRET_STORES:
        collector.flag("SK603", f"stores {stored[1]} with {command.name}", text=text, at=command.at)
    for _, value in command.assigns:
        if value in ("/dev/null", "0", "") and command.assigns[0][0] in ("HISTFILE", "HISTSIZE", "HISTFILESIZE"):
            collector.flag("SK533", "turns the shell history off", text=text, at=command.at)


def _reads_secrets(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    for spelled, what in SECRET_COMMANDS.items():
        if tuple(command.words[: len(spelled)]) == spelled and spelled[0] != "pass":
            collector.add_capability("secrets", what)
            _found_secret(
                collector,
                text,
                command,
                what,
                explained=collector.purpose.mentions(spelled[:1]) or spelled[0] in ("gh", "gcloud", "aws"),
            )
    if command.name not in _READERS:
        return
    for word in (*command.arguments, *(target for operator, target in command.redirects if operator == "<")):
        place = secret_place(word, collector.purpose) if "/" in word or "." in word or "_" in word else None
        if place:
            collector.add_capability("secrets", place[0])
            if command.name not in ("ls", "find", "mv") and place[0] != "the machine's accounts":
                _found_secret(collector, text, command, place[0], explained=place[1])
        elif _PATH.fullmatch(word) and command.name in (
            "cat",
            "less",
            "head",
            "tail",
            "grep",
            "jq",
            "sed",
            "awk",
        ):
            collector.add_capability("reads", word)


def _found_secret(collector: FindingCollector, text: SkillText, command: ShellCommand, what: str, *, explained: bool) -> None:
    confidence = Confidence.LOW if explained else Confidence.MEDIUM
    collector.flag("SK601", f"reads {what}", text=text, at=command.at, confidence=confidence)


def _rm(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    options = "".join(word.lstrip("-") for word in command.arguments if word.startswith("-")).lower()
    targets = [word for word in command.arguments if not word.startswith("-")]
    for target in targets:
        low = target.lower()
        if low.endswith("_history"):
            collector.flag("SK533", "deletes the shell history", text=text, at=command.at)
        elif low.startswith("/var/log"):
            collector.flag("SK533", f"deletes {target}", text=text, at=command.at, confidence=Confidence.MEDIUM)
        elif ("r" in options or "recursive" in options) and (_HOME.fullmatch(low) or "no-preserve-root" in options):
            collector.flag("SK531", f"deletes {target}", text=text, at=command.at)
        elif "r" in options and low in ("*", ".", "./", "./*", "..", "../", ".git"):
            collector.flag(
                "SK534", f"deletes {target} in the current folder", text=text, at=command.at, reach=ScanReach.PROJECT
            )
        elif "r" in options and "backup" in low:
            collector.flag("SK534", f"deletes {target}", text=text, at=command.at)
        elif low.startswith(("~", "$home")):
            collector.add_capability("writes", target)


def _find(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    removes = "-delete" in command.words or re.search(r"-exec(?:dir)? (?:rm|shred|unlink)\b", " ".join(command.words))
    if removes and command.arguments and _HOME.fullmatch(command.arguments[0].lower()):
        collector.flag(
            "SK531",
            f"deletes what it finds in {command.arguments[0]}",
            text=text,
            at=command.at,
            confidence=Confidence.HIGH if not {"-name", "-mtime", "-path"} & set(command.words) else Confidence.MEDIUM,
        )


def _dd(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    if re.search(r"of=/dev/(?:sd|nvme|hd|disk|mmcblk|vd)", command.everything()):
        confidence = Confidence.HIGH if re.search(r"if=/dev/(?:zero|u?random)", command.everything()) else Confidence.MEDIUM
        collector.flag("SK531", "overwrites a disk", text=text, at=command.at, confidence=confidence)


def _chmod(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    words = command.arguments
    if any(_SHELLS.fullmatch(word) for word in words):
        collector.flag(
            "SK522",
            "sets a program to run with its owner's rights",
            text=text,
            at=command.at,
            confidence=Confidence.HIGH
            if any(word.endswith(("sh", "python", "python3")) or word.startswith(_TEMPORARY) or "/." in word for word in words)
            else Confidence.MEDIUM,
        )
    elif any(word in ("777", "a+rwx", "-R777", "0777", "666") for word in words):
        wide = any(_HOME.fullmatch(word.lower()) for word in words)
        collector.flag(
            "SK522",
            "makes files writable for everyone",
            text=text,
            at=command.at,
            confidence=Confidence.HIGH if wide else Confidence.LOW,
        )


def _crontab(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    if any(word in ("-l", "-e", "-h") for word in command.arguments):
        return
    if "-r" in command.arguments:
        collector.flag("SK534", "deletes all scheduled jobs", text=text, at=command.at)
        return
    job = text.text[max(0, command.at - 300) : command.at].lower()
    is_severe = SEVERE_JOB.search(job)
    collector.flag(
        "SK512",
        "changes the user's scheduled jobs",
        text=text,
        at=command.at,
        confidence=Confidence.HIGH if is_severe else Confidence.MEDIUM,
    )


def _launchctl(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    if command.arguments[:1] and command.arguments[0] in ("load", "bootstrap", "enable", "submit"):
        is_severe = re.search(r"com\.apple\.|/tmp/|/\.[a-z]", " ".join(command.arguments[1:]))
        confidence = Confidence.HIGH if is_severe else None
        collector.flag("SK512", "registers a job with launchd", text=text, at=command.at, confidence=confidence)


def _systemctl(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    words = set(command.arguments)
    units = [word.removesuffix(".service") for word in command.arguments if not word.startswith("-")][1:]
    if words & {"stop", "disable", "mask"} and set(units) & {
        "firewalld",
        "ufw",
        "auditd",
        "apparmor",
        "fail2ban",
        "clamav",
        "rsyslog",
        "iptables",
    }:
        collector.flag("SK523", f"stops {' '.join(units)}", text=text, at=command.at)
    elif "enable" in words:
        collector.flag(
            "SK512",
            f"starts {' '.join(units) or 'a service'} with the machine",
            text=text,
            at=command.at,
            confidence=Confidence.LOW,
        )


def _protections(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    line = " ".join(command.words).lower()
    found = re.search(
        r"spctl --(?:master|global)-disable|setenforce 0|ufw (?:--force )?disable|csrutil disable|iptables (?:-f|--flush)"
        r"|auditctl -e ?0|netsh advfirewall set \w+ state off|fdesetup disable",
        line,
    )
    if found:
        collector.flag("SK523", "turns a protection of the machine off", text=text, at=command.at)
    elif (
        line.startswith("xattr")
        and re.search(r"-\w*[dc]", line)
        and ("quarantine" in line or "-c" in line or "-rc" in line or "-cr" in line)
    ):
        collector.flag(
            "SK523", "removes the quarantine flag of a download", text=text, at=command.at, confidence=Confidence.MEDIUM
        )
    elif line.startswith("git config") and "http.sslverify false" in line:
        collector.flag("SK523", "turns certificate checks off", text=text, at=command.at, confidence=Confidence.MEDIUM)


def _docker(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    line = " ".join(command.words)
    if "run" in command.words and re.search(r"(?:-v|--volume)[= ]/:/|--pid[= ]host", line):
        collector.flag("SK524", "gives a container the files of its host", text=text, at=command.at)
    elif "run" in command.words and ("--privileged" in line or "docker.sock" in line):
        collector.flag("SK524", "gives a container the rights of its host", text=text, at=command.at, confidence=Confidence.LOW)


def _history(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    if "-c" in command.arguments or "-cw" in command.arguments:
        collector.flag("SK533", "clears the shell history", text=text, at=command.at)


def _unset(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    if "HISTFILE" in command.arguments:
        collector.flag("SK533", "turns the shell history off", text=text, at=command.at)


def _accounts(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    line = " ".join(command.words)
    is_root = re.search(r"-aG\s*(?:sudo|wheel|admin|root)|-G\s*(?:sudo|wheel|root)|-o -u 0|administrators", line)
    confidence = Confidence.HIGH if is_root and command.name != "usermod" else Confidence.MEDIUM if is_root else Confidence.LOW
    collector.flag(
        "SK513",
        "adds or changes an account of the machine",
        text=text,
        at=command.at,
        confidence=confidence,
        reach=ScanReach.MACHINE,
    )


def _ssh_copy(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    collector.flag("SK513", "puts a key on another machine", text=text, at=command.at, confidence=Confidence.LOW)


def _git(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    words = command.arguments
    address = next((word for word in words[1:] if re.match(r"(?:https?|ssh)://|git@", word)), "")
    if (words[:1] == ["push"] or words[:2] == ["remote", "add"]) and address:
        web = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", address)
        is_unknown = any(is_unknown_host(url, collector.purpose) and "git" not in url.label[:3] for url in urls_in(web))
        confidence = Confidence.HIGH if is_unknown and words[0] == "push" else Confidence.MEDIUM
        if is_unknown or words[0] == "push":
            collector.flag("SK615", "pushes to a hard-coded address", text=text, at=command.at, confidence=confidence)
    if "config" in words and any("hookspath" in word.lower() for word in words):
        collector.flag("SK507", "changes where git finds its hooks", text=text, at=command.at, confidence=Confidence.LOW)
    elif (
        words[:1] == ["config"] and any(word.startswith(("core.pager", "alias.")) for word in words) and "!" in " ".join(words)
    ):
        collector.flag("SK507", "makes git run a command", text=text, at=command.at, confidence=Confidence.LOW)


def _gh(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    line = " ".join(command.words)
    invited = re.search(r"/collaborators/([A-Za-z0-9][\w-]{1,38})\b", line)
    if invited and re.search(r"-X ?PUT|--method PUT", line) and not re.search(r"user|name|octocat", invited[1], re.IGNORECASE):
        collector.flag("SK513", f"gives {invited[1]} access to the repository", text=text, at=command.at)
    elif re.search(r"repo edit .*--visibility public", line):
        collector.flag("SK615", "makes a repository public", text=text, at=command.at, confidence=Confidence.MEDIUM)


def _aws(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    line = " ".join(command.words)
    if "authorize-security-group-ingress" in line and re.search(r"--protocol (?:-1|all)\b|IpProtocol=-1", line):
        collector.flag("SK513", "opens all ports of a server", text=text, at=command.at, reach=ScanReach.MACHINE)


def _claude(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    """Flags `claude mcp add NAME https://...`, which connects the agent to another server."""
    if command.arguments[:2] == ["mcp", "add"]:
        for url in urls_in(" ".join(command.words)):
            if is_unknown_host(url, collector.purpose):
                collector.flag("SK406", f"connects the agent to an MCP server at {url.host}", text=text, at=command.at)


def _openssl(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    line = " ".join(command.words)
    if command.words[1:2] == ["enc"] and re.search(r"-pass(?:in)? \S*\$\(|-k \$\(|rand -", line):
        after = text.low[command.at : command.at + 400]
        if re.search(r"&& ?(?:rm|shred|unlink)\b", after):
            collector.flag("SK532", "encrypts a file with a random key and deletes it", text=text, at=command.at)


def _lookup(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    """Flags dig, nslookup and host with a name that is built from data."""
    for word in command.arguments:
        if "." in word and re.search(r"\$\(|\$\{?\w|`", word) and not re.fullmatch(r"[@+]?\$\{?\w+\}?\.?", word):
            is_data = command.inner or re.search(
                r"\$\{?(?:data|chunk|payload|secret|key|token|enc|hex|b64|env|content|out)", word.lower()
            )
            if is_data:
                collector.flag("SK614", "looks up a host name built from data", text=text, at=command.at)


def _metadata(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    for url in urls_in(" ".join(command.words)):
        if url.host in ("169.254.169.254", "metadata.google.internal", "100.100.100.200", "169.254.170.2"):
            collector.flag("SK605", "requests the credentials of the cloud machine", text=text, at=command.at)


def _shred(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    if any(_HOME.fullmatch(word.lower()) or word.startswith(("~", "/dev/")) for word in command.arguments):
        collector.flag("SK531", f"wipes {command.arguments[-1]}", text=text, at=command.at)


_BY_NAME: dict[str, Callable[[ShellCommand, SkillText, FindingCollector], None]] = {
    "rm": _rm,
    "find": _find,
    "dd": _dd,
    "chmod": _chmod,
    "crontab": _crontab,
    "launchctl": _launchctl,
    "systemctl": _systemctl,
    "spctl": _protections,
    "setenforce": _protections,
    "ufw": _protections,
    "csrutil": _protections,
    "iptables": _protections,
    "xattr": _protections,
    "auditctl": _protections,
    "netsh": _protections,
    "tccutil": _protections,
    "docker": _docker,
    "podman": _docker,
    "history": _history,
    "unset": _unset,
    "useradd": _accounts,
    "adduser": _accounts,
    "chpasswd": _accounts,
    "usermod": _accounts,
    "ssh-copy-id": _ssh_copy,
    "git": _git,
    "gh": _gh,
    "aws": _aws,
    "claude": _claude,
    "codex": _claude,
    "gemini": _claude,
    "openssl": _openssl,
    "dig": _lookup,
    "nslookup": _lookup,
    "host": _lookup,
    "curl": _metadata,
    "wget": _metadata,
    "shred": _shred,
}
