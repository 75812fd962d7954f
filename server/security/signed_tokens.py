"""Signed JSON Web Tokens, checked with the keys of a JWKS document (KIP-768; Kafka: BrokerJwtValidator).

The library PyJWT belongs to the extra `oauth`. It is imported when keys are read.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from server.security.oauthbearer import BearerToken, TokenRefusedError, principal_in

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with public keys only: a key of a JWKS document is no secret."""

RSA_ALGORITHMS = ALGORITHMS[:6]

Keys = Sequence["PyJWK"]
"""Keys for signatures, each with its algorithm; several may have the same id."""


def parse_keys(document: str) -> Keys:
    """Return the keys for signatures in a JWKS document. Raises ValueError, which names the fault."""
    import jwt

    try:
        given = [each for key in json.loads(document)["keys"] for each in _for_signatures(key)]
        keys = [key for key in jwt.PyJWKSet(given) if key.algorithm_name in ALGORITHMS]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, jwt.PyJWTError) as error:
        raise ValueError(f"it is not a JWKS document: {error}") from error
    if not keys:
        raise ValueError("it is not a JWKS document: it has no key for signatures")
    return keys


def _for_signatures(key: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the key with each algorithm that it fits; an RSA key that names none fits several, as in Kafka."""
    if key.get("use") not in (None, "sig") or not isinstance(key.get("kid"), str | None):
        return []
    if key.get("kty") == "RSA" and not key.get("alg"):
        return [{**key, "alg": algorithm} for algorithm in RSA_ALGORITHMS]
    return [key]


class SignedTokens(NamedTuple):
    """The checks of a token. `audiences`: one of them must be in the token; none or an empty issuer: not checked.

    `missing` is called when a token has a key that is not known, so that the keys can be read again.
    """

    keys: Callable[[], Keys]
    audiences: Sequence[str] = ()
    issuer: str = ""
    subject_claim: str = "sub"
    clock_skew_seconds: int = 30
    missing: Callable[[], None] = lambda: None

    def validate(self, serialized: str, now_ms: int) -> BearerToken:
        """Return the token. Raises TokenRefusedError."""
        import jwt

        try:
            for key in self._fitting(jwt.get_unverified_header(serialized)):
                with suppress(jwt.InvalidSignatureError):
                    return self._checked(self._claims(serialized, key), now_ms)
        except jwt.PyJWTError as error:
            raise TokenRefusedError(str(error)) from error
        raise TokenRefusedError("its signature is wrong")

    def _claims(self, serialized: str, key: "PyJWK") -> Mapping[str, Any]:
        import jwt

        claims: Mapping[str, Any] = jwt.decode(
            serialized,
            key,
            algorithms=ALGORITHMS,
            audience=list(self.audiences) or None,
            issuer=self.issuer or None,
            leeway=self.clock_skew_seconds,
            # The times are checked later, against `now_ms`.
            options={
                "require": ["exp", "iat"],
                "verify_aud": bool(self.audiences),
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
                "verify_sub": False,
            },
        )
        return claims

    def _checked(self, claims: Mapping[str, Any], now_ms: int) -> BearerToken:
        principal, skew = principal_in(claims, self.subject_claim), 1000 * self.clock_skew_seconds
        times = [claims["exp"], claims["iat"], claims.get("nbf", claims["iat"])]
        if not all(type(time) in (int, float) and abs(time) < 2**53 for time in times):
            raise TokenRefusedError("exp, iat or nbf is not a time")
        expires, issued, valid_from = (1000 * time for time in times)
        if now_ms - skew >= expires:
            raise TokenRefusedError("it has expired (exp)")
        if expires < max(issued, valid_from):
            raise TokenRefusedError("it expires (exp) before it was issued (iat), or is valid (nbf)")
        # As in Kafka, only `nbf` is compared with the present time.
        if "nbf" in claims and valid_from > now_ms + skew:
            raise TokenRefusedError("it is valid (nbf) in the future")
        return BearerToken(principal, int(expires))

    def _fitting(self, header: Mapping[str, Any]) -> Keys:
        """Return the keys that the token may be signed by: those with its id, or all for a token without one."""
        name, algorithm = str(header.get("kid") or ""), header.get("alg")
        if algorithm not in ALGORITHMS:
            raise TokenRefusedError("its algorithm (alg) is not one with a public key")
        fitting = [key for key in self.keys() if key.algorithm_name == algorithm and name in ("", key.key_id)]
        if not fitting:
            self.missing()
            raise TokenRefusedError(f"its key {name[:80]!r} for {algorithm} is not in the JWKS document")
        return fitting
