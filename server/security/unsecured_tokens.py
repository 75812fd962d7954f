"""Unsecured JSON Web Tokens, for tests (KIP-255; Kafka: OAuthBearerUnsecuredValidatorCallbackHandler).

They have no signature: who can connect can be everyone. `nbf` is not checked, as in Kafka.
"""

import json
import math
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from server.security.oauthbearer import BearerToken, TokenRefusedError, principal_in


class UnsecuredTokens(NamedTuple):
    """The options of the validator; they have the names of Kafka's, without `unsecuredValidator`."""

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
