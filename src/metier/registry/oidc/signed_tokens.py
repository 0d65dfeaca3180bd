"""Checks a signed token (JWT) of an identity provider: its signature, issuer, audience and times.

Only asymmetric algorithms are accepted, so `none` and a public key used as a shared secret never pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joserfc import jwt
from joserfc.errors import (
    BadSignatureError,
    ExpiredTokenError,
    InvalidClaimError,
    JoseError,
    MissingClaimError,
)
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey, import_key

from metier.registry.domain.access import UnauthenticatedError

__all__ = ["Claims", "SignedTokenError", "UnknownKeyError", "key_set", "verify_token"]

Claims = dict[str, Any]  # Any: JSON of the provider
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
_SKEW_SECONDS = 60
_LONGEST = 64 * 1024
_CLOCK_HINT = "sign in again; if it happens each time, the clock of this server or of the identity provider is wrong"
_WRONG_CLAIMS = {"aud": "it was made for another client", "iss": "it is from another issuer"}


class SignedTokenError(UnauthenticatedError):
    """A token that is not one of the provider for this registry."""

    code = "signed-token"

    def __init__(self, reason: str, *, hint: str = "sign in again") -> None:
        self.reason = reason
        super().__init__(f"the identity provider's token is not valid: {reason}", hint=hint)


class UnknownKeyError(SignedTokenError):
    """The token names a key that is not in the set, as after a change of keys."""


def key_set(document: Mapping[str, Any]) -> KeySet:
    """Returns the public signature keys of a JWKS document. Kinds of keys that are not known are left out."""
    keys: list[OctKey | RSAKey | ECKey | OKPKey] = []
    for entry in document.get("keys") or ():
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        try:
            key = import_key(entry)
        except (JoseError, ValueError):
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            keys.append(key)
    return KeySet(keys)


def verify_token(text: str, keys: KeySet, *, issuer: str, audience: str, now: int) -> Claims:
    """Returns the claims; `now` is in seconds. Raises SignedTokenError."""
    if len(text) > _LONGEST:
        raise SignedTokenError("it is too long")
    rules = jwt.JWTClaimsRegistry(
        now=now,
        leeway=_SKEW_SECONDS,
        iss={"essential": True, "value": issuer},
        aud={"essential": True, "value": audience},
        exp={"essential": True},
        iat={"essential": True},
        sub={"essential": True},
    )
    try:
        token = jwt.decode(text, lambda found: _choose(keys, found.headers()), algorithms=_ALGORITHMS)
        rules.validate(token.claims)
    except ExpiredTokenError:
        raise SignedTokenError("it has expired", hint=_CLOCK_HINT) from None
    except BadSignatureError:
        raise SignedTokenError("its signature is wrong") from None
    except InvalidClaimError as error:
        if error.claim in ("iat", "nbf"):
            raise SignedTokenError("it is from the future", hint=_CLOCK_HINT) from None
        raise SignedTokenError(_WRONG_CLAIMS.get(error.claim, f"its {error.claim} is wrong")) from None
    except MissingClaimError as error:
        raise SignedTokenError(f"it has no {error.claim}") from None
    except JoseError as error:
        raise SignedTokenError(error.description or error.error) from None
    except (ValueError, TypeError):
        raise SignedTokenError("it is not a signed token") from None
    claims: Claims = token.claims
    audiences = claims["aud"]
    # OpenID Connect Core 3.1.3.7: of several audiences, the authorized party must be this client.
    if isinstance(audiences, list) and len(audiences) > 1 and claims.get("azp") != audience:
        raise SignedTokenError("it was made for another client")
    return claims


def _choose(keys: KeySet, headers: Mapping[str, Any]) -> RSAKey | ECKey | OKPKey:
    """Returns the key that the token names; a token without a name needs a set of one key."""
    wanted = headers.get("kid")
    found = [key for key in keys.keys if wanted is None or key.kid == wanted]
    if len(found) != 1 or not isinstance(found[0], RSAKey | ECKey | OKPKey):
        raise UnknownKeyError("it names a key that the provider does not have")
    return found[0]
