"""The checks of JSON Web Tokens: unsecured ones, and those that are signed with a key of a JWKS document.

PyJWT belongs to the extra `oauth`. It is imported when keys are read.
"""

import json
import math
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from server.security.mechanisms import BearerToken, TokenRefusedError, principal_in

if TYPE_CHECKING:
    from jwt import PyJWK


class UnsecuredTokens(NamedTuple):
    """Checks of tokens for tests (KIP-255; Kafka: OAuthBearerUnsecuredValidatorCallbackHandler).

    They have no signature: who can connect can be everyone. `nbf` is not checked, as in Kafka. The options
    have the names of Kafka's, without `unsecuredValidator`.
    """

    principal_claim_name: str = "sub"
    scope_claim_name: str = "scope"
    required_scope: Sequence[str] = ()
    allowable_clock_skew_ms: int = 0

    def validate(self, serialized: str, now_ms: int) -> BearerToken:
        """Return the token. Raises TokenRefusedError."""
        claims = _claims(serialized)
        principal = principal_in(claims, self.principal_claim_name)
        issued, expires = _seconds(claims, "iat"), _seconds(claims, "exp")
        if expires is None:
            raise TokenRefusedError("there is no expiry (exp)")
        if issued is not None and 1000 * issued > now_ms + self.allowable_clock_skew_ms:
            raise TokenRefusedError("it was issued (iat) in the future")
        if now_ms - self.allowable_clock_skew_ms >= 1000 * expires:
            raise TokenRefusedError("it has expired (exp)")
        if issued is not None and expires <= issued:
            raise TokenRefusedError("it expired (exp) before it was issued (iat)")
        if not set(self.required_scope) <= _scopes(claims.get(self.scope_claim_name)):
            raise TokenRefusedError("it lacks a required scope", f"[{', '.join(self.required_scope)}]")
        return BearerToken(principal, math.floor(expires * 1000 + 0.5))


def _claims(serialized: str) -> Mapping[str, Any]:
    parts = serialized.split(".")
    if len(parts) != 3 or ".." in serialized:
        raise TokenRefusedError("it does not have three parts")
    header, claims = _object(parts[0]), _object(parts[1])
    if header.get("alg") != "none" or parts[2]:
        raise TokenRefusedError("it is signed, and only unsecured tokens are accepted")
    return claims


def _object(part: str) -> Mapping[str, Any]:
    try:
        decoded = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError) as error:
        raise TokenRefusedError("it is not JSON in base64") from error
    if not isinstance(decoded, dict):
        raise TokenRefusedError("it is not a JSON object")
    return decoded


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefusedError(f"the claim {name} is not a number")
    if not abs(value) < 2**53:
        raise TokenRefusedError(f"the claim {name} is not a time")
    return float(value)


def _scopes(claim: object) -> set[str]:
    if claim is None:
        return set()
    scopes = claim if isinstance(claim, list) else [claim]
    texts = [scope.strip() for scope in scopes if isinstance(scope, str)]
    if len(texts) < len(scopes):
        raise TokenRefusedError("the scope is neither a text nor a list of texts")
    return {text for text in texts if text}


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
    """Return the key with each algorithm that it fits.

    An RSA key that names none fits several, as in Kafka.
    """
    if key.get("use") not in (None, "sig") or not isinstance(key.get("kid"), str | None):
        return []
    if key.get("kty") == "RSA" and not key.get("alg"):
        return [{**key, "alg": algorithm} for algorithm in RSA_ALGORITHMS]
    return [key]


class SignedTokens(NamedTuple):
    """Checks of a signed token (KIP-768; Kafka: BrokerJwtValidator).

    `audiences`: one of them must be in the token; none or an empty issuer: not checked.

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
        """Return the keys that the token may be signed by.

        They are those with its id, or all for a token without one.
        """
        name, algorithm = str(header.get("kid") or ""), header.get("alg")
        if algorithm not in ALGORITHMS:
            raise TokenRefusedError("its algorithm (alg) is not one with a public key")
        fitting = [key for key in self.keys() if key.algorithm_name == algorithm and name in ("", key.key_id)]
        if not fitting:
            self.missing()
            raise TokenRefusedError(f"its key {name[:80]!r} for {algorithm} is not in the JWKS document")
        return fitting
