"""SASL PLAIN: who logs in, and what the client is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.security.mechanisms import OTHER_AUTHORIZATION_ID, RefusedError
from server.security.plain import PlainExchange

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
