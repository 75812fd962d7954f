"""Signed JSON Web Tokens, checked with the keys of a JWKS document (KIP-768; Kafka: BrokerJwtValidator).

The library PyJWT belongs to the extra `oauth`. It is imported when keys are read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from server.security.oauthbearer import BearerToken, TokenRefusedError, principal_in

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with public keys only: a key of a JWKS document is no secret."""

Keys = Mapping[str, Any]
"""Key id -> key. A key without an id has the empty one."""


def parse_keys(document: str) -> Keys:
    """Return the keys of a JWKS document. Raises ValueError, which names the fault."""
    import jwt

    try:
        keys = jwt.PyJWKSet.from_json(document).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is not a JWKS document: {error}") from error
    return {key.key_id or "": key for key in keys}


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
            claims = jwt.decode(
                serialized,
                self._key(jwt.get_unverified_header(serialized)),
                algorithms=ALGORITHMS,
                audience=list(self.audiences) or None,
                issuer=self.issuer or None,
                leeway=self.clock_skew_seconds,
                # The times are checked below, against `now_ms`.
                options={
                    "require": ["exp", "iat"],
                    "verify_aud": bool(self.audiences),
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                    "verify_sub": False,
                },
            )
        except jwt.PyJWTError as error:
            raise TokenRefusedError(str(error)) from error
        return self._checked(claims, now_ms)

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

    def _key(self, header: Mapping[str, Any]) -> Any:  # noqa: ANN401 - PyJWK is imported only when needed
        keys, name = self.keys(), str(header.get("kid") or "")
        if name in keys:
            return keys[name]
        if not name and len(keys) == 1:
            return next(iter(keys.values()))
        self.missing()
        raise TokenRefusedError(f"its key {name[:80]!r} is not in the JWKS document")
