"""Advice on the commands that a model should run: pinned versions, present scripts, stated prerequisites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from metier.spec.codes import problem
from metier.spec.report import Problem
from metier.values import dataclass

from .paths import INLINE_CODE, is_spelled_out, own_path
from .subject import SHELLS, LintSubject, TextLine

__all__ = ["absent_scripts", "scripts_run", "undeclared_prerequisites", "unpinned_commands"]

_SEPARATOR = re.compile(r"&&|\|\||[;|]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,60}=\S*")
_BEFORE_COMMANDS = frozenset({"$", ">", "%", "!", "sudo", "time", "exec", "env", "command", "then", "do", "else", "if"})
_NPM_RUNNERS = frozenset({("npx",), ("bunx",), ("pnpx",), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x")})
_PYTHON_RUNNERS = frozenset({("uvx",), ("uv", "tool", "run"), ("pipx", "run")})
_NPM_NAME = re.compile(r"(?:@[a-z0-9][\w.-]{0,100}/)?[a-z0-9][\w.-]{0,100}(?:@[\w.^~*-]{1,40})?", re.IGNORECASE)
_PYTHON_NAME = re.compile(r"[a-z0-9][\w.-]{0,100}(?:\[[\w,-]{1,80}\])?(?:[@=<>~!][\w.=<>~!,*+-]{0,60})?", re.IGNORECASE)
_DENO = re.compile(r"(?:npm|jsr):/?(?P<package>(?:@[\w.-]{1,100}/)?[^/]{1,140})")
_MOVING = frozenset({"", "latest", "next", "beta", "alpha", "canary", "nightly", "dev", "main", "master", "frontmatter", "*"})
_WITH_VALUE = frozenset({"--from", "--with", "--python", "-p", "--package", "--spec", "--index-url", "--index", "--pip-args"})
# What a project installs for itself: npx runs the local copy, whose version the project's own lock has pinned.
_PROJECT_TOOLS = frozenset({
    "tsc", "tsx", "ts-node", "eslint", "jest", "vitest", "mocha", "cypress", "playwright", "prisma", "next", "nuxt", "nuxi",
    "vite", "webpack", "rollup", "turbo", "nx", "ng", "astro", "expo", "husky", "lint-staged", "tailwindcss", "drizzle-kit",
    "knex", "sequelize", "typeorm", "hardhat", "storybook", "svelte-kit", "remix", "react-native", "changeset", "convex",
    "wrangler", "cdk", "cap", "jscodeshift", "biome", "stylelint", "commitlint", "ava", "nest", "medusa", "mastra", "sst",
})  # fmt: skip

_INTERPRETERS = frozenset({
    "python", "python3", "py", "bash", "sh", "zsh", "node", "bun", "deno", "ruby", "perl", "php", "pwsh", "powershell",
    "rscript", "tsx", "ts-node", "source", ".", "uv", "npx",
})  # fmt: skip
_MOST_WORDS = 8
_PROJECT_ROOT = re.compile(r"\bgit clone\b|\b(?:repo|repository|project|workspace|plugin)(?:'s)? root\b", re.IGNORECASE)

# Languages and package managers are left out: who works on a project in Go has Go. The values are other ways to name it.
_SAID_AS = {
    "npx": ("node", "node.js", "nodejs", "npm"), "bunx": ("bun",), "uvx": ("uv",),
    "docker-compose": ("docker",), "ffprobe": ("ffmpeg",), "magick": ("imagemagick",), "kubectl": ("kubernetes", "k8s"),
    "gh": ("github",), "glab": ("gitlab",), "aws": ("awscli", "aws-cli"), "gcloud": ("google-cloud", "gcp"),
    "gsutil": ("gcloud", "gcp"), "az": ("azure",), "psql": ("postgres", "postgresql"), "soffice": ("libreoffice",),
    "pdftotext": ("poppler", "poppler-utils"), "pdftoppm": ("poppler", "poppler-utils"),
    "rg": ("ripgrep",), "ansible-playbook": ("ansible",), "tofu": ("opentofu",),
    "redis-cli": ("redis",), "mongosh": ("mongodb",),
}  # fmt: skip
_UNCOMMON = frozenset({
    *_SAID_AS, "docker", "podman", "ffmpeg", "jq", "yq", "terraform", "helm", "pandoc", "pipx", "uv", "deno", "yt-dlp",
    "tesseract", "exiftool", "qpdf", "flyctl", "heroku", "vercel", "supabase", "stripe", "firebase", "tmux",
    "adb", "sox", "dot", "mmdc", "ast-grep", "semgrep", "trivy", "hugo", "typst",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Command:
    words: tuple[str, ...]
    line: TextLine
    column: int


def unpinned_commands(page: LintSubject) -> Iterator[Problem]:
    """A one-off command without a version runs the newest release, from the current owner of the name."""
    seen: set[str] = set()
    for command in _commands(page.lines):
        package = _unpinned(command.words)
        if package and package not in seen:
            seen.add(package)
            name = package.rpartition("@")[0] or package
            pinned = f"{name}==1.2.3" if command.words[0] == "pipx" else f"{name}@1.2.3"
            yield problem("SK211", f"`{' '.join(command.words[:3])[:60]}` runs whatever version is newest",
                          line=command.line.number, column=command.column,
                          hint=f"name the version you tested, as in `{pinned}`")  # fmt: skip


def absent_scripts(page: LintSubject) -> Iterator[Problem]:
    """A model runs the scripts that the text names; a missing file makes the task fail."""
    seen: set[str] = set()
    for path, line, column in scripts_run(page):
        if path not in page.paths and path not in seen:
            seen.add(path)
            yield problem("SK212", f"the script {path!r} is not in the skill", line=line.number, column=column,
                          hint="add the file, or correct its name")  # fmt: skip


def scripts_run(page: LintSubject) -> Iterator[tuple[str, TextLine, int]]:
    """The skill's own scripts that its commands run, each with its place."""
    is_about_a_project = any(_PROJECT_ROOT.search(line.text) for line in page.lines)
    for command in _commands(page.lines):
        is_run = command.words[0].lower() in _INTERPRETERS
        for word in command.words[: _MOST_WORDS if is_run else 1]:
            base, path = own_path(word) or ("", "")
            # `python scripts/x.py` is nearly always the skill's own; `./scripts/x.sh` is often the project's.
            is_own = is_spelled_out(base) or "scripts" in page.folders or (is_run and not base and not is_about_a_project)
            if path.startswith("scripts/") and is_own:
                yield path, command.line, max(command.line.text.find(word), 0) + 1


def undeclared_prerequisites(page: LintSubject) -> Iterator[Problem]:
    """A catalog can hide a skill whose commands are absent, but only if the skill says which ones it needs."""
    manifest = page.manifest
    said = set(re.findall(r"[\w.+-]*\w", " ".join([manifest.compatibility or "", *manifest.metadata.values()]).lower()))
    said.update(command.lower() for command in manifest.extensions.requires)
    undeclared: dict[str, _Command] = {}
    for command in _commands(line for line in page.lines if line.language in SHELLS):
        name = command.words[0]
        if name in _UNCOMMON and name not in undeclared and said.isdisjoint((name, *_SAID_AS.get(name, ()))):
            undeclared[name] = command
    if undeclared:
        first = next(iter(undeclared.values()))
        names = list(undeclared)[:8]
        yield problem("SK218", f"the instructions use {', '.join(names)}, which not every machine has",
                      line=first.line.number, column=first.column,
                      hint=f"add `requires: {' '.join(names)}` under metadata, or say it in compatibility")  # fmt: skip


def _commands(lines: Iterator[TextLine] | Sequence[TextLine]) -> Iterator[_Command]:
    """Yields text that looks like a command: in shell blocks, in blocks without a language, in inline code with a space."""
    for line in lines:
        if line.language is None:
            for code in INLINE_CODE.finditer(line.text):
                if " " in code[1]:
                    yield from _split(code[1], line, code.start(1))
        elif (line.language in SHELLS or not line.language) and not line.text.lstrip().startswith("#"):
            yield from _split(line.text, line, 0)


def _split(text: str, line: TextLine, offset: int) -> Iterator[_Command]:
    start = 0
    for end in (*(found for found in _SEPARATOR.finditer(text)), None):
        part = text[start : end.start() if end else len(text)]
        words = [word.strip("'\"`()") for word in part.split()[:32]]
        while words and (words[0] in _BEFORE_COMMANDS or _ASSIGNMENT.fullmatch(words[0])):
            words.pop(0)
        if words and words[0]:
            column = offset + start + max(part.find(words[0]), 0) + 1
            yield _Command(tuple(words), line, column)
        start = end.end() if end else 0


def _unpinned(words: tuple[str, ...]) -> str | None:
    """The package that a one-off runner would fetch in its newest version, if the command is one."""
    for length in (1, 2, 3):
        if words[:length] in _NPM_RUNNERS:
            return _unpinned_npm(words[length:])
        if words[:length] in _PYTHON_RUNNERS:
            return _unpinned_python(words[length:])
    first = next((word for word in words[2:] if not word.startswith("-")), "")
    specifier = _DENO.match(first) if words[:2] == ("deno", "run") else None
    if specifier:
        return _unpinned_npm((specifier["package"],))
    if words[:2] == ("go", "run") and "@" in first and first.rpartition("@")[2].lower() in _MOVING:
        return first
    return None


def _unpinned_npm(words: tuple[str, ...]) -> str | None:
    if any(word in ("--no-install", "--no", "--offline") for word in words):
        return None
    package = _wanted(words, ("-p", "--package"))
    if not package or not _NPM_NAME.fullmatch(package) or package.lower() in _PROJECT_TOOLS or package.startswith("."):
        return None
    version = package.rpartition("@")[2] if "@" in package[1:] else ""
    return package if version.lower() in _MOVING else None


def _unpinned_python(words: tuple[str, ...]) -> str | None:
    package = _wanted(words, ("--from", "--spec"))
    if package and package.startswith("git+"):
        return package if "@" not in package.rpartition("/")[2] else None
    if not package or not _PYTHON_NAME.fullmatch(package) or package.endswith((".py", ".whl")) or "/" in package:
        return None
    if re.search(r"[=<>~!]", package):
        return None
    version = package.partition("@")[2]
    return package if version.lower() in _MOVING else None


def _wanted(words: tuple[str, ...], options: tuple[str, ...]) -> str | None:
    """The package: what one of `options` names, else the first word that is no option."""
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in options:
            return value if equals else next(rest, None)
        if not word.startswith("-"):
            return word
        if word in _WITH_VALUE:
            next(rest, None)
    return None
