"""Checks of operands and code that a list of options cannot express.

Each returns True if it is sure that nothing is started and nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from metier.lazy import lazy_pattern

__all__ = ["CHECKS", "check_code", "tar_goes_further"]

# `s/a/b/g`, `10,20p`, `/x/d`, `$!N`: addresses, then a command without a file or a program. Flags e and w are not among them.
_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SUBSTITUTE = "|".join(
    rf"s{mark}(?:[^{mark}\\\n]|\\.)*{mark}(?:[^{mark}\\\n]|\\.)*{mark}[gpiIm0-9]*"
    for mark in (r"\/", ",", r"\|", "#", "@", ":", "_", "%")
)
_TRANSLITERATE = r"y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/"
_SED_COMMAND = rf"(?:{_ADDRESS}(?:,(?:\+?{_ADDRESS}))?[ ]*!?[ ]*)?(?:[pdDgGhHxnNPlqQz=]\d*|{_SUBSTITUTE}|{_TRANSLITERATE})"
_SED = lazy_pattern(rf"\s*(?:{_SED_COMMAND}[ ]*(?:[;\n]\s*|$))*")
# Strings and regular expressions may contain the same letters, but a program without these is surely harmless.
_AWK = lazy_pattern(r"system|getline|\||>(?!=)|@|\bextension\b|close|fflush|PROCINFO")


def check_code(name: str, text: str) -> bool:
    return CHECKS[name](text)


def _sed_script(text: str) -> bool:
    return len(text) < 2_000 and _SED.fullmatch(text) is not None


def _awk_program(text: str) -> bool:
    return _AWK.search(text) is None


def _date_operand(text: str) -> bool:
    return text.startswith("+")


def _no_plus(text: str) -> bool:
    return not text.startswith("+")


def _no_subscript(text: str) -> bool:
    return "[" not in text or text in ("[", "[[")


def _dd_operand(text: str) -> bool:
    return text.partition("=")[0] in ("if", "bs", "ibs", "obs", "count", "skip", "seek", "status", "iflag", "conv")


def _plain_target(text: str) -> bool:
    return "=" not in text


def _git_operand(text: str) -> bool:
    """A remote `ext::…` is a command line."""
    return "::" not in text


def _git_config(text: str) -> bool:
    """A word without a dot is no key; these sections hold no program, folder or remote."""
    return (
        "." not in text
        or re.match(
            r"(?i)(user\.(name|email)|color|column|advice|init\.defaultbranch|push\.default|pull\.(rebase|ff))(\.|$)", text
        )
        is not None
    )


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "awk_program": _awk_program,
    "date_operand": _date_operand,
    "dd_operand": _dd_operand,
    "git_config": _git_config,
    "git_operand": _git_operand,
    "no_plus": _no_plus,
    "no_subscript": _no_subscript,
    "plain_target": _plain_target,
    "sed_script": _sed_script,
}


def tar_goes_further(words: Sequence[str]) -> bool:
    """Returns True if tar writes the file of `-f`, or takes it from another machine (`host:file`)."""
    is_old = not words[1].startswith("-") if len(words) > 1 else False
    clusters = [word for word in words[1:] if re.fullmatch(r"-[A-Za-z]+", word)] + ([words[1]] if is_old else [])
    return "--create" in words or any("c" in cluster for cluster in clusters) or any(":" in word for word in words[1:])
