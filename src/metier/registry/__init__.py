"""A registry of skills: publish, search, version and serve them.

`domain` decides; the JSON API in `server` and the pages in `web` both call it. `store` and `blobs` keep rows and archives.
`client` is the other end of the API, and `wire` its JSON types.
"""

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .bulk_maintenance import ChangedVerdict, ReindexResult, RescanResult, reindex_packages, rescan_releases
    from .bundles import BundleResult, BundleRow, bundle, unbundle
    from .client import (
        PublishOptions,
        PublishResult,
        RegistryClient,
        RegistryRecall,
        SearchOptions,
        SearchResult,
        publish,
        registry_url,
        search,
    )
    from .copies import CopyResult, backup, changes_since, migrate, restore
    from .domain.access import Caller
    from .domain.admission import ReleaseScan
    from .domain.protocols import BlobStore, RegistryStore
    from .domain.publish import PublishRequest, ReleasePolicy
    from .domain.records import (
        AuditEvent,
        Invitation,
        Package,
        PackageFilters,
        PackageVisibility,
        RegistryToken,
        RegistryUser,
        Release,
        ReleaseDraft,
        ScanStatus,
        Signature,
        SigningKey,
        Sort,
        TrustedPublisher,
    )
    from .domain.registry import (
        OidcOptions,
        Registry,
        RequestRates,
        ServerOptions,
        Site,
        WorkLimits,
        key_file_beside,
        open_registry,
    )
    from .domain.rescans import Rescan
    from .domain.search_terms import document_terms, plain_words
    from .domain.tokens import check_scopes
    from .ed25519 import key_id, new_signing_key, public_key, release_statement, sign_statement, verify_signature
    from .health import RegistryCheck, check_registry
    from .location import RegistryLocation
    from .maintenance import (
        GarbageResult,
        advisory_key,
        collect_garbage,
        create_token,
        invite,
        list_tokens,
        list_users,
        revoke_token,
        set_user_disabled,
        statistics,
    )
    from .server import create_app
    from .static_export import StaticExport, export_static
    from .wire import AbuseReport, PublishReceipt, SkillPage, SkillSummary, TokenRow

_EXPORTS = {
    "metier.registry.bulk_maintenance": (
        "ChangedVerdict",
        "ReindexResult",
        "RescanResult",
        "reindex_packages",
        "rescan_releases",
    ),
    "metier.registry.bundles": ("BundleResult", "BundleRow", "bundle", "unbundle"),
    "metier.registry.copies": ("CopyResult", "backup", "changes_since", "migrate", "restore"),
    "metier.registry.client": (
        "PublishOptions",
        "PublishResult",
        "RegistryClient",
        "RegistryRecall",
        "SearchOptions",
        "SearchResult",
        "publish",
        "registry_url",
        "search",
    ),
    "metier.registry.domain.access": ("Caller",),
    "metier.registry.domain.admission": ("ReleaseScan",),
    "metier.registry.domain.protocols": ("BlobStore", "RegistryStore"),
    "metier.registry.domain.publish": ("PublishRequest", "ReleasePolicy"),
    "metier.registry.domain.records": (
        "AuditEvent",
        "Invitation",
        "Package",
        "PackageFilters",
        "PackageVisibility",
        "RegistryToken",
        "RegistryUser",
        "Release",
        "ReleaseDraft",
        "ScanStatus",
        "Signature",
        "SigningKey",
        "Sort",
        "TrustedPublisher",
    ),
    "metier.registry.domain.registry": (
        "OidcOptions",
        "Registry",
        "RequestRates",
        "ServerOptions",
        "Site",
        "WorkLimits",
        "key_file_beside",
        "open_registry",
    ),
    "metier.registry.domain.rescans": ("Rescan",),
    "metier.registry.domain.search_terms": ("document_terms", "plain_words"),
    "metier.registry.domain.tokens": ("check_scopes",),
    "metier.registry.ed25519": (
        "key_id",
        "new_signing_key",
        "public_key",
        "release_statement",
        "sign_statement",
        "verify_signature",
    ),
    "metier.registry.health": ("RegistryCheck", "check_registry"),
    "metier.registry.location": ("RegistryLocation",),
    "metier.registry.maintenance": (
        "GarbageResult",
        "advisory_key",
        "collect_garbage",
        "create_token",
        "invite",
        "list_tokens",
        "list_users",
        "revoke_token",
        "set_user_disabled",
        "statistics",
    ),
    "metier.registry.server": ("create_app",),
    "metier.registry.static_export": ("StaticExport", "export_static"),
    "metier.registry.wire": ("AbuseReport", "PublishReceipt", "SkillPage", "SkillSummary", "TokenRow"),
}

__all__ = [
    "AbuseReport",
    "AuditEvent",
    "BlobStore",
    "BundleResult",
    "BundleRow",
    "Caller",
    "ChangedVerdict",
    "CopyResult",
    "GarbageResult",
    "Invitation",
    "OidcOptions",
    "Package",
    "PackageFilters",
    "PackageVisibility",
    "PublishOptions",
    "PublishReceipt",
    "PublishRequest",
    "PublishResult",
    "Registry",
    "RegistryCheck",
    "RegistryClient",
    "RegistryLocation",
    "RegistryRecall",
    "RegistryStore",
    "RegistryToken",
    "RegistryUser",
    "ReindexResult",
    "Release",
    "ReleaseDraft",
    "ReleasePolicy",
    "ReleaseScan",
    "RequestRates",
    "Rescan",
    "RescanResult",
    "ScanStatus",
    "SearchOptions",
    "SearchResult",
    "ServerOptions",
    "Signature",
    "SigningKey",
    "Site",
    "SkillPage",
    "SkillSummary",
    "Sort",
    "StaticExport",
    "TokenRow",
    "TrustedPublisher",
    "WorkLimits",
    "advisory_key",
    "backup",
    "bundle",
    "changes_since",
    "check_registry",
    "check_scopes",
    "collect_garbage",
    "create_app",
    "create_token",
    "document_terms",
    "export_static",
    "invite",
    "key_file_beside",
    "key_id",
    "list_tokens",
    "list_users",
    "migrate",
    "new_signing_key",
    "open_registry",
    "plain_words",
    "public_key",
    "publish",
    "registry_url",
    "reindex_packages",
    "release_statement",
    "rescan_releases",
    "restore",
    "revoke_token",
    "search",
    "set_user_disabled",
    "sign_statement",
    "statistics",
    "unbundle",
    "verify_signature",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
