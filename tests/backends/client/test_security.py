import ssl

import pytest

from backends.client.errors import AuthenticationError
from backends.client.security import Credentials, Security


def test_plain_is_one_message() -> None:
    exchange = Credentials("PLAIN", "alice", "pässword").exchange()
    assert next(exchange) == b"\0alice\0p\xc3\xa4ssword"
    with pytest.raises(StopIteration):
        exchange.send(b"")


def test_plain_ends_with_an_empty_server_message() -> None:
    exchange = Credentials("PLAIN", "alice", "password").exchange()
    next(exchange)
    with pytest.raises(AuthenticationError):
        exchange.send(b"who are you?")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_starts_with_the_user_name(mechanism: str) -> None:
    assert next(Credentials(mechanism, "alice", "password").exchange()).startswith(b"n,,n=alice,r=")


def test_a_password_is_not_printed() -> None:
    assert "secret" not in repr(Credentials("PLAIN", "alice", "secret"))


@pytest.mark.parametrize("tls", [None, ssl.create_default_context()])
@pytest.mark.parametrize("sasl", [None, Credentials("PLAIN", "us", "secret")])
def test_the_security_protocol_has_kafkas_name(tls: ssl.SSLContext | None, sasl: Credentials | None) -> None:
    name = ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT")
    assert Security(tls, sasl).protocol == name
