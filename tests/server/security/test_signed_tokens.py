"""Signed tokens: signatures by the keys of a JWKS document, and claims."""

import json
from typing import Any

import pytest

from server.security.mechanisms import BearerToken, TokenRefusedError
from server.security.tokens import Keys, SignedTokens, parse_keys
from tests.server.security.tokens import claims, jwks, private_key, rsa_key, signed, unsecured

jwt = pytest.importorskip("jwt", reason="the extra oauth is not installed")

NOW = 1_000_000


def validate(token: str, keys: Keys | None = None, **options: Any) -> BearerToken:
    known = parse_keys(jwks("one", "two")) if keys is None else keys
    return SignedTokens(lambda: known, **options).validate(token, NOW)


def test_a_token_that_is_signed_by_a_known_key_is_valid() -> None:
    assert validate(signed()) == validate(signed(kid="two")) == BearerToken("anna", 1_100_000)


def document(*keys: dict[str, Any]) -> Keys:
    """Return the keys of a document with the public key of `own`, changed by these fields each."""
    (public,) = json.loads(jwks("one"))["keys"]
    merged = [{**public, **key} for key in keys]
    kept = [{name: value for name, value in key.items() if value is not None} for key in merged]
    return parse_keys(json.dumps({"keys": kept}))


def other() -> dict[str, Any]:
    """Return the coordinates of a key that is not `own`."""
    public = jwt.algorithms.ECAlgorithm.to_jwk(private_key("other").public_key(), as_dict=True)
    return {"x": public["x"], "y": public["y"]}


@pytest.mark.parametrize("kid", [None, "one"])
def test_keys_of_the_same_id_or_without_one_are_all_tried(kid: str | None) -> None:
    for known in (
        document({"kid": kid}, {**other(), "kid": kid}),
        document({**other(), "kid": kid}, {"kid": kid}),
    ):
        assert validate(signed(kid=kid), known).principal == "anna"
        with pytest.raises(TokenRefusedError, match="its signature is wrong"):
            validate(signed("third", kid), known)


def test_a_token_needs_no_id_of_its_key() -> None:
    assert validate(signed(kid=None)).principal == "anna"


def test_keys_for_encryption_verify_no_token() -> None:
    keys = document({"use": "enc"}, {"kid": "two", "use": "sig"})
    assert validate(signed(kid="two"), keys).principal == "anna"
    with pytest.raises(TokenRefusedError, match="its key 'one' for ES256 is not in the JWKS document"):
        validate(signed(), keys)


def test_keys_whose_id_is_no_text_are_ignored() -> None:
    assert [key.key_id for key in document({"kid": ["x"]}, {"kid": 5}, {})] == ["one"]


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
def test_an_rsa_key_without_an_algorithm_fits_several(algorithm: str) -> None:
    public = jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key(), as_dict=True)
    token = jwt.encode(claims(), rsa_key(), algorithm)
    assert validate(token, parse_keys(json.dumps({"keys": [public]}))).principal == "anna"
    only = parse_keys(json.dumps({"keys": [{**public, "alg": "RS256"}]}))
    if algorithm != "RS256":
        with pytest.raises(TokenRefusedError, match=f"for {algorithm} is not in the JWKS document"):
            validate(token, only)


def test_a_missing_key_is_asked_for() -> None:
    asked: list[bool] = []
    with pytest.raises(TokenRefusedError, match="its key 'new' for ES256 is not in the JWKS document"):
        validate(signed(kid="new"), missing=lambda: asked.append(True))
    assert asked == [True]


@pytest.mark.parametrize(
    "token",
    [
        signed("other"),
        unsecured({"alg": "none", "kid": "one"}),
        jwt.encode({"sub": "anna", "iat": 900, "exp": 1100}, "s" * 32, "HS256", {"kid": "one"}),
        signed(sub=None), signed(sub=" "), signed(sub="x\ud800"), signed(iat=None),
        signed(iat=1020, exp=1010), signed(nbf=1031), signed(nbf=1020, exp=1010), signed(exp=969),
        signed(exp=None), signed(exp="soon"),
        signed(exp=True), signed(exp=1e300), "", "a.b.c",
    ],
)  # fmt: skip
def test_other_tokens_are_refused(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        validate(token)


def test_the_clock_skew_is_tolerated() -> None:
    assert validate(signed(exp=971)).expires_ms == 971_000
    assert validate(signed(nbf=1030)).principal == "anna"
    with pytest.raises(TokenRefusedError, match="expired"):
        validate(signed(exp=971), clock_skew_seconds=0)


def test_the_time_of_issue_is_not_compared_with_the_present() -> None:
    assert validate(signed(iat=1090)).principal == "anna"


def test_audience_and_issuer_are_checked_if_they_are_set() -> None:
    token = signed(aud=["kafka", "other"], iss="https://issuer")
    assert validate(token, audiences=("kafka", "x"), issuer="https://issuer").principal == "anna"
    for options in ({"audiences": ("x",)}, {"issuer": "https://other"}):
        with pytest.raises(TokenRefusedError):
            validate(token, **options)


def test_the_principal_can_be_in_another_claim() -> None:
    assert validate(signed(client_id="app"), subject_claim="client_id").principal == "app"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"keys": []}',
        '{"keys": 5}',
        '{"keys": [5]}',
        '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
    ],
)
def test_what_is_no_jwks_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it is not a JWKS document"):
        parse_keys(text)
