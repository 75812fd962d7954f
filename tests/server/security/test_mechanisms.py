"""PLAIN: who logs in, and what the client is told. OAUTHBEARER: messages, and the two steps of a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.security.mechanisms import (
    CONFIRMATION,
    LARGEST_TOKEN,
    OTHER_AUTHORIZATION_ID,
    BearerExchange,
    BearerToken,
    InvalidTokenError,
    PlainExchange,
    RefusedError,
    TokenRefusedError,
    error_document,
)

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)
USERS = {"anna": "secret", "bob": "geheim"}


def login(token: str) -> str | None:
    exchange = PlainExchange(lambda: USERS)
    assert exchange.evaluate(token.encode()) == b""
    return exchange.user


@given(TEXTS, TEXTS)
def test_every_user_logs_in_with_the_password(user: str, password: str) -> None:
    exchange = PlainExchange(lambda: {user: password})
    exchange.evaluate(f"\0{user}\0{password}".encode())
    assert exchange.user == user


@given(TEXTS, TEXTS, TEXTS)
def test_another_password_is_refused(user: str, password: str, other: str) -> None:
    exchange = PlainExchange(lambda: {user: password + other})
    with pytest.raises(RefusedError, match=r"^Authentication failed: Invalid username or password$"):
        exchange.evaluate(f"\0{user}\0{password}".encode())
    assert exchange.user is None


def test_the_authorization_id_must_be_the_user() -> None:
    assert login("anna\0anna\0secret") == "anna"
    with pytest.raises(RefusedError, match=OTHER_AUTHORIZATION_ID):
        login("bob\0anna\0secret")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        ("\0anna", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        ("\0anna\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        ("\0anna\0secret\0\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        ("\0\0secret", "Authentication failed: username not specified"),
        ("\0anna\0", "Authentication failed: password not specified"),
    ],
)
def test_an_invalid_token_is_refused_with_kafka_s_message(token: str, message: str) -> None:
    with pytest.raises(RefusedError, match=f"^{message}$"):
        login(token)


def test_a_user_without_a_password_cannot_log_in() -> None:
    with pytest.raises(RefusedError):
        PlainExchange(lambda: {"anna": ""}).evaluate(b"\0anna\0x")


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

    room = LARGEST_TOKEN - len(message(""))
    BearerExchange(remember).evaluate(message(room * "a"))
    with pytest.raises(InvalidTokenError, match="of 65537 bytes, where 65536 are allowed"):
        BearerExchange(remember).evaluate(message((room + 1) * "a"))
    assert parsed == [room]
