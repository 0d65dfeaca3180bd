"""The pull side of the OCI distribution API, so that `oras pull HOST/NAMESPACE/SKILL:VERSION` fetches a skill.

An artefact is made of a release when it is asked for, always to the same bytes, and nothing of it is stored. A blob is found by
the digests of the package's releases, which each process remembers. A token is sent as Bearer, or as the password of a login.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from metier.archive import unpack
from metier.errors import NotFoundError
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.records import Package, PackageKind, Release
from metier.registry.oci_artifact import (
    CONFIG_TYPE,
    LAYER_TYPE,
    MANIFEST_TYPE,
    ArtifactFacts,
    OciArtifact,
    build_artifact,
    oci_digest,
)

from .responses import HttpResponse, json_response
from .routing import RegistryRequest, Route

__all__ = ["ROUTES", "login_token"]

_MOST_KNOWN = 10_000
_MOST_RELEASES = 500
_PRIVATE = ((b"cache-control", b"private, no-cache"), (b"vary", b"authorization, cookie"))
_INDEX = b"application/vnd.oci.image.index.v1+json"
_VERSION = (b"docker-distribution-api-version", b"registry/2.0")
_known: OrderedDict[tuple[int, str], tuple[str, str, str]] = OrderedDict()
"""The digests of manifest, config and layer of a release."""


def login_token(authorization: str) -> str:
    """Returns the token of a Basic login, which is its password; empty for another scheme."""
    scheme, _, text = authorization.strip().partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


async def ping(request: RegistryRequest) -> HttpResponse:  # noqa: ARG001
    return json_response({}, headers=(_VERSION,))


async def manifest(request: RegistryRequest) -> HttpResponse:
    reference = request.params["reference"]
    if reference.startswith("sha256:"):
        artifact = (await _by_digest(request, reference))[2]
    else:
        package, release = await _release(request, reference)
        artifact = await _artifact(request, package, release)
    body = artifact.manifest
    return _blob(body, MANIFEST_TYPE)


async def blob(request: RegistryRequest) -> HttpResponse:
    wanted = request.params["digest"]
    package, release, artifact = await _by_digest(request, wanted)
    if wanted == oci_digest(artifact.config):
        return _blob(artifact.config, CONFIG_TYPE)
    if wanted != oci_digest(artifact.layer):
        return _blob(artifact.manifest, MANIFEST_TYPE)
    if request.scope["method"] == "GET":
        request.registry.downloads.count(package.id, release.version, request.caller)
    return _blob(artifact.layer, LAYER_TYPE)


async def tags(request: RegistryRequest) -> HttpResponse:
    package, releases, named = await _releases(request)
    versions = [_tag(release.version) for release in releases if not release.yanked]
    return json_response({"name": f"{package.namespace}/{package.name}", "tags": [*versions, *sorted(named)]})


async def referrers(request: RegistryRequest) -> HttpResponse:
    """Answers that no artefact refers to this one: signatures of releases are not over their manifests."""
    await _releases(request)
    body = b'{"schemaVersion":2,"mediaType":"%s","manifests":[]}' % _INDEX
    return HttpResponse(body, content_type=_INDEX, headers=(_VERSION, *_PRIVATE))


def _tag(version: str) -> str:
    # A tag has no `+`, which versions may have.
    return version.replace("+", "_")


def _blob(body: bytes, media_type: str) -> HttpResponse:
    digest = oci_digest(body).encode()
    headers = (_VERSION, (b"docker-content-digest", digest), *_PRIVATE)
    return HttpResponse(body, content_type=media_type.encode(), headers=headers, tag=b'"%s"' % digest)


async def _releases(request: RegistryRequest) -> tuple[Package, list[Release], dict[str, str]]:
    """Returns the package of the request. One that the caller may not read does not differ from one that does not exist."""
    try:
        found = await request.registry.queries.releases(request.caller, PackageKind.SKILL, request.params["name"])
        if found[0].namespace != request.params["namespace"]:
            raise _missing(request)
    except NotFoundError:
        # Clients send their login only after they were asked for it.
        if request.caller.token is None:
            hint = "log in with any user name, and a token as the password"
            raise UnauthenticatedError("this skill does not exist, or needs a token", hint=hint) from None
        raise _missing(request) from None
    return found


async def _release(request: RegistryRequest, reference: str) -> tuple[Package, Release]:
    package, releases, named = await _releases(request)
    version = named.get(reference, reference)
    for release in releases:
        if _tag(release.version) == _tag(version):
            return package, release
    raise _missing(request)


async def _by_digest(request: RegistryRequest, wanted: str) -> tuple[Package, Release, OciArtifact]:
    package, releases, _ = await _releases(request)
    for release in releases[:_MOST_RELEASES]:
        known = _known.get((package.id, release.archive))
        if known is not None and wanted not in known:
            continue
        artifact = await _artifact(request, package, release)
        if wanted in _known[package.id, release.archive]:
            return package, release, artifact
    raise _missing(request)


async def _artifact(request: RegistryRequest, package: Package, release: Release) -> OciArtifact:
    data = await request.registry.queries.archive(release.archive)
    made = await asyncio.to_thread(_build, data, package.name, release)
    _known[package.id, release.archive] = (oci_digest(made.manifest), oci_digest(made.config), oci_digest(made.layer))
    while len(_known) > _MOST_KNOWN:
        _known.popitem(last=False)
    return made


def _build(data: bytes, name: str, release: Release) -> OciArtifact:
    facts = ArtifactFacts(
        name=name, version=release.version, description=release.description, license=release.license, digest=release.digest,
        created=datetime.fromtimestamp(release.published // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    return build_artifact(facts, unpack(data), level=0)


def _missing(request: RegistryRequest) -> NotFoundError:
    return NotFoundError(f"nothing at {request.scope['path'][:200]!r}", hint="write HOST/NAMESPACE/SKILL:VERSION")


def _route(path: str, endpoint: Any, summary: str, response_type: Any, rate: str = "read") -> Route:  # Any: as in Route
    return Route(
        method="GET", path=f"/v2/{path}", endpoint=endpoint, summary=summary, kind="oci", rate=rate, response_type=response_type
    )


_REPOSITORY = "{namespace}/{name}"
ROUTES = (
    _route("", ping, "Answers OCI clients that this registry has their API.", dict[str, Any]),
    _route(f"{_REPOSITORY}/manifests/{{reference}}", manifest, "A release as an OCI manifest.", bytes),
    _route(f"{_REPOSITORY}/blobs/{{digest}}", blob, "The layer or config of an OCI manifest.", bytes, "download"),
    _route(f"{_REPOSITORY}/referrers/{{digest}}", referrers, "The artefacts that refer to a manifest: none.", dict[str, Any]),
    _route(f"{_REPOSITORY}/tags/list", tags, "The versions as OCI tags.", dict[str, Any]),
)
