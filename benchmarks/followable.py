"""Counts the published skills that metier can follow: it reads which tools and commands their instructions need.

    METIER_DATA=FOLDER python benchmarks/followable.py [--count 60] [--all] [--json]

The folder holds selection/corpus.jsonl.gz (one JSON object for each skill: id, name, body) and real-skills.jsonl.gz (repo, path
and bytes of a SKILL.md), from which `allowed-tools` are taken. Only skills with scripts or commands count; `--count` of them
are taken at even distances. A need is read from `allowed-tools`, from the names of tools in the text, from the commands in code
blocks and in inline code, and from the scripts that are named. The table says for each skill what it needs, whether 0.1.0
could follow it (it ran a skill's own scripts and nothing else), whether it can be followed now, and why not. A program that
has to be installed on the machine is no need of this kind: run_command starts it if it is there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from metier.runtime import parse_patterns
from metier.runtime.policy.command_line import read_command_line
from metier.runtime.policy.programs import find_program
from metier.runtime.policy.tool_names import ToolKind, kind_of_tool
from metier.spec import parse

SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session"})
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]{3,120})`(?!`)")
SCRIPT = re.compile(r"(?<![\w.-])(?:\./)?scripts/[\w./-]+\.(?:py|sh|bash|js|mjs|ts|rb)\b")
TOOL = re.compile(
    r"\b(?:the |use |using |with |via |call )`?"
    r"(Read|Write|Edit|MultiEdit|Glob|Grep|Bash|WebFetch|WebSearch|Task|Agent|NotebookEdit)`? (?:tool|to)\b"
)
MCP = re.compile(r"\bmcp__[\w-]+?__\w+|\bMCP (?:server|tool)s?\b", re.IGNORECASE)
_FILES = r"[^.\n]{0,60}(?:\bfiles?\b|folder|director|codebase|repository|project|`[\w./*-]+\.\w{1,5}`)"
READS = re.compile(rf"\b(?:read|open|inspect|search|review|analy[sz]e|look at|load|check|find)\b{_FILES}", re.IGNORECASE)
WRITES = re.compile(rf"\b(?:write|create|save|update|edit|append|generate|modify|export)\b{_FILES}", re.IGNORECASE)
SUBAGENTS = re.compile(r"\b(?:sub-?agents?|spawn (?:an? )?agents?|Task tool|Agent tool)\b", re.IGNORECASE)
BROWSER = re.compile(r"\b(?:playwright|puppeteer|chrome devtools|agent-browser|browser_\w+)\b", re.IGNORECASE)
SECRET = re.compile(r"\b[A-Z][A-Z0-9]*_(?:API_?|ACCESS_)?(?:KEY|TOKEN|SECRET|PASSWORD)\b|\bAPI keys?\b")

NETWORK_PROGRAMS = """
    curl wget ssh scp rsync ping dig nslookup nc telnet ftp gh glab hub aws gcloud gsutil bq az doctl flyctl fly heroku vercel
    netlify wrangler railway supabase firebase stripe kubectl helm terraform pulumi ansible ansible-playbook psql mysql mongosh
    redis-cli npx pnpx bunx uvx pipx brew apt apt-get yum dnf apk snap choco winget http xh youtube-dl yt-dlp twilio
    huggingface-cli hf ollama claude codex gemini opencode cursor-agent sentry-cli jira linear acli
"""
SYSTEM_PROGRAMS = """
    docker docker-compose podman systemctl service sudo launchctl crontab mount modprobe adb xcrun osascript xdg-open pbcopy
    say screencapture xcodebuild simctl
"""
NETWORK, SYSTEM = frozenset(NETWORK_PROGRAMS.split()), frozenset(SYSTEM_PROGRAMS.split())
INSTALLS = re.compile(
    r"^(?:pip3?|uv pip|python3? -m pip|npm|pnpm|yarn|bun|cargo|gem|go|poetry|uv|conda|mamba|composer|dotnet)\s+"
    r"(?:install|add|i|ci|sync|get|update|upgrade|create|init|publish|tool|restore)\b"
)
REMOTE_GIT = frozenset({"push", "pull", "fetch", "clone", "ls-remote", "submodule"})
HOME = re.compile(r"(?:>>?|\b(?:cp|mv|mkdir|touch|tee|ln)\b[^\n|;]*)\s*(?:-\w+\s+)*(?:~|\$HOME)/")
_MOST_OF_AN_OWNER = 2


@dataclass(frozen=True)
class Published:
    id: str
    body: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class Needs:
    """The needs of one skill. `missing` are those that metier does not meet, each as a short reason."""

    tools: frozenset[ToolKind]
    commands: frozenset[str]
    scripts: frozenset[str]
    network: frozenset[str]
    packages: bool
    secret: bool
    missing: tuple[str, ...]

    @property
    def before(self) -> bool:
        """0.1.0 ran a skill's own scripts without network, and offered nothing else."""
        return not (self.tools or self.commands or self.network or self.packages or self.secret or self.missing)

    @property
    def now(self) -> str:
        if self.missing:
            return "no"
        if self.network or self.packages or self.secret:
            return "granted"
        return "yes"


def skills_of(folder: Path) -> Iterator[Published]:
    allowed = dict(_allowed_tools(folder / "real-skills.jsonl.gz"))
    with gzip.open(folder / "selection/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield Published(row["id"], row["body"], allowed.get(row["id"], ()))


def _allowed_tools(collection: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not collection.is_file():
        return
    with gzip.open(collection, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            name = PurePosixPath(row["path"]).parent.name
            manifest = parse(row["bytes"].encode("latin-1")).manifest
            if manifest is not None:
                yield f"{row['repo']}#{name}", manifest.allowed_tools


def needs_of(skill: Published) -> Needs:
    tools: set[ToolKind] = set()
    missing: list[str] = []
    for name in (*(pattern.tool for pattern in parse_patterns(skill.tools)), *TOOL.findall(skill.body)):
        kind = kind_of_tool(name)
        if kind is not None:
            tools.add(kind)
        elif name in ("WebSearch", "web_search"):
            missing.append("web search")
        elif name in ("Task", "Agent") or name.startswith("Task"):
            missing.append("subagents")
        elif name.startswith("mcp__"):
            missing.append("MCP server")
    blocks = list(_shell_blocks(skill.body))
    texts = [*blocks, *(text for text in INLINE.findall(skill.body) if _is_command(text))]
    scripts = frozenset(SCRIPT.findall(skill.body))
    commands, network, packages = _read_commands(texts, missing)
    prose = FENCE.sub("", skill.body)
    tools |= {ToolKind.READ} if READS.search(prose) else set()
    tools |= {ToolKind.WRITE} if WRITES.search(prose) else set()
    if ToolKind.FETCH in tools:
        network.add("WebFetch")
    missing += ["subagents"] if SUBAGENTS.search(prose) else []
    missing += ["MCP server"] if MCP.search(prose) else []
    missing += ["browser"] if BROWSER.search(prose) else []
    missing += ["files outside the workspace"] if any(HOME.search(block) for block in blocks) else []
    return Needs(
        frozenset(tools), frozenset(commands), scripts, frozenset(network), packages,
        SECRET.search(skill.body) is not None, tuple(dict.fromkeys(missing)),
    )  # fmt: skip


def _shell_blocks(body: str) -> Iterator[str]:
    for _, language, text in FENCE.findall(body):
        if language.lower() in SHELLS:
            prompts = [line.strip()[2:] for line in text.splitlines() if line.strip().startswith("$ ")]
            yield "\n".join(prompts) or text


def _is_command(text: str) -> bool:
    first, _, rest = text.partition(" ")
    return bool(rest) and not rest.startswith(("=", "-> ")) and (find_program(first) is not None or first in NETWORK | SYSTEM)


def _read_commands(texts: Iterable[str], missing: list[str]) -> tuple[set[str], set[str], bool]:
    """Returns the programs that are no scripts of the skill, those that need the network, and whether one installs packages."""
    commands: set[str] = set()
    network: set[str] = set()
    packages = False
    for text in texts:
        line = read_command_line(text)
        parts = line.commands if not line.is_broken else [
            command for each in text.splitlines() for command in read_command_line(each).commands
        ]  # fmt: skip
        for command in parts:
            words = [word.text for word in command.words]
            if not words or not re.fullmatch(r"[a-z_][\w./+-]*", words[0]) or SCRIPT.search(" ".join(words[:4])):
                continue
            name = PurePosixPath(words[0]).name
            if INSTALLS.match(" ".join(words)):
                packages = True
            elif name in SYSTEM:
                missing.append(f"system program ({name})")
            elif name in NETWORK or (name == "git" and len(words) > 1 and words[1] in REMOTE_GIT):
                network.add(name)
            else:
                commands.add(name)
    return commands, network, packages


def has_work(needs: Needs) -> bool:
    """Returns True for a skill with scripts or commands."""
    return bool(needs.scripts or needs.commands or needs.network or needs.packages)


def sample(found: list[tuple[Published, Needs]], count: int) -> list[tuple[Published, Needs]]:
    """Every n-th of them, few of one owner, and up to half with `allowed-tools`: those say best what they need."""
    owners: Counter[tuple[str, bool]] = Counter()
    kept = []
    for each in found:
        key = (each[0].id.partition("/")[0], bool(each[0].tools))
        owners[key] += 1
        if owners[key] <= _MOST_OF_AN_OWNER:
            kept.append(each)
    stated = [each for each in kept if each[0].tools]
    others = [each for each in kept if not each[0].tools]
    half = min(len(stated), count // 2)
    return [*_evenly(stated, half), *_evenly(others, count - half)]


def _evenly(rows: list[Any], count: int) -> list[Any]:
    return [rows[place * len(rows) // count] for place in range(count)] if count else []


def row_of(skill: Published, needs: Needs) -> dict[str, Any]:
    wants = [kind.value for kind in sorted(needs.tools)] + sorted(needs.commands)[:4]
    wants += [f"{len(needs.scripts)} scripts"] if needs.scripts else []
    granted = [f"network ({', '.join(sorted(needs.network)[:3])})"] if needs.network else []
    granted += ["packages"] if needs.packages else []
    granted += ["a secret"] if needs.secret else []
    return {
        "skill": skill.id, "needs": wants, "before": needs.before, "now": needs.now,
        "granted": granted if not needs.missing else [], "missing": list(needs.missing),
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| skill | needs | 0.1.0 | now | with a grant for, or missing |"
    yield "|---|---|---|---|---|"
    for row in rows:
        why = ", ".join([*row["granted"], *(f"missing: {each}" for each in row["missing"])])
        yield f"| {row['skill']} | {', '.join(row['needs'])} | {'yes' if row['before'] else 'no'} | {row['now']} | {why} |"


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    whole = len(rows)
    for name, count in (
        ("0.1.0: followable", sum(row["before"] for row in rows)),
        ("now: followable at once", sum(row["now"] == "yes" for row in rows)),
        ("now: followable once network, packages or a secret are granted", sum(row["now"] == "granted" for row in rows)),
        ("now: something is missing", sum(row["now"] == "no" for row in rows)),
    ):
        yield f"{name}: {count} of {whole} ({count / whole:.0%})"
    for reason, count in Counter(reason for row in rows for reason in row["missing"]).most_common(12):
        yield f"  missing {reason}: {count}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--all", action="store_true", help="judge every skill and print only the counts")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    folder = Path(os.environ.get("METIER_DATA") or "")
    if not os.environ.get("METIER_DATA") or not (folder / "selection/corpus.jsonl.gz").is_file():
        parser.error("name the folder of selection/corpus.jsonl.gz in METIER_DATA")
    found = [(skill, needs) for skill in skills_of(folder) if has_work(needs := needs_of(skill))]
    rows = [row_of(*each) for each in (found if chosen.all else sample(found, chosen.count))]
    lines = [json.dumps(rows, indent=1)] if chosen.json else [*([] if chosen.all else table(rows)), "", *summary(rows)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
