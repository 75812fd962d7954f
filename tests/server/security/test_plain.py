"""SASL PLAIN: who logs in, and what the client is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.security.mechanisms import OTHER_AUTHORIZATION_ID, InvalidTokenError, RefusedError
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


@pytest.mark.parametrize("token", ["", "anna", "\0anna", "\0anna\0secret\0", "\0\0secret", "\0anna\0"])
def test_an_invalid_token_gets_no_details(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        login(token)


def test_a_user_without_a_password_cannot_log_in() -> None:
    with pytest.raises(RefusedError):
        PlainExchange(lambda: {"anna": ""}).evaluate(b"\0anna\0x")
