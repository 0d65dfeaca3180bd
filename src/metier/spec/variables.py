"""The environment variables that a script reads, found in its text."""

from __future__ import annotations

from functools import lru_cache

from metier.lazy import lazy_pattern

__all__ = ["read_variables"]

_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_READS = lazy_pattern(
    rf"""(?x) \b(?:os\.)?environb?(?:\.(?:get|pop|setdefault)\(|\[)\s?b?["']({_NAME})["'] | \bgetenvb?\(\s?b?["']({_NAME})["']
    | \bprocess\.env(?:\.({_NAME})|\[\s?["']({_NAME})["']) | \b(?:Bun|Deno)\.env(?:\.get\(\s?["']({_NAME})["']|\.({_NAME}))
    | \bENV(?:\.fetch\(|\[)\s?["']({_NAME})["']"""
)
_SOURCES = ("environ", "getenv", "process.env", "Bun.env", "Deno.env", "ENV")
"""A match contains one of these. Looking for them first is far cheaper than the expression."""
_SHELL_READ = lazy_pattern(rf"\$(?:\{{({_NAME})|({_NAME}))")
_SHELL_SET = lazy_pattern(
    rf"(?m)^[ \t]{{0,80}}(?:(?:export|local|readonly|declare)[ \t]+(?:-\w{{1,4}}[ \t]+){{0,4}})?({_NAME})\+?="
    rf"|\bread[ \t]+(?:-\w{{1,4}}[ \t]+){{0,8}}({_NAME})\b|\bfor[ \t]+({_NAME})[ \t]+in\b"
)
_SHELL_SELF = lazy_pattern(rf"\b({_NAME})=\"?\$\{{\1")
_OWN = frozenset({
    "BASH_SOURCE", "BASH_VERSION", "BASH_REMATCH", "CI", "COLUMNS", "EDITOR", "EUID", "FUNCNAME", "HOME", "HOSTNAME", "IFS",
    "LANG", "LC_ALL", "LINENO", "LINES", "LOGNAME", "NO_COLOR", "OLDPWD", "OPTARG", "OPTIND", "OSTYPE", "PATH", "PIPESTATUS",
    "PPID", "PWD", "PYTHONPATH", "RANDOM", "REPLY", "SECONDS", "SHELL", "SHLVL", "SKILL_DIR", "TEMP", "TERM", "TMP", "TMPDIR",
    "TZ", "UID", "USER", "USERNAME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
})  # fmt: skip
"""Variables of the shell and of every login. They hold no secrets, and a run has its own."""


@lru_cache(maxsize=128)
def read_variables(text: str, *, is_shell: bool) -> tuple[str, ...]:
    """Returns the names in the order of the text, each once."""
    found: list[str] = []
    if any(map(text.__contains__, _SOURCES)):
        found += [next(filter(None, match.groups())) for match in _READS.finditer(text)]
    if is_shell:
        own = {name for match in _SHELL_SET.finditer(text) for name in match.groups() if name}
        found += [name for match in _SHELL_READ.finditer(text) for name in match.groups() if name and name not in own]
        # ${X:-} in an assignment to X itself reads the caller's X.
        found += _SHELL_SELF.findall(text)
    return tuple(dict.fromkeys(name for name in found if name not in _OWN))
