"""OAUTHBEARER: messages, and the two steps of a refusal."""

import pytest

from server.security.mechanisms import InvalidTokenError, RefusedError
from server.security.oauthbearer import (
    CONFIRMATION,
    LARGEST,
    BearerExchange,
    BearerToken,
    TokenRefusedError,
    error_document,
)


def validate(serialized: str) -> BearerToken:
    if serialized == "scope":
        raise TokenRefusedError("no", "[a, b]")
    if serialized != "good":
        raise TokenRefusedError("no")
    return BearerToken("anna", 5_000)


def message(token: str, authorized: str = "", extensions: str = "") -> bytes:
    return f"n,{authorized},\x01auth=Bearer {token}\x01{extensions}\x01".encode()


@pytest.mark.parametrize(
    "first", [message("good"), message("good", "a=anna"), message("good", extensions="trace=1 2\x01")]
)
def test_a_valid_token_logs_in(first: bytes) -> None:
    exchange = BearerExchange(validate)
    assert exchange.evaluate(first) == b""
    assert (exchange.user, exchange.expires_ms) == ("anna", 5_000)


def test_the_authorization_id_must_be_the_principal() -> None:
    with pytest.raises(RefusedError, match=r"authorization id \(bob\) that is different from .* \(anna\)$"):
        BearerExchange(validate).evaluate(message("good", "a=bob"))


@pytest.mark.parametrize(("token", "scope"), [("bad", None), ("scope", "[a, b]")])
def test_a_refused_token_is_answered_and_then_confirmed(token: str, scope: str | None) -> None:
    exchange, document = BearerExchange(validate), error_document(scope)
    assert exchange.evaluate(message(token)) == document.encode()
    with pytest.raises(RefusedError) as raised:
        exchange.evaluate(CONFIRMATION)
    assert str(raised.value) == document
    assert exchange.user is None


def test_the_documents_are_those_of_kafka() -> None:
    assert error_document(None) == '{"status":"invalid_token"}'
    assert error_document("[a]") == '{"status":"insufficient_scope", "scope":"[a]"}'


@pytest.mark.parametrize(
    "first",
    [
        b"",
        CONFIRMATION,
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
        b"y,,\x01auth=Bearer good\x01\x01",
    ],
)
def test_an_invalid_message_gets_no_details(first: bytes) -> None:
    with pytest.raises(InvalidTokenError):
        BearerExchange(validate).evaluate(first)


def test_a_large_message_is_refused_before_its_token_is_parsed() -> None:
    parsed: list[int] = []

    def remember(serialized: str) -> BearerToken:
        parsed.append(len(serialized))
        return BearerToken("anna", 5_000)

    room = LARGEST - len(message(""))
    BearerExchange(remember).evaluate(message(room * "a"))
    with pytest.raises(InvalidTokenError, match="of 65537 bytes, where 65536 are allowed"):
        BearerExchange(remember).evaluate(message((room + 1) * "a"))
    assert parsed == [room]
