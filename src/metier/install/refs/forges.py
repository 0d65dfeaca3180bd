"""Parses URLs: a repository, a folder in it, an archive, one SKILL.md, or a site with an index.

Only hosts that are listed here, or URLs in a shape that only one kind of forge has, are repositories. Everything else is a
site; `git+https://` or a URL that ends in `.git` always means git.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, unquote, urljoin, urlsplit

from metier.errors import RefusedError, SkillNotFoundError
from metier.spec import SKILL_FILE, is_name
from metier.values import dataclass, replace

from .ref_types import (
    ARCHIVE_ENDINGS,
    GitRef,
    HttpArchive,
    HttpSkillFile,
    OciRef,
    Ref,
    RegistryRef,
    WellKnown,
    git_ref,
    github,
    inner_path,
    split_fragment,
    unknown_form,
)
from .secrets import mask_secrets, refuse_secrets

__all__ = ["Address", "absolute", "parse_address", "parse_without_scheme", "read_address", "read_named_address"]

_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?|\[[0-9a-f:.]+\]")
_USER = re.compile(r"[A-Za-z0-9_][\w.-]*")
_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
_SEGMENT = re.compile(r"[A-Za-z0-9_.~+][A-Za-z0-9_.~+-]*")
_GIT_PATH = re.compile(r"/[A-Za-z0-9_.~+%@=-]+(?:/[A-Za-z0-9_.~+%@=-]+)*")
_WELL_KNOWN = re.compile(r"(?P<base>.*)/\.well-known/(?:agent-skills|skills)(?:/(?:index\.json|(?P<name>[^/]+))?)?/?")
_OCI = re.compile(
    r"/(?P<repository>[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_CLAWHUB = re.compile(r"/@?(?P<owner>[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*)/(?:skills/)?(?P<name>[^/]+)/?")
_GITHUB_PAGES = frozenset({
    "actions", "activity", "branches", "commits", "compare", "discussions", "graphs", "issues", "labels", "milestones",
    "network", "packages", "projects", "pull", "pulls", "pulse", "releases", "security", "settings", "stargazers",
    "tags", "wiki",
})  # fmt: skip
# Forges with `owner/repo` URLs, and the path segments between the repository and the branch.
_FLAT = {"github.com": ("tree", "blob"), "bitbucket.org": ("src",), "codeberg.org": ("src/branch", "src/tag", "src/commit")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    scheme: str
    user: str
    host: str
    """Lowercase; an IPv6 address has brackets."""
    port: int | None
    """None for the scheme's default."""
    path: str
    query: str
    fragment: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port else "")

    @property
    def url(self) -> str:
        user = f"{self.user}@" if self.user and self.scheme == "ssh" else ""
        return self.origin.replace("://", f"://{user}", 1) + self.path + (f"?{self.query}" if self.query else "")


def read_address(text: str) -> Address:
    """Splits a URL. Raises SkillNotFoundError, and RefusedError for a password, which would end up in locks and logs."""
    if re.search(r"[\s\\\x00-\x1f\x7f]", text) or not text.isascii():
        raise unknown_form(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise unknown_form(text) from None
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    if scheme not in _PORTS or len(host) > 253 or not _HOST.fullmatch(host) or port == 0:
        raise unknown_form(text)
    if parts.password is not None:
        # The message does not contain the password.
        raise RefusedError(f"the URL of {host} contains a password", rule="password-in-url",
                      hint="use a git credential helper, --header, or auth in [skills.sources.NAME]")  # fmt: skip
    if parts.username and not _USER.fullmatch(parts.username):
        raise unknown_form(text)
    return Address(
        scheme=scheme,
        user=parts.username or "",
        host=host.rstrip("."),
        port=None if port == _PORTS[scheme] else port,
        path=parts.path,
        query=parts.query,
        fragment=parts.fragment,
    )


def read_named_address(text: str) -> Address:
    """Splits a URL that a user or a configuration names. Raises RefusedError if it has a secret in it."""
    address = read_address(text)
    refuse_secrets(address.host, address.user, address.query)
    return address


def absolute(base: str, text: str) -> Address:
    """Resolves a link in a document at `base`. Raises SkillNotFoundError or RefusedError if it is no web address."""
    try:
        address = read_address(urljoin(base, text))
    except ValueError:
        raise unknown_form(text) from None
    if address.scheme not in ("http", "https"):
        raise unknown_form(text)
    return replace(address, user="", fragment="")


def parse_address(text: str, *, github_host: str = "github.com") -> Ref:
    forced, plain = text.lower().startswith("git+"), re.sub(r"^git\+", "", text, flags=re.IGNORECASE)
    if plain.lower().startswith("file://"):
        return _file(plain, text, forced)
    if plain.lower().startswith("oci://") and not forced:
        return _oci(plain, text)
    address = read_named_address(plain)
    if forced or address.scheme in ("ssh", "git"):
        return _git(address, text, forced)
    if address.host == "www.github.com":
        address = replace(address, host="github.com")
    return _artifact(address) or _clawhub(address) or _repository(address, text, github_host) or _site(address, text)


def parse_without_scheme(text: str, typed: str, *, github_host: str = "github.com") -> Ref:
    """Parses `host/owner/repo`, as copied from a page."""
    address = read_named_address(f"https://{text}")
    if address.host == "www.github.com":
        address = replace(address, host="github.com")
    found = _artifact(address) or _clawhub(address) or _repository(address, typed, github_host)
    if found:
        return found
    parts = [part for part in address.path.split("/") if part]
    if address.host == "dev.azure.com" and len(parts) == 3:
        return GitRef(host=address.host, url=f"{address.origin}/{parts[0]}/{parts[1]}/_git/{parts[2]}")
    if len(parts) != 2:
        return _site(address, typed)
    _, ref, skill = split_fragment(f"#{address.fragment}", typed)
    _, url = github(parts[0], parts[1], _netloc(address), typed)
    return GitRef(host=address.host, url=url, ref=ref, skill=skill)


def _file(plain: str, typed: str, forced: bool) -> GitRef:
    """Parses the file:// URL of a repository. Other local files are named by their path."""
    rest, ref, skill = split_fragment(plain, typed)
    where, _, inside = rest[7:].partition("//")
    if not (forced or where.endswith(".git")) or not _GIT_PATH.fullmatch(where) or ".." in where.split("/"):
        raise unknown_form(typed)
    return GitRef(host="", url=f"file://{where}", path=inner_path(unquote(inside), typed), ref=ref, skill=skill)


def _oci(plain: str, typed: str) -> OciRef:
    address = read_named_address(f"https://{plain[6:]}")
    found = _OCI.fullmatch(address.path)
    if not found or address.query or address.fragment or address.user:
        hint = "write oci://host/repository[:tag] or oci://host/repository@sha256:…; a repository has no upper case"
        raise SkillNotFoundError(mask_secrets(typed), hint=hint)
    return OciRef(host=_netloc(address), repository=found["repository"], tag=found["tag"], digest=found["digest"])


def _git(address: Address, typed: str, forced: bool) -> GitRef:
    _, ref, skill = split_fragment(f"#{address.fragment}", typed)
    where, _, inside = address.path.partition("//")
    cut = re.fullmatch(r"(?P<url>.+\.git)(?:@(?P<ref>[^/].*)|/(?P<path>.+))", where) if forced else None
    if cut:
        # As in pip: git+https://host/repo.git@v1
        where, inside = cut["url"], cut["path"] or inside
        ref = ref or (git_ref(cut["ref"], typed) if cut["ref"] else None)
    where = where.rstrip("/")
    if not _GIT_PATH.fullmatch(where) or ".." in unquote(where).split("/") or unquote(where).startswith("/-"):
        raise unknown_form(typed)
    url = replace(address, path=where, query="", fragment="").url
    return GitRef(host=address.host, url=url, path=inner_path(unquote(inside), typed), ref=ref, skill=skill)


def _artifact(address: Address) -> HttpArchive | HttpSkillFile | None:
    url = replace(address, user="", fragment="").url
    path = address.path.lower()
    if path.endswith(ARCHIVE_ENDINGS):
        # A blob URL is a page; the file is at the raw URL.
        return HttpArchive(re.sub(r"^(https?://[^/]+/[^/]+/[^/]+)/blob/", r"\1/raw/", url).replace("/-/blob/", "/-/raw/"))
    if address.host == "codeload.github.com":
        return HttpArchive(url)
    if address.path.endswith(f"/{SKILL_FILE}") and not re.search(r"/(?:blob|src|tree)/", address.path):
        return HttpSkillFile(url)
    if address.path.endswith(f"/{SKILL_FILE}") and address.host not in _FLAT and "/-/" not in address.path:
        return HttpSkillFile(url)
    return None


def _clawhub(address: Address) -> RegistryRef | None:
    """Parses the page of a skill on ClawHub: `/OWNER/skills/NAME` or `/OWNER/NAME`."""
    found = _CLAWHUB.fullmatch(address.path)
    if address.host.removeprefix("www.") != "clawhub.ai" or address.port or not found or not is_name(found["name"]):
        return None
    return RegistryRef(alias="clawhub", name=found["name"], owner=found["owner"].lower())


def _repository(address: Address, typed: str, github_host: str) -> GitRef | None:
    _, ref, skill = split_fragment(f"#{address.fragment}", typed)
    kind = "github.com" if address.host == github_host else address.host
    if kind in _FLAT and not address.port and "/-/" not in address.path:
        found = _flat(address, kind, typed)
    elif re.search(r"/-/(?:tree|blob)/", address.path):
        where, _, tail = address.path.partition("/-/")
        found = _at_tail(_nested(address, where, typed), tail.partition("/")[2], typed)
    elif address.host == "gitlab.com" and address.path.strip("/"):
        found = _nested(address, address.path.partition("/-/")[0], typed)
    elif "/_git/" in address.path:
        found = _azure(address, typed)
    elif address.path.rstrip("/").endswith(".git") or ".git//" in address.path:
        return _git(address, typed, forced=False)
    else:
        return None
    return replace(found, ref=ref or found.ref, skill=skill or found.skill) if not found.tail else replace(found, skill=skill)


def _flat(address: Address, kind: str, typed: str) -> GitRef:
    owner, repository, *more = [*(part for part in address.path.split("/") if part), "", ""][: max(2, _count(address.path))]
    _, url = github(unquote(owner), unquote(repository), address.host, typed)
    git = GitRef(host=address.host, url=url)
    rest = "/".join(more)
    for marker in _FLAT[kind]:
        if rest == marker or rest.startswith(f"{marker}/"):
            return _at_tail(git, rest[len(marker) + 1 :], typed)
    if more[:2] == ["releases", "tag"] or more[:1] == ["commit"]:
        return replace(git, ref=git_ref("/".join(more[2 if more[0] == "releases" else 1 :]), typed))
    if more and (more[0] in _GITHUB_PAGES or kind != "github.com"):
        raise unknown_form(typed)
    return replace(git, path=inner_path(unquote(rest), typed))


def _count(path: str) -> int:
    return sum(1 for part in path.split("/") if part)


def _nested(address: Address, where: str, typed: str) -> GitRef:
    groups = [unquote(part) for part in where.split("/") if part]
    if len(groups) < 2 or not all(_SEGMENT.fullmatch(group) and group.strip(".") for group in groups):
        raise unknown_form(typed)
    return GitRef(host=address.host, url=f"{address.origin}/{'/'.join(groups).removesuffix('.git')}.git")


def _azure(address: Address, typed: str) -> GitRef:
    query = parse_qs(address.query)
    version = query.get("version", [""])[0]
    if not _GIT_PATH.fullmatch(address.path.rstrip("/")):
        raise unknown_form(typed)
    return GitRef(
        host=address.host,
        url=address.origin + address.path.rstrip("/"),
        path=inner_path(query.get("path", [""])[0], typed),
        # GB is a branch, GT a tag, GC a commit.
        ref=git_ref(version[2:], typed) if version[:2] in ("GB", "GT", "GC") else None,
    )


def _at_tail(git: GitRef, tail: str, typed: str) -> GitRef:
    tail = inner_path(unquote(tail), typed) if tail.strip("/") else ""
    if not tail:
        return git
    if "/" not in tail:
        return replace(git, ref=git_ref(quote(tail), typed))
    git = replace(git, tail=tail)
    if not git.candidates:
        raise unknown_form(typed)
    return git


def _site(address: Address, typed: str) -> WellKnown:
    skill = None
    if address.fragment.startswith("@"):
        _, _, skill = split_fragment(f"#{address.fragment}", typed)
    address = replace(address, user="", fragment="", path=address.path.rstrip("/"))
    if index := _WELL_KNOWN.fullmatch(address.path):
        skill = skill or (unquote(index["name"]) if index["name"] else None)
        address = replace(address, path=index["base"], query="")
        if skill:
            split_fragment(f"#@{quote(skill, safe='')}", typed)
    return WellKnown(url=address.url, skill=skill)


def _netloc(address: Address) -> str:
    return address.host + (f":{address.port}" if address.port else "")
