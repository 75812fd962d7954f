"""Builders of tokens and keys.

The packages for signed ones belong to the extra `oauth`, so functions import them.
"""

import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import Any


def part(value: object) -> str:
    """Return the value as a part of a token."""
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def claims(**given: Any) -> dict[str, Any]:
    """Return the claims of `anna`, valid from 900 to 1100 s; a claim None is left out."""
    all_claims = {"sub": "anna", "iat": 900, "exp": 1100} | given
    return {name: value for name, value in all_claims.items() if value is not None}


def unsecured(header: object = None, **given: Any) -> str:
    """Return an unsecured token with these `claims`."""
    return f"{part(header or {'alg': 'none'})}.{part(claims(**given))}."


@cache
def private_key(name: str) -> Any:
    """Return the private key of this name, the same one for each call."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_key() -> Any:
    """Return a private RSA key, the same one for each call."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(65537, 2048)


def jwks(*ids: str) -> str:
    """Return a JWKS document with the public key of `own` under these ids."""
    from jwt.algorithms import ECAlgorithm

    public = ECAlgorithm.to_jwk(private_key("own").public_key(), as_dict=True)
    return json.dumps({"keys": [{**public, "kid": each, "alg": "ES256"} for each in ids]})


def signed(key: str = "own", kid: str | None = "one", **given: Any) -> str:
    """Return a token with these `claims`, signed by the key of this name."""
    import jwt

    token: str = jwt.encode(claims(**given), private_key(key), "ES256", {} if kid is None else {"kid": kid})
    return token
