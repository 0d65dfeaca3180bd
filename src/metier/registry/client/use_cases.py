"""Publish a skill to a registry, and search one. The command line and `App` call these functions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec

from metier.archive import pack
from metier.errors import InvalidSkillError, UnavailableError
from metier.registry.domain.secrets import find_secrets
from metier.registry.ed25519 import key_id, public_key, release_statement, sign_statement
from metier.registry.wire import PublishReceipt, SignatureRow, SkillPage, SkillSummary
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, Report, advise, parse
from metier.values import dataclass

from .file_selection import SelectedFiles, select_files
from .http_client import Json, RegistryClient
from .job_token import with_job_token

__all__ = ["PublishOptions", "PublishResult", "SearchOptions", "SearchResult", "check_files", "publish", "search"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    namespace: str = ""
    """Empty means the namespace of the token."""
    visibility: str = ""
    """`public` or `private`. Empty keeps the current visibility; new skills are private."""
    version: str = ""
    """Overrides `metadata.version`. Without either, the server picks the next patch version."""
    dry_run: bool = False
    """Check the skill and list its files, but publish nothing."""
    draft: bool = False
    """Upload it, but keep it as a draft until `metier registry review submit`."""
    allow_placeholders: bool = False
    """Publish a skill that still has text of its template (SK221)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishResult:
    registry: str
    receipt: PublishReceipt
    """The server's response: name, version, digests, files and findings."""
    left_out: tuple[str, ...]
    links: tuple[str, ...] = ()
    """Links in the folder, which were not published."""
    """Files that `.gitignore` or `.metierignore` excluded."""
    signed_by: str = ""
    is_pending: bool = False
    """True if the registry shows the release to others only after its own checks."""

    @property
    def is_refused(self) -> bool:
        """True for a dry run of a skill that the registry would not accept."""
        return self.receipt.verdict == "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    tag: str = ""
    owner: str = ""
    license: str = ""
    verdict: str = ""
    """`pass` or `review`: only skills with this scan verdict."""
    sort: str = ""
    """`relevance`, `downloads`, `updated` or `name`; empty means relevance for a query, else updated."""
    limit: int = 20
    cursor: str = ""
    """`next` of the previous page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    registry: str
    skills: tuple[SkillSummary, ...]
    next: str | None
    """Cursor of the next page, if there is one."""
    corrected: Mapping[str, str]
    """Words of the query without results, and the words that were searched instead."""


def publish(
    folder: str, client: RegistryClient, options: PublishOptions | None = None, *, signing_key: str | None = None,
    trusted: bool = False,
) -> PublishResult:  # fmt: skip
    """Publishes the skill in `folder`: selects its files, checks them for secrets, packs, uploads and signs them.

    `signing_key` is a private key from `SigningKeyFile`; without one the release is not signed. With `trusted`, the
    ID token of this CI job is exchanged for a publishing token. Raises InvalidSkillError
    before anything is sent if a file contains a secret, or text of the template that the skill was created from. A package that
    exists gets the visibility of the options, also if these files were published before.
    """
    options = options or PublishOptions()
    files = select_files(folder)
    check_files(files, os.path.basename(os.path.abspath(folder)), allow_placeholders=options.allow_placeholders)
    if trusted:
        client = with_job_token(client, namespace=options.namespace, package=_skill_name(files))
    response = client.publish(
        pack(files),
        dry_run=options.dry_run,
        namespace=options.namespace,
        visibility=options.visibility,
        version=options.version,
        draft="1" if options.draft else "",
    )
    receipt = _convert(response, PublishReceipt, client)
    signer = "" if options.dry_run or signing_key is None else _sign(client, receipt, signing_key)
    return PublishResult(registry=client.url, receipt=receipt, left_out=files.left_out, links=files.links, signed_by=signer)


def check_files(files: SelectedFiles, name: str, *, allow_placeholders: bool) -> None:
    """Raises InvalidSkillError if a file contains a secret, or text of the template that the skill was created from."""
    leaked = list(find_secrets(files))
    if leaked:
        raise InvalidSkillError(
            f"{name} contains secrets; nothing was uploaded", report=Report.of(leaked),
            hint="remove them, or list the files in .metierignore",
        )  # fmt: skip
    unfinished = [] if allow_placeholders else [found for found in advise(files) if found.code == "SK221"]
    if unfinished:
        raise InvalidSkillError(
            f"{name} still has text of its template; nothing was uploaded", report=Report.of(unfinished),
            hint="replace it, or pass --allow-placeholders",
        )  # fmt: skip


class SearchClient(Protocol):
    """A registry that can be searched."""

    @property
    def url(self) -> str: ...

    def search(self, query: str, *, limit: int = 20, cursor: str = "", **filters: str) -> Json:
        """Returns a `SkillPage`."""


def search(query: str, client: SearchClient, options: SearchOptions | None = None) -> SearchResult:
    """Returns one page of the skills that match; an empty query lists all of them."""
    options = options or SearchOptions()
    response = client.search(
        query,
        limit=options.limit,
        cursor=options.cursor,
        tag=options.tag,
        owner=options.owner,
        license=options.license,
        verdict=options.verdict,
        sort=options.sort,
    )
    page = _convert(response, SkillPage, client)
    return SearchResult(registry=client.url, skills=tuple(page.skills), next=page.next, corrected=page.corrected)


def _skill_name(files: SelectedFiles) -> str:
    """Returns the name in SKILL.md; empty if there is none, which the registry refuses."""
    if SKILL_FILE not in {entry.path for entry in files.list()}:
        return ""
    manifest = parse(files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).manifest
    return manifest.name if manifest else ""


def _sign(client: RegistryClient, receipt: PublishReceipt, private: str) -> str:
    payload = release_statement(kind="skill", name=receipt.name, version=receipt.version, digest=receipt.digest)
    keyid = key_id(public_key(private))
    response = client.sign(receipt.name, receipt.version, keyid=keyid, signature=sign_statement(private, payload))
    return _convert(response, SignatureRow, client).signer


def _convert(response: Json, to: type[T], client: SearchClient) -> T:
    try:
        return msgspec.convert(response, to, strict=False)
    except msgspec.ValidationError as error:
        raise UnavailableError(
            f"{client.url} sent an unexpected response: {error}", hint="check the address and the registry's version",
            retryable=False,
        ) from error  # fmt: skip
