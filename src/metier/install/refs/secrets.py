"""Secrets in addresses and commands. An address ends up in locks, caches and messages, so one with a secret is refused."""

from __future__ import annotations

import re
from urllib.parse import unquote

from metier.errors import RefusedError

__all__ = ["MASK", "mask_command_secrets", "mask_secrets", "refuse_secrets"]

MASK = "<secret>"

_NAME = re.compile(
    r"(?:.*[_-])?(?:token|secret|passw(?:or)?d|passwd|pwd|api[_-]?key|access[_-]?key|auth|authorization|signature|credentials?|jwt|session(?:id)?)"
    r"|sig|apikey|authtoken|accesstoken|awsaccesskeyid|bearer",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?:gh[pousr]_|github_pat_|glpat-|xox[abpr]-|sk-|AKIA|eyJ)[A-Za-z0-9_.-]{12,}")
_USER = re.compile(r"(?<=//)[^/?#@]*@|^[^/?#@:]+:[^/?#@]+@")
_QUERY = re.compile(r"\?[^#\s]*")
_NAMES_OF_SECRETS = (
    r"[\w.-]{0,80}(?:token|secret|passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|credentials?|authorization|jwt)"
)
_ASSIGNED = re.compile(rf"""(?<![\w.-])({_NAMES_OF_SECRETS}["']?\s?[=:]\s?["']?)(?![$\s])[^\s"'&;|<>]{{4,}}""", re.IGNORECASE)
_OPTION = re.compile(rf"""((?<!\S)--?{_NAMES_OF_SECRETS}[ ]+["']?)(?![$<\s-])[^\s"'&;|<>]+""", re.IGNORECASE)
_MYSQL = re.compile(r"(\bmysql\w{0,20}\s[^|;&\n]{0,300}?\s?-p)([^\s-]\S*)")
_CREDENTIALS = re.compile(r"(?<=//)[^/\s:@]{1,200}:[^/\s@]{1,400}@")
_SCHEME = re.compile(r"\b((?:Bearer|Basic|Token)\s+)([A-Za-z0-9+/_.=-]{8,})", re.IGNORECASE)
_USER_OPTION = re.compile(r"""((?:^|\s)(?:-u|--user)[ =]["']?[^\s:"']{1,200}:)[^\s"']+""")
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL)
_LONG = re.compile(
    r"(?<![\w/.+=-])(?=[\w+=-]{0,200}[0-9])(?=[\w+=-]{0,200}[a-z])(?=[\w+=-]{0,200}[A-Z])[\w+=-]{24,200}(?![\w/.])"
)


def refuse_secrets(host: str, user: str, query: str) -> None:
    """Raises RefusedError if the user part or a parameter of the query is a secret. The message does not contain it."""
    for part in re.split(r"[&;]", query):
        name, _, value = part.partition("=")
        if value and (_NAME.fullmatch(unquote(name)) or _VALUE.search(unquote(value))):
            raise _refused(f"the URL of {host} has a secret in its query (?{unquote(name)}=…)")
    if _VALUE.match(user):
        raise _refused(f"the URL of {host} has a token as its user name")


def mask_secrets(text: str) -> str:
    """Returns a ref that cannot be parsed without what may be a secret in it, for a message."""
    return _QUERY.sub("?…", _USER.sub("…@", text))


def mask_command_secrets(text: str) -> str:
    """Returns a command, or other text of a session, with everything replaced that looks like a secret.

    It masks too much rather than too little: values of options and variables whose name says so, credentials in addresses
    and headers, tokens of known forms, private keys, and long words of mixed letters and digits.
    """
    text = _KEY_BLOCK.sub(MASK, text)
    text = _CREDENTIALS.sub(f"{MASK}@", text)
    text = _SCHEME.sub(rf"\1{MASK}", text)
    text = _USER_OPTION.sub(rf"\1{MASK}", text)
    text = _VALUE.sub(MASK, text)
    for pattern in (_ASSIGNED, _OPTION, _MYSQL):
        text = pattern.sub(rf"\1{MASK}", text)
    return _LONG.sub(MASK, text)


def _refused(message: str) -> RefusedError:
    return RefusedError(
        message, rule="secret-in-url",
        hint='send it as a header, also to update it: --header "Authorization: Bearer …", or auth in [skills.sources.NAME]; '
        "or download the file and install that",
    )  # fmt: skip
