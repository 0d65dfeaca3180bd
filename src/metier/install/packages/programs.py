"""The programs that resolve and fetch packages: uv and npm, with the settings of the user that they may see.

They only fetch. uv takes wheels alone and npm runs no scripts, so no code of a package runs outside a sandbox. Both keep their
downloads in metier's cache, and run in an empty folder of it, where they find no project's settings.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import rmtree

from metier.errors import UnavailableError
from metier.sources import find_command, make_private_folder, safe_environment
from metier.values import dataclass, field

__all__ = ["NPM_HINT", "UV_HINT", "PackagePrograms", "ProgramError"]

UV_HINT = "install uv (https://docs.astral.sh/uv/), or metier[packages], which brings it"
NPM_HINT = "install Node.js with npm (https://nodejs.org/)"

_SECONDS = 1800
_PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TMPDIR|XDG_CONFIG_(?:HOME|DIRS)|NETRC|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy"
    r"|SSL_CERT_(?:FILE|DIR)|SSL_CLIENT_CERT|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|SSH_AUTH_SOCK"
    # Where uv finds packages and with which rights; not its options that would build, or change the environment.
    r"|UV_(?:INDEX|DEFAULT_INDEX|INDEX_URL|EXTRA_INDEX_URL|INDEX_STRATEGY|INDEX_[A-Z0-9_]+_(?:USERNAME|PASSWORD)|FIND_LINKS"
    r"|NO_INDEX|KEYRING_PROVIDER|NATIVE_TLS|SYSTEM_CERTS|INSECURE_HOST|HTTP_TIMEOUT|HTTP_RETRIES|CONFIG_FILE|NO_CONFIG"
    r"|EXCLUDE_NEWER|PYPI_URL)"
    r"|(?:npm|NPM)_(?:config|CONFIG)_(?:registry|REGISTRY|userconfig|USERCONFIG|globalconfig|GLOBALCONFIG|cafile|CAFILE"
    r"|proxy|PROXY|https_proxy|HTTPS_PROXY|noproxy|NOPROXY|strict_ssl|STRICT_SSL)|NPM_TOKEN|NODE_AUTH_TOKEN"
)


class ProgramError(UnavailableError):
    """uv or npm failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePrograms:
    """uv and npm on this machine. `folder` is where they keep their downloads."""

    folder: str
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    offline: bool = False
    builds: bool = False
    """Packages without a wheel are built from source. Their build runs their own code, outside of any sandbox."""
    which: Callable[[str], str | None] | None = None

    def find(self, name: str) -> str | None:
        return self.which(name) if self.which else find_command(name, self.environment.get("PATH"))

    def find_uv(self) -> str | None:
        """Returns uv: the one on PATH, or the one of the extra `metier[packages]`."""
        found = self.find("uv")
        if found or self.which:
            return found
        try:
            from uv import find_uv_bin  # type: ignore[import-not-found,unused-ignore]

            return str(find_uv_bin())
        except (ImportError, FileNotFoundError):
            return None

    @property
    def wheels_only(self) -> tuple[str, ...]:
        """The options of uv against source builds."""
        return () if self.builds else ("--only-binary", ":all:")

    @contextmanager
    def workspace(self) -> Iterator[str]:
        """Makes an empty private folder for one call, and removes it."""
        make_private_folder(self.folder)
        folder = os.path.join(self.folder, f"work-{os.urandom(8).hex()}")
        os.mkdir(folder, 0o700)
        try:
            yield folder
        finally:
            rmtree(folder, ignore_errors=True)

    def uv(self, words: Sequence[str], *, folder: str) -> str:
        """Runs `uv pip …` and returns its output. Raises UnavailableError if uv is missing, ProgramError if it fails."""
        program = self.find_uv()
        if program is None:
            raise UnavailableError(
                "the packages of Python scripts are fetched by uv, which is not installed",
                hint=UV_HINT,
                retryable=False,
            )
        cache = ("--cache-dir", os.path.join(self.folder, "uv"))
        # pip's settings are not read by uv, and uv must not look for a Python of its own.
        flags = ("--no-progress", "--color", "never", "--no-python-downloads", *(("--offline",) if self.offline else ()))
        return self._run("uv", [program, "pip", *words, *cache, *flags], folder)

    def npm(self, words: Sequence[str], *, folder: str) -> str:
        program = self.find("npm")
        if program is None:
            raise UnavailableError(
                "the packages of Node scripts are fetched by npm, which is not installed",
                hint=NPM_HINT,
                retryable=False,
            )
        flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--loglevel=error"]
        flags += [
            "--omit=dev",
            "--omit=peer",
            "--omit-lockfile-registry-resolved",
            "--no-bin-links",
            "--install-strategy=hoisted",
        ]
        flags += ["--cache", os.path.join(self.folder, "npm"), *(["--offline"] if self.offline else [])]
        return self._run("npm", [program, *words, *flags], folder)

    def _run(self, name: str, words: Sequence[str], folder: str) -> str:
        environment = {key: text for key, text in safe_environment(self.environment).items() if _PASSED.fullmatch(key)}
        try:
            done = subprocess.run(
                words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise ProgramError(f"{name} took longer than {_SECONDS // 60} minutes", hint="try again") from None
        except OSError as error:
            raise ProgramError(f"{name} cannot be started: {error.strerror}", hint=f"reinstall {name}") from None
        if done.returncode:
            raise _failure(name, (done.stderr or done.stdout).decode("utf-8", "replace"), is_offline=self.offline)
        return done.stdout.decode("utf-8", "replace")


def _failure(name: str, text: str, *, is_offline: bool) -> ProgramError:
    """Returns the error that the program printed, without decoration, on one line."""
    lines = (
        re.sub(r"^(?:npm (?:error|ERR!)(?: code \S+)?|error:|hint:)|[│╰─▶×├╭]+", "", line).strip() for line in text.splitlines()
    )
    kept = [
        line for line in lines if line and not line.startswith(("A complete log", "warning:", "Using Python", "For a full"))
    ]
    message = " ".join(kept)[:600] or "no message"
    if re.search(r"no (?:usable |compatible )?wheels|only-binary|source distribution|no-build|requires building", text):
        return ProgramError(
            f"{name}: {message}",
            hint="choose a version that has a wheel, or run `metier skill prepare NAME --allow-builds`, "
            "which runs the package's own code outside the sandbox",
        )
    if is_offline:
        return ProgramError(f"{name}: {message}", hint="try again without --offline")
    if re.search(r"error sending request|Failed to fetch|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|dns error", text):
        return ProgramError(f"{name}: {message}", hint=f"check your connection, and the index in your configuration of {name}")
    return ProgramError(f"{name}: {message}", hint="correct the packages that the skill declares")
