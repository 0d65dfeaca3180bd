"""Replaces the values of secrets in text that leaves a run: `[NAME]` stands for each.

The exact value is found, and the forms in which programs print it: percent-encoded, in JSON, in Base64. A script that disguises
a value on purpose is not stopped by this; a masked secret is, because the script never has it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from metier.runtime.script_run import Outcome, ScriptRun
from metier.values import replace

__all__ = ["find_secrets", "hide_secrets", "redact"]

_SHORTEST = 4
"""Shorter values occur in any text, and replacing them would reveal them."""


def hide_secrets(outcome: Outcome, run: ScriptRun) -> Outcome:
    values = {**run.secrets, **{each.name: each.value for each in run.masked}}
    if not values:
        return outcome
    return replace(outcome, stdout=redact(outcome.stdout, values), stderr=redact(outcome.stderr, values))


def redact(text: str, values: Mapping[str, str]) -> str:
    """Returns the text without these values, the longest replaced first."""
    forms = {form: name for name, value in values.items() for form in _forms(value)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, f"[{forms[form]}]")
    return text


def find_secrets(data: bytes, values: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the names of the secrets whose values are in the bytes of a file."""
    return tuple(
        name for name, value in values.items()
        if any(form.encode("utf-8", "surrogatepass") in data for form in _forms(value))
    )  # fmt: skip


def _forms(value: str) -> set[str]:
    if len(value) < _SHORTEST:
        return set()
    data = value.encode("utf-8", "surrogatepass")
    encoded = {form for offset in range(3) for form in _base64_forms(data, offset)}
    plain = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], repr(value)[1:-1]}
    # Lines of a long value, such as a private key, may be printed one by one.
    lines = {line.strip() for line in value.splitlines() if len(line.strip()) >= 16}
    return {form for form in plain | encoded | lines if len(form) >= _SHORTEST}


def _base64_forms(data: bytes, offset: int) -> set[str]:
    """Returns the Base64 characters that depend on the value alone, if it stands `offset` bytes (modulo 3) after the start."""
    first = {0: 0, 1: 2, 2: 3}[offset]
    padded = bytes(offset) + data
    last = len(padded) // 3 * 4 + {0: 0, 1: 1, 2: 2}[len(padded) % 3]
    encoded = base64.b64encode(padded).decode()[first:last]
    return {encoded, encoded.replace("+", "-").replace("/", "_")} if len(encoded) >= 2 * _SHORTEST else set()
