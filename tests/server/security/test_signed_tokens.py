"""Signed tokens: signatures by the keys of a JWKS document, and claims."""

from typing import Any

import pytest

from server.security.oauthbearer import BearerToken, TokenRefusedError
from server.security.signed_tokens import Keys, SignedTokens, parse_keys
from tests.server.security.tokens import jwks, signed, unsecured

jwt = pytest.importorskip("jwt", reason="the extra oauth is not installed")

NOW = 1_000_000


def validate(token: str, keys: Keys | None = None, **options: Any) -> BearerToken:
    known = parse_keys(jwks("one", "two")) if keys is None else keys
    return SignedTokens(lambda: known, **options).validate(token, NOW)


def test_a_token_that_is_signed_by_a_known_key_is_valid() -> None:
    assert validate(signed()) == validate(signed(kid="two")) == BearerToken("anna", 1_100_000)


def test_a_single_key_needs_no_id() -> None:
    assert validate(signed(kid=None), parse_keys(jwks("one"))).principal == "anna"
    with pytest.raises(TokenRefusedError, match="is not in the JWKS document"):
        validate(signed(kid=None))


def test_a_missing_key_is_asked_for() -> None:
    asked: list[bool] = []
    with pytest.raises(TokenRefusedError, match="its key 'new' is not in the JWKS document"):
        validate(signed(kid="new"), missing=lambda: asked.append(True))
    assert asked == [True]


@pytest.mark.parametrize(
    "token",
    [
        signed("other"),
        unsecured({"alg": "none", "kid": "one"}),
        jwt.encode({"sub": "anna", "iat": 900, "exp": 1100}, "s" * 32, "HS256", {"kid": "one"}),
        signed(sub=None), signed(sub=" "), signed(sub="x\ud800"), signed(exp=None), signed(iat=None), signed(exp=969),
        signed(nbf=1031), signed(iat=1020, exp=1010), signed(nbf=1020, exp=1010), signed(exp="soon"), signed(exp=True), signed(exp=1e300), "", "a.b.c",
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


@pytest.mark.parametrize("document", ["", "[]", "{}", '{"keys": []}', '{"keys": 5}'])
def test_what_is_no_jwks_document_is_refused(document: str) -> None:
    with pytest.raises(ValueError, match="it is not a JWKS document"):
        parse_keys(document)
