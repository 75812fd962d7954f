"""SCRAM, the server's side, against the client's side of this project and the example of the RFC."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.client.errors import AuthenticationError
from backends.client.scram import scram
from controller.model.access import ScramCredential
from protocol.scram import SHA_256, SHA_512, ScramMechanism
from server.security.mechanisms import OTHER_AUTHORIZATION_ID, InvalidTokenError, RefusedError
from server.security.scram import ScramExchange
from server.security.scram_credentials import password_credential
from tests.examples import examples
from tests.server.security.test_scram_credentials import SALT, SERVER, STORED

NAMES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1)
PASSWORDS = st.text(st.characters(codec="utf-8"), min_size=1)


def exchange(known: ScramCredential, nonce: str | None = "server-nonce") -> ScramExchange:
    def find(user: str, name: str) -> ScramCredential | None:
        return known if known.key == (user, name) else None

    return ScramExchange(known.mechanism, find, nonce)


def logs_in(server: ScramExchange, user: str, password: str, mechanism: ScramMechanism = SHA_256) -> None:
    """Run both sides to the end; the client checks the server's signature."""
    client = scram(mechanism.name, user, password)
    message = next(client)
    try:
        while True:
            message = client.send(server.evaluate(message))
    except StopIteration:
        pass


@settings(max_examples=examples(20))
@given(NAMES, PASSWORDS, st.sampled_from([SHA_256, SHA_512]))
def test_client_and_server_prove_to_each_other_that_they_know_the_password(
    user: str, password: str, mechanism: ScramMechanism
) -> None:
    server = exchange(password_credential(user, mechanism, password), None)
    logs_in(server, user, password, mechanism)
    assert server.user == user


def test_another_password_is_refused() -> None:
    server = exchange(password_credential("anna", SHA_256, "ﬁ"))
    with pytest.raises(InvalidTokenError, match="client keys"):
        logs_in(server, "anna", "fi")
    assert server.user is None


def test_the_example_of_the_rfc() -> None:
    known = ScramCredential("user", SHA_256.name, SALT, STORED, SERVER, 4096)
    server = exchange(known, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    assert server.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    last = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert server.evaluate(last) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


ANNA = password_credential("anna", SHA_256, "secret")
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
        exchange(ANNA).evaluate(message)


@pytest.mark.parametrize("message", [b"\xff", b"c=biws,r=abc,p=AAAA"])
def test_an_invalid_last_message_is_refused(message: bytes) -> None:
    server = exchange(ANNA)
    server.evaluate(FIRST)
    with pytest.raises(InvalidTokenError):
        server.evaluate(message)
    with pytest.raises(InvalidTokenError):
        server.evaluate(b"c=biws,r=abcserver-nonce,p=AAAA")


def test_another_authorization_id_is_refused_with_a_message() -> None:
    with pytest.raises(RefusedError, match=OTHER_AUTHORIZATION_ID):
        exchange(ANNA).evaluate(b"n,a=eve,n=anna,r=abc")


def test_the_client_notices_a_server_without_the_password() -> None:
    impostor = ANNA._replace(server_key=b"x" * 32)
    with pytest.raises(AuthenticationError, match="signature"):
        logs_in(exchange(impostor), "anna", "secret")
