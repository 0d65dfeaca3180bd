"""The types of refs. Each can be written back as text: `parse_ref(ref.text) == ref`."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

from metier.errors import RefusedError, SkillNotFoundError
from metier.spec import SKILL_FILE, is_name, resource_path
from metier.values import dataclass

from .secrets import mask_secrets

__all__ = [
    "ARCHIVE_ENDINGS",
    "FORMS",
    "SHORT_FORMS",
    "ArchiveFile",
    "GitRef",
    "HttpArchive",
    "HttpSkillFile",
    "LocalName",
    "LocalPath",
    "OciRef",
    "Ref",
    "RegistryRef",
    "WellKnown",
    "git_ref",
    "github",
    "inner_path",
    "is_commit",
    "is_git_ref",
    "publisher_of",
    "split_fragment",
    "unknown_form",
]

ARCHIVE_ENDINGS = (".zip", ".skill", ".tar.gz", ".tgz")
FORMS = (
    "name", "./folder", "file.zip", "file.tar.gz", "file.skill", "r9s:name[@version or range]",
    "clawhub:[@owner/]name[@version or range]", "owner/repo[@skill]",
    "owner/repo/path[#ref]", "github:owner/repo[/path][@ref]", "gitlab:group/repo[//path][@ref]",
    "https://github.com/owner/repo/tree/branch/path", "git+https://host/repo.git[#ref]", "git@host:owner/repo.git",
    "https://host/skill.zip", "https://host/SKILL.md", "https://host (with /.well-known/agent-skills)",
    "oci://host/repository[:tag or @sha256:digest]",
)  # fmt: skip
SHORT_FORMS = "write owner/repo, ./folder, r9s:NAME or a URL; `metier skill install --help` lists every form"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Refused by `git check-ref-format`; also a leading hyphen, which git would read as an option.
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(?:/|$)|^@$")
_SKILL = re.compile(r"[^\s/@#%\x00-\x1f\x7f]{1,64}")
_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9_])?")
REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class LocalName:
    """The name of a skill in one of the local skill folders, or of an installed skill."""

    name: str
    version: str | None = None
    """Another version of an installed skill: a version, a tag or a range."""

    @property
    def text(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class LocalPath:
    path: str
    """As typed; `~` and relative paths are expanded when it is fetched."""

    @property
    def text(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    path: str

    @property
    def text(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryRef:
    alias: str
    name: str
    version: str | None = None
    """A version, a tag or a range, as typed."""
    owner: str = ""
    """Of a registry in which each owner has names of their own, such as ClawHub; empty leaves it to the registry."""

    @property
    def qualified_name(self) -> str:
        return f"@{self.owner}/{self.name}" if self.owner else self.name

    @property
    def text(self) -> str:
        return f"{self.alias}:{self.qualified_name}" + (f"@{self.version}" if self.version else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRef:
    host: str
    url: str
    """The URL for git, without a fragment, and for http without a user name."""
    path: str = ""
    ref: str | None = None
    """A branch, a tag or a full commit id; None for the remote's HEAD."""
    skill: str | None = None
    tail: str = ""
    """Branch and path of a tree or blob URL, which only the remote can tell apart. Then `ref` and `path` are empty."""

    @property
    def candidates(self) -> tuple[tuple[str | None, str], ...]:
        """Every possible (ref, path), the longest branch name first."""
        if not self.tail:
            return ((self.ref, self.path),)
        parts = self.tail.split("/")
        readings = (("/".join(parts[:cut]), "/".join(parts[cut:])) for cut in range(len(parts), 0, -1))
        return tuple((ref, _folder(path)) for ref, path in readings if is_git_ref(ref))

    @property
    def text(self) -> str:
        skill = f"@{quote(self.skill, safe='')}" if self.skill else ""
        web = self.url.removesuffix(".git")
        is_github = re.fullmatch(r"https://github\.com/[^/]+/[^/]+\.git", self.url) is not None
        if self.tail:
            return f"{web}{'/tree/' if is_github else '/-/tree/'}{quote(self.tail)}" + (f"#{skill}" if skill else "")
        path, ref = quote(self.path), quote(self.ref, safe="/") if self.ref else ""
        fragment = f"#{ref}{skill}" if ref or skill else ""
        if is_github:
            return f"github:{web.removeprefix('https://github.com/')}" + (f"/{path}" if path else "") + fragment
        prefix = "git+" if "://" in self.url else ""
        return f"{prefix}{self.url}" + (f"//{path}" if path else "") + fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class OciRef:
    """An artefact in an OCI registry, such as a container registry."""

    host: str
    """With the port, if it has one."""
    repository: str
    tag: str | None = None
    digest: str | None = None
    """`sha256:…` of a manifest. It decides where there is also a tag."""

    @property
    def home(self) -> str:
        """The repository, without tag and digest."""
        return f"oci://{self.host}/{self.repository}"

    @property
    def reference(self) -> str:
        return self.digest or self.tag or "latest"

    @property
    def text(self) -> str:
        return self.home + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True, slots=True)
class HttpArchive:
    url: str

    @property
    def text(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class HttpSkillFile:
    url: str

    @property
    def text(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class WellKnown:
    """A site that may have an index of skills; without one, the URL itself may be an archive or a SKILL.md."""

    url: str
    skill: str | None = None

    @property
    def text(self) -> str:
        return self.url + (f"#@{quote(self.skill, safe='')}" if self.skill else "")


Ref = LocalName | LocalPath | ArchiveFile | RegistryRef | GitRef | OciRef | HttpArchive | HttpSkillFile | WellKnown

_FILES_OF_OWNERS = (
    "github.com",
    "codeload.github.com",
    "raw.githubusercontent.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
)
"""Hosts whose files stand below `owner/repo`."""


def publisher_of(ref: Ref) -> str:
    """Returns the owner of `owner/name`, else the host; empty for what is on this disk."""
    match ref:
        case GitRef(host=host, url=url) if host:
            # `https://host/owner/repo.git` or `git@host:owner/repo.git`
            path = urlsplit(url).path if "://" in url else url.partition(":")[2]
        case OciRef(host=host, repository=path):
            pass
        case RegistryRef(owner=owner):
            return owner
        case HttpArchive(url=url) | HttpSkillFile(url=url) | WellKnown(url=url):
            host = urlsplit(url).hostname or ""
            path = urlsplit(url).path if host in _FILES_OF_OWNERS else ""
        case _:
            return ""
    owner, slash, _ = path.strip("/").partition("/")
    return owner if slash else host


def is_commit(text: str | None) -> bool:
    """Returns True for a full commit id. A short one may become ambiguous, so it is read as a branch or tag."""
    return text is not None and _COMMIT.fullmatch(text) is not None


def is_git_ref(text: str) -> bool:
    return 0 < len(text) <= 255 and not _BAD_REF.search(text)


def inner_path(text: str, typed: str) -> str:
    """Returns the folder of a skill in a repository, without slashes and without SKILL.md at its end."""
    path = text.strip("/")
    if not path:
        return ""
    try:
        return _folder(resource_path(path))
    except RefusedError as refusal:
        raise RefusedError(
            f"the path in {mask_secrets(typed)!r} leaves the repository", rule="path-check", hint=refusal.hint
        ) from None


def unknown_form(typed: str) -> SkillNotFoundError:
    return SkillNotFoundError(mask_secrets(typed), hint=SHORT_FORMS)


def git_ref(text: str, typed: str) -> str | None:
    ref = unquote(text)
    if ref and not is_git_ref(ref):
        raise SkillNotFoundError(
            mask_secrets(typed), hint=f"{ref!r} is not a valid branch, tag or commit; see `metier skill install --help`"
        )
    return ref or None


def split_fragment(text: str, typed: str) -> tuple[str, str | None, str | None]:
    """Returns the text before `#`, and the ref and skill of `#ref`, `#ref@skill` or `#@skill`."""
    rest, _, fragment = text.partition("#")
    left, at, right = fragment.rpartition("@")
    # Release tags such as `pkg@1.2.0` are common; text after `@` that is not a skill name belongs to the ref.
    if at and (not left or is_name(unquote(right))):
        skill = unquote(right)
        if not _SKILL.fullmatch(skill):
            raise unknown_form(typed)
        return rest, git_ref(left, typed), skill
    return rest, git_ref(fragment, typed), None


def github(owner: str, repository: str, host: str, typed: str) -> tuple[str, str]:
    """Returns host and URL of a repository on GitHub, or on a forge with the same URLs."""
    repository = repository.removesuffix(".git")
    if not _OWNER.fullmatch(owner) or not REPOSITORY.fullmatch(repository) or repository in (".", ".."):
        raise unknown_form(typed)
    return host, f"https://{host}/{owner}/{repository}.git"


def _folder(path: str) -> str:
    return "" if path == SKILL_FILE else path.removesuffix(f"/{SKILL_FILE}")
