"""Translates git's error messages. Git has no error codes, so its English messages (LC_ALL=C) decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError

__all__ = ["RepositoryMovedError", "explain"]

_PASSWORD = re.compile(r"(://[^/@\s:]*):[^/@\s]*@")


class RepositoryMovedError(MetierError):
    """The server redirects; `remote.py` follows it."""

    code = "moved"


def explain(stderr: str, words: Sequence[str]) -> MetierError:
    """Returns the error for git's stderr."""
    lines = [line for line in _PASSWORD.sub(r"\1:…@", stderr).splitlines() if line.strip() and not line.startswith("warning:")]
    said = next(
        (line for line in lines if line.startswith(("fatal:", "error:", "remote: "))), lines[-1] if lines else "git failed"
    )
    for words_of_git, meaning in _MEANINGS:
        if re.search("|".join(words_of_git), stderr, re.IGNORECASE):
            return meaning(re.sub(r"^(?:fatal|error|remote): ", "", said))
    return UnavailableError(
        f"git {_command(words)} failed: {said}", hint="check the address with `git ls-remote`", retryable=False
    )


def _moved(said: str) -> MetierError:
    return RepositoryMovedError(f"the repository has moved: {said}", hint="name the new address")


def _wants_credentials(said: str) -> MetierError:
    return RefusedError(f"the repository is private or does not exist: {said}", rule="git-credentials",
                   hint="log in with git (a credential helper or ssh key), or set GITHUB_TOKEN, or use --header")  # fmt: skip


def _absent(said: str) -> MetierError:
    return NotFoundError(f"no such repository: {said}", hint="check the address")


def _unknown_host(said: str) -> MetierError:
    return RefusedError(f"unknown ssh host key: {said}", rule="ssh-host-key", hint="connect once with ssh to accept it")


def _bad_transport(said: str) -> MetierError:
    return RefusedError(f"git refuses this address: {said}", rule="git-transport", hint="use https or ssh")


def _no_such_ref(said: str) -> MetierError:
    return NotFoundError(f"the repository has no such commit, branch or tag: {said}", hint="check the ref")


def _unreachable(said: str) -> MetierError:
    return UnavailableError(f"cannot reach the repository: {said}", hint="try again later, or use --offline")


_MEANINGS: tuple[tuple[tuple[str, ...], Callable[[str], MetierError]], ...] = (
    ((r"returned error: 30[12378]", "unable to update url base from redirection"), _moved),
    (("could not read (?:Username|Password)", "Authentication failed", "returned error: 40[13]", r"Permission denied \(",
      "terminal prompts disabled", "HTTP Basic: Access denied"), _wants_credentials),
    (("returned error: 404", "repository .* not found", "does not appear to be a git repository", "no such repository",
      "access denied or repository not exported"), _absent),
    (("Host key verification failed",), _unknown_host),
    (("transport '.*' not allowed", "strange (?:hostname|pathname|port)"), _bad_transport),
    (("couldn't find remote ref", "not our ref", "no such remote ref"), _no_such_ref),
    (("Could not resolve host", "Couldn't connect", "Connection (?:refused|reset|timed out)", "Operation timed out",
      "Operation too slow", "early EOF", "hung up", r"returned error: 5\d\d", "returned error: 429", "unable to connect",
      "RPC failed", "Failed to connect", "Network is unreachable"), _unreachable),
)  # fmt: skip


def _command(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")
