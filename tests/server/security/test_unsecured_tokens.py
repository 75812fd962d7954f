"""Unsecured tokens: claims, times and scopes, as Kafka's validator checks them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.security.mechanisms import BearerToken, TokenRefusedError
from server.security.tokens import UnsecuredTokens
from tests.server.security.tokens import part, unsecured

NOW = 1_000_000


def validate(token: str, **options: Any) -> BearerToken:
    return UnsecuredTokens(**options).validate(token, NOW)


def test_a_token_has_a_principal_and_an_expiry() -> None:
    assert validate(unsecured()) == BearerToken("anna", 1_100_000)
    assert validate(unsecured(exp=1000.0005)) == BearerToken("anna", 1_000_001)
    assert validate(unsecured(iat=None)) == BearerToken("anna", 1_100_000)


def test_the_principal_can_be_in_another_claim() -> None:
    assert validate(unsecured(sub=None, name="bob"), principal_claim_name="name").principal == "bob"


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": None}, {"sub": " "}, {"sub": 5}, {"sub": "x\ud800"}, {"exp": None},
        {"exp": "1100"}, {"exp": True}, {"exp": 1000}, {"exp": 10**400}, {"iat": 1001}, {"iat": "900"},
        {"iat": 950, "exp": 950},
    ],
)  # fmt: skip
def test_missing_claims_and_wrong_times_are_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(TokenRefusedError) as raised:
        validate(unsecured(**claims))
    assert raised.value.scope is None


def test_a_clock_skew_is_tolerated() -> None:
    assert validate(unsecured(exp=999), allowable_clock_skew_ms=1_001).principal == "anna"
    assert validate(unsecured(iat=1001), allowable_clock_skew_ms=1_000).principal == "anna"


@pytest.mark.parametrize("scope", ["a", ["b", "a "], ["a", "c"]])
def test_required_scopes_are_in_the_token(scope: object) -> None:
    assert validate(unsecured(scope=scope), required_scope=("a",)).principal == "anna"


@pytest.mark.parametrize("scope", [None, "", "a b", ["b"], []])
def test_a_missing_scope_is_named(scope: object) -> None:
    with pytest.raises(TokenRefusedError) as raised:
        validate(unsecured(scope=scope), required_scope=("a", "c"))
    assert raised.value.scope == "[a, c]"


def test_a_scope_that_is_no_text_is_refused() -> None:
    with pytest.raises(TokenRefusedError, match="the scope is neither"):
        validate(unsecured(scope=[1]))


SIGNED = unsecured() + "c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "..",
        "a.b.c.d",
        SIGNED,
        unsecured({"alg": "RS256"}),
        f"{part([])}.{part({})}.",
        "!!.!!.",
        f"{'W' * 40_000}.{part({})}.",
    ],
)
def test_what_is_no_unsecured_token_is_refused(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        validate(token)


@given(st.text())
def test_no_text_causes_another_error(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        validate(token)


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.integers(0, 2_000))
def test_a_token_is_valid_from_its_issue_to_its_expiry(issued: int, expires: int, now: int) -> None:
    try:
        UnsecuredTokens().validate(unsecured(iat=issued, exp=expires), now * 1000)
        accepted = True
    except TokenRefusedError:
        accepted = False
    assert accepted == (issued <= now < expires)
