"""OpenID Connect: an identity provider, and its signed tokens. joserfc checks signatures, httpx2 speaks HTTP."""

from .job_tokens import JobTokens
from .provider import OidcProvider, SignInRequest
from .signed_tokens import SignedTokenError, verify_token

__all__ = ["JobTokens", "OidcProvider", "SignInRequest", "SignedTokenError", "verify_token"]
