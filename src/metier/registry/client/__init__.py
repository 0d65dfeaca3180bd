"""The client side of a registry: the HTTP client, logins and signing keys, and the use cases publish and search."""

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metier.registry.domain.secrets import find_secrets
    from metier.registry.oci_artifact import MANIFEST_TYPE, oci_digest
    from metier.registry.wire import PublishReceipt, ReleaseFinding

    from .advisory_lists import AdvisoryLists, KnownList
    from .checked_skill import CheckedSkill, check_skill
    from .credentials import Logins, SigningKeyFile
    from .file_selection import SelectedFiles, select_files
    from .http_client import Json, RegistryClient, ResponseCache, registry_url
    from .job_token import has_job_token
    from .oci_package import PackedSkill, pack_for_oci
    from .recall import RegistryRecall
    from .use_cases import PublishOptions, PublishResult, SearchOptions, SearchResult, publish, search

__all__ = [
    "MANIFEST_TYPE",
    "AdvisoryLists",
    "CheckedSkill",
    "Json",
    "KnownList",
    "Logins",
    "PackedSkill",
    "PublishOptions",
    "PublishReceipt",
    "PublishResult",
    "RegistryClient",
    "RegistryRecall",
    "ReleaseFinding",
    "ResponseCache",
    "SearchOptions",
    "SearchResult",
    "SelectedFiles",
    "SigningKeyFile",
    "check_skill",
    "find_secrets",
    "has_job_token",
    "oci_digest",
    "pack_for_oci",
    "publish",
    "registry_url",
    "search",
    "select_files",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.registry.domain.secrets": ("find_secrets",),
            "metier.registry.oci_artifact": ("MANIFEST_TYPE", "oci_digest"),
            "metier.registry.wire": ("PublishReceipt", "ReleaseFinding"),
            "metier.registry.client.advisory_lists": ("AdvisoryLists", "KnownList"),
            "metier.registry.client.checked_skill": ("CheckedSkill", "check_skill"),
            "metier.registry.client.oci_package": ("PackedSkill", "pack_for_oci"),
            "metier.registry.client.credentials": ("Logins", "SigningKeyFile"),
            "metier.registry.client.file_selection": ("SelectedFiles", "select_files"),
            "metier.registry.client.http_client": ("Json", "RegistryClient", "ResponseCache", "registry_url"),
            "metier.registry.client.job_token": ("has_job_token",),
            "metier.registry.client.recall": ("RegistryRecall",),
            "metier.registry.client.use_cases": (
                "PublishOptions",
                "PublishResult",
                "SearchOptions",
                "SearchResult",
                "publish",
                "search",
            ),
        },
    )
