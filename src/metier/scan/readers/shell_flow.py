"""Data flow in shell, between files, variables, commands and the network, as steps for `rules.data_flow`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from metier.lazy import lazy_pattern
from metier.scan.collector import FindingCollector, FlowStep
from metier.scan.data.hosts import HostReputation, Url, download_risk, is_unknown_host, reputation_of, urls_in
from metier.scan.data.secrets import SECRET_COMMANDS, WHOLE_ENVIRONMENT, secret_place
from metier.scan.scale import Confidence
from metier.scan.text import SkillText

from .shell import Pipeline, ShellCommand

__all__ = ["base_name", "note_steps"]

_VARIABLE = lazy_pattern(r"\$\{?([A-Za-z_]\w*)")
_LONGEST_LINE = 2_000
_OFTEN_ASKED = frozenset(("gh", "gcloud", "aws", "pass"))
"""Tools whose tokens honest skills pass to the tools' own services."""
_OF_FOLDERS = frozenset(("tar", "zip", "cat", "cp", "gzip", "base64", "7z", "rsync", "scp"))
"""Commands that may read files of the current folder."""
_HUNTS = lazy_pattern(
    r"(?:AKIA|ghp_|sk-ant|sk_live|xox[bp]|PRIVATE KEY|api_?key|secret_?key|passw)\S*.* (?:~|/home|/Users|\$HOME|/(?: |$))"
    r"|-name \S{0,3}(?:\*?\.env\*?|\*\.pem|id_rsa|credentials\*?)(?: .{0,80})? -o(?:r)? -i?name \S{0,3}"
    r"(?:\*?\.env\*?|\*\.pem|\*\.key|id_\*|credentials\*?|\*\.tfstate|terraform\.tfstate)",
    re.IGNORECASE,
)
_SENDS = lazy_pattern(
    r"^(?:-d|-F|-T|--data(?:-\w+)?|--form(?:-string)?|--upload-file|--json|--post-data|--post-file|--body-data|--body-file)"
    r"(?:=|$)|^-[dFT]."
)


def note_steps(pipeline: Pipeline, text: SkillText, collector: FindingCollector, carried: Iterable[str] = ()) -> frozenset[str]:
    """Adds the steps of a pipeline to the collector. Returns the names of its output."""
    flowing: set[str] = set(carried)
    for command in pipeline:
        for lower in command.inner:
            flowing |= note_steps(lower, text, collector)
        uses, defines = set(flowing), {f"{text.path}|{command.at}"}
        for word in (*command.words, *(value for _, value in command.assigns), command.body[:4_000]):
            uses.update(f"{text.path}${name}" for name in _VARIABLE.findall(word))
        for word in command.arguments:
            path = word.rpartition("@")[2] if "@" in word else word
            if re.search(r"[/.]", path) and "://" not in path:
                uses.add(f"file:{base_name(path)}")
        if command.name in _OF_FOLDERS:
            uses.add(f"{text.path}~folder")
        defines.update(f"{text.path}${name}" for name in _assigned(command))
        written = [target for operator, target in command.redirects if ">" in operator] + _outputs(command)
        defines.update(f"file:{base_name(target)}" for target in written)
        defines.update(f"{text.path}${name}" for target in written for name in _VARIABLE.findall(target))
        fetched, confidence = _fetched(command, collector)
        secret, is_explained = _secret(command, collector)
        if secret and command.name in ("cd", "pushd"):
            defines.add(f"{text.path}~folder")
        sends, to_unknown_host = _sends(command, collector)
        collector.steps.append(
            FlowStep(
                text,
                command.at,
                frozenset(uses),
                frozenset(defines),
                secret=secret,
                is_explained=is_explained,
                sends=sends,
                to_unknown_host=to_unknown_host,
                runs=_runs(command),
                fetched=fetched,
                confidence=confidence,
            )
        )
        flowing = {f"{text.path}|{command.at}"}
    return frozenset(flowing)


def _assigned(command: ShellCommand) -> Iterable[str]:
    """Yields the names that a command assigns: `a=b`, `a=(b c)`, `read a b`, `mapfile a`."""
    yield from (name for name, _ in command.assigns)
    if command.name in ("read", "mapfile", "readarray"):
        yield from (word for word in command.arguments if re.fullmatch(r"[A-Za-z_]\w*", word))


def _outputs(command: ShellCommand) -> list[str]:
    words = [word for word in command.arguments if not word.startswith("-")]
    if command.name in ("tar", "zip", "7z", "gpg", "openssl") and words:
        named = next(
            (
                after
                for flag, after in zip(command.arguments, command.arguments[1:], strict=False)
                if flag
                in ("-o", "-f", "-out", "--output", "-czf", "-cf", "-zcf", "czf", "cf", "-cvzf", "-czvf", "cvzf", "czvf")
            ),
            "",
        )
        return [named or words[0]]
    if command.name in ("cp", "mv", "rsync", "tee") and words:
        return [words[-1]]
    return []


def _secret(command: ShellCommand, collector: FindingCollector) -> tuple[str, bool]:
    """Returns the name of the secret that a command reads, and whether the skill's purpose explains it."""
    if command.name in ("env", "printenv", "set") and not command.arguments:
        return WHOLE_ENVIRONMENT, False
    if command.words in (["export"], ["export", "-p"], ["declare", "-x"], ["declare", "-p"]):
        return WHOLE_ENVIRONMENT, False
    line = " ".join(command.words)[:_LONGEST_LINE]
    if command.name in ("grep", "egrep", "rg", "find", "ag", "ls") and _HUNTS.search(line):
        return "keys that it searches for", False
    if command.name in ("curl", "wget") and re.search(r"169\.254\.(?:169\.254|170\.2)|metadata\.google\.internal", line):
        return "the cloud machine's credentials", False
    for spelled, what in SECRET_COMMANDS.items():
        if tuple(command.words[: len(spelled)]) == spelled:
            return what, collector.purpose.mentions(spelled[:1]) or spelled[0] in _OFTEN_ASKED
    if command.name in (
        "ls",
        "mkdir",
        "chmod",
        "touch",
        "export",
        "ssh-keygen",
        "ssh",
        "ssh-add",
        "rm",
        "find",
        "kubectl",
        "npm",
        "echo",
    ):
        return "", False
    # The key of a connection is not the data that is sent.
    keys = {value for flag, value in pairwise(command.arguments) if flag == "-i"}
    for word in (
        *(word for word in command.arguments if word not in keys),
        *(word for _, value in command.assigns for word in value.split()),
        *(target for op, target in command.redirects if op == "<"),
    ):
        if command.name in ("curl", "wget") and not re.search(r"@|^[~/$]", word):
            continue
        place = secret_place(word, collector.purpose) if re.search(r"[/._]", word) and "://" not in word else None
        if place:
            return place
    return "", False


def _fetched(command: ShellCommand, collector: FindingCollector) -> tuple[str, Confidence]:
    """Returns where a command fetches data from, and the confidence that running it is harmful."""
    if command.name not in ("curl", "wget") or any(_SENDS.match(word) for word in command.arguments):
        return "", Confidence.HIGH
    url = next(urls_in(" ".join(command.words)), None)
    return (url.host, download_risk(url, collector.purpose)) if url else ("", Confidence.HIGH)


def _runs(command: ShellCommand) -> str:
    """Returns the command if it runs a variable: `eval "$cmd"`, `sh -c "$cmd"`."""
    is_code = command.name == "eval" or (command.name in ("sh", "bash", "zsh", "python3") and "-c" in command.arguments[:2])
    return command.name if is_code and re.fullmatch(r"\$\{?\w+\}?", command.words[-1]) else ""


def _sends(command: ShellCommand, collector: FindingCollector) -> tuple[str, bool]:
    """Returns where a command sends data to, and whether that is an unknown host."""
    to = _destination(command, collector)
    return to, bool(to) and any(is_unknown_host(url, collector.purpose) for url in urls_in(" ".join(command.words)))


def _destination(command: ShellCommand, collector: FindingCollector) -> str:
    line = " ".join(command.words)
    if command.name in ("curl", "wget"):
        sends = any(_SENDS.match(word) for word in command.arguments) or "@-" in line
        urls = list(urls_in(line)) or [Url("", "", "", 0, False)]
        in_address = bool(re.search(r"://[^\s\"']*[?&/=][^\s\"']*\$[({\w]", line))
        if (sends or in_address) and reputation_of(urls[0], collector.purpose) is not HostReputation.LOCAL:
            return urls[0].host or "the network"
    elif command.name in ("nc", "ncat", "socat", "telnet", "ftp", "tftp"):
        return f"the network by {command.name}"
    elif command.name in ("scp", "rsync", "sftp") and any(re.search(r"^[\w.@-]+:", word) for word in command.arguments):
        return f"another machine by {command.name}"
    elif command.name in ("mail", "mailx", "sendmail", "mutt", "swaks"):
        return "a mail"
    elif command.words[:3] == ["gh", "gist", "create"]:
        return "a gist"
    elif command.words[:3] == ["aws", "s3", "cp"] and command.words[-1].startswith("s3://"):
        return command.words[-1]
    elif command.name in ("nslookup", "dig", "host") and "$" in line:
        return "name lookups"
    return ""


def base_name(path: str) -> str:
    return path.strip("\"'").rstrip("/").rpartition("/")[2]
