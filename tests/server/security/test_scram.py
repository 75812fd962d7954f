"""SCRAM, the server's side, against the client's side of this project and the example of the RFC."""

import hashlib
from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.client.errors import AuthenticationError
from backends.client.scram import scram
from controller.model.access import ScramCredential
from protocol.scram import SCRAM_MECHANISMS, ScramMechanism
from server.security.mechanisms import OTHER_AUTHORIZATION_ID, InvalidTokenError, RefusedError
from server.security.scram import ScramExchange
from server.security.scram_changes import salted_credential

NAMES = st.text(st.characters(min_codepoint=1, max_codepoint=0x7F), min_size=1)
SHA_256 = SCRAM_MECHANISMS[0]


def credential(
    user: str,
    password: str,
    mechanism: ScramMechanism = SHA_256,
    salt: bytes = b"salt",
    iterations: int = 4096,
) -> ScramCredential:
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
    return salted_credential(user, mechanism.name, mechanism.hash_name, salt, iterations, salted)


def exchange(known: ScramCredential | None, mechanism: ScramMechanism = SHA_256) -> ScramExchange:
    def find(user: str, name: str) -> ScramCredential | None:
        return known if known is not None and known.key == (user, name) else None

    return ScramExchange(mechanism, find, lambda: "server-nonce")


def logs_in(server: ScramExchange, user: str, password: str, mechanism: ScramMechanism = SHA_256) -> None:
    """Run both sides to the end; the client checks the server's signature."""
    client = scram(mechanism.hash_name, user, password)
    message = next(client)
    try:
        while True:
            message = client.send(server.evaluate(message))
    except StopIteration:
        pass


@settings(max_examples=20)
@given(NAMES, st.text(min_size=1), st.sampled_from(SCRAM_MECHANISMS))
def test_client_and_server_prove_to_each_other_that_they_know_the_password(
    user: str, password: str, mechanism: ScramMechanism
) -> None:
    server = exchange(credential(user, password, mechanism), mechanism)
    logs_in(server, user, password, mechanism)
    assert server.user == user


@settings(max_examples=20)
@given(st.text(min_size=1), st.text(min_size=1))
def test_another_password_is_refused(password: str, other: str) -> None:
    server = exchange(credential("anna", password))
    with pytest.raises(InvalidTokenError, match="a wrong password"):
        logs_in(server, "anna", password + other)
    assert server.user is None


def test_the_example_of_the_rfc() -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    known = credential("user", "pencil", salt=salt)
    server = ScramExchange(SHA_256, lambda *_: known, lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    assert server.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    last = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert server.evaluate(last) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


FIRST = b"n,,n=anna,r=abc"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"y,,n=anna,r=abc",
        b"n,,n=eve,r=abc",
        b"n,,n=an\xff,r=abc",
        b"n,,n=a=41,r=b",
        FIRST + b",tokenauth=true",
    ],
)
def test_a_first_message_that_is_invalid_or_of_an_unknown_user_is_refused(message: bytes) -> None:
    with pytest.raises(InvalidTokenError):
        exchange(credential("anna", "secret")).evaluate(message)


@pytest.mark.parametrize("message", [b"", b"c=biws,r=abc,p=AAAA", b"c=biws,r=abcserver-nonce,p=A", b"p=AAAA"])
def test_an_invalid_last_message_is_refused(message: bytes) -> None:
    server = exchange(credential("anna", "secret"))
    server.evaluate(FIRST)
    with pytest.raises(InvalidTokenError):
        server.evaluate(message)
    with pytest.raises(InvalidTokenError):
        server.evaluate(b"c=biws,r=abcserver-nonce,p=AAAA")


def test_the_authorization_id_must_be_the_user() -> None:
    known = credential("a,b=", "secret")
    assert exchange(known).evaluate(b"n,a=a=2Cb=3D,n=a=2Cb=3D,r=abc").startswith(b"r=abcserver-nonce,")
    with pytest.raises(RefusedError, match=OTHER_AUTHORIZATION_ID):
        exchange(known).evaluate(b"n,a=eve,n=a=2Cb=3D,r=abc")


def test_the_client_notices_a_server_without_the_password() -> None:
    impostor = credential("anna", "secret")._replace(server_key=b"x" * 32)
    with pytest.raises(AuthenticationError, match="impostor"):
        logs_in(exchange(impostor), "anna", "secret")
