"""The client side of a registry: the HTTP client, logins and signing keys, and the use cases publish and search."""

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metier.registry.domain.secrets import find_secrets

    from .credentials import Logins, SigningKeyFile
    from .file_selection import SelectedFiles, select_files
    from .http_client import RegistryClient, ResponseCache, registry_url
    from .use_cases import PublishOptions, PublishResult, SearchOptions, SearchResult, publish, search

__all__ = [
    "Logins",
    "PublishOptions",
    "PublishResult",
    "RegistryClient",
    "ResponseCache",
    "SearchOptions",
    "SearchResult",
    "SelectedFiles",
    "SigningKeyFile",
    "find_secrets",
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
            "metier.registry.client.credentials": ("Logins", "SigningKeyFile"),
            "metier.registry.client.file_selection": ("SelectedFiles", "select_files"),
            "metier.registry.client.http_client": ("RegistryClient", "ResponseCache", "registry_url"),
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
