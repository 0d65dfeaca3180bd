"""The files of a workspace that no script sees: one table, and the user's own patterns."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from metier.errors import UsageError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = [
    "GIT_ENTRIES",
    "HIDDEN_FOLDERS",
    "HIDDEN_NAMES",
    "HIDDEN_PREFIXES",
    "HIDDEN_SUFFIXES",
    "HiddenFiles",
    "is_git_folder",
]

# All names are compared in lower case: some file systems do not distinguish case.
HIDDEN_NAMES = frozenset({
    "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", ".npmrc", ".pypirc", ".netrc", "_netrc",
    ".git-credentials", ".yarnrc.yml", ".dockercfg", ".htpasswd", ".pgpass", ".my.cnf", ".s3cfg", ".boto", ".vault-token",
    ".terraformrc", "terraform.rc", "credentials.json", "client_secret.json", "service-account.json", "secrets.yml",
    "secrets.yaml", "master.key", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".node_repl_history",
})  # fmt: skip
HIDDEN_PREFIXES = (".env",)
HIDDEN_SUFFIXES = (
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".tfstate", ".tfstate.backup", ".tfvars",
    ".mobileprovision", ".ovpn",
)  # fmt: skip
HIDDEN_FOLDERS = frozenset({
    ".metier", ".aws", ".azure", ".ssh", ".gnupg", ".kube", ".docker", ".gcloud", ".password-store", ".gem",
    ".terraform.d",
})  # fmt: skip
GIT_ENTRIES = frozenset({
    "HEAD", "objects", "refs", "packed-refs", "index", "logs", "info", "shallow", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD",
    "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE", "BISECT_LOG", "description",
    "commondir", "gitdir", "config", "config.worktree", "worktrees", "modules", "rebase-merge", "rebase-apply", "sequencer",
    "COMMIT_EDITMSG", "reftable",
})  # fmt: skip
"""The entries of a .git folder that git needs to read a repository. Hooks and everything that is not listed are hidden."""
_GIT_FOLDER = frozenset({"HEAD", "objects", "refs"})


def is_git_folder(names: Iterable[str]) -> bool:
    """Returns True for the entries of a repository: git reads its config and may run programs that it names."""
    return frozenset(names) >= _GIT_FOLDER


class HiddenFiles:
    """Tells which paths of a workspace are hidden. `patterns` are the user's, as in a .gitignore file."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(pattern for pattern in patterns if pattern.strip())

    def hides_name(self, name: str, *, is_folder: bool) -> bool:
        """Returns True if the table hides an entry of this name, at any depth."""
        lower = name.lower()
        if lower.startswith(HIDDEN_PREFIXES) or lower in HIDDEN_NAMES or lower.endswith(HIDDEN_SUFFIXES):
            return True
        return is_folder and lower in HIDDEN_FOLDERS

    def hides(self, path: str, *, is_folder: bool) -> bool:
        """Returns True if this entry is hidden itself. `path` is relative to the workspace."""
        if self.hides_name(path.rpartition("/")[2], is_folder=is_folder):
            return True
        return bool(self.patterns) and self._spec.match_file(f"{path}/" if is_folder else path)

    def covers(self, path: str, *, is_folder: bool = False) -> bool:
        """Returns True if the path, or a folder above it, is hidden."""
        parts = path.split("/")
        above = ("/".join(parts[:length]) for length in range(1, len(parts)))
        return self.hides(path, is_folder=is_folder) or any(self.hides(folder, is_folder=True) for folder in above)

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        try:
            return GitIgnoreSpec.from_lines(self.patterns)
        except ValueError as error:
            raise UsageError(
                f"workspace.hide has an invalid pattern: {error}", hint="use patterns as in a .gitignore file"
            ) from None
