"""OpenID Connect: an identity provider, and its signed tokens. joserfc checks signatures, httpx2 speaks HTTP."""

from .provider import OidcProvider, SignInRequest
from .signed_tokens import SignedTokenError, verify_token

__all__ = ["OidcProvider", "SignInRequest", "SignedTokenError", "verify_token"]
