"""What this project adds to scramp.

Passwords as Kafka takes them, a limit of iterations, and its kind of errors.
"""

import re
from base64 import b64encode

import pytest
from kafka.net.sasl.scram import ScramClient

from backends.client.errors import AuthenticationError
from backends.client.scram import scram

NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def refusal(*answers: bytes) -> str:
    """Return the client's error after the last of these server messages."""
    client = scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    next(client)
    for answer in answers[:-1]:
        client.send(answer)
    with pytest.raises(AuthenticationError) as refused:
        client.send(answers[-1])
    return str(refused.value)


def test_the_exchange_of_rfc_7677() -> None:
    client = scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert next(client) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.send(CHALLENGE) == PROOF
    with pytest.raises(StopIteration):
        client.send(SIGNATURE)


@pytest.mark.parametrize("password", ["pencil", "Ⅸ x\u00ad²", "\U0001f511"])
def test_a_password_is_taken_as_it_is_as_by_kafka_python(password: str) -> None:
    theirs = ScramClient("user", password, "SCRAM-SHA-512")
    challenge = b"r=" + theirs.nonce + b"and-the-server's,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    ours = scram("SCRAM-SHA-512", "user", password, theirs.nonce.decode())
    assert next(ours) == theirs.first_message()
    theirs.process_server_first_message(challenge)
    assert ours.send(challenge) == theirs.final_message()
    with pytest.raises(StopIteration):
        ours.send(b"v=" + b64encode(theirs.server_signature))


def test_each_exchange_has_a_new_nonce() -> None:
    first = {next(scram("SCRAM-SHA-256", "a=b,c", "pencil")) for _ in range(10)}
    assert len(first) == 10
    assert all(re.fullmatch(rb"n,,n=a=3Db=2Cc,r=\w{32,}", message) for message in first)


def test_a_server_that_does_not_know_the_password_is_detected() -> None:
    assert "The server signature doesn't match" in refusal(CHALLENGE, b"v=" + b64encode(bytes(32)))


def test_a_server_error_is_reported() -> None:
    assert refusal(CHALLENGE, b"e=other-error").endswith("The server returned an error: other-error")


@pytest.mark.parametrize("answers", [(b"\xff",), (CHALLENGE.replace(b"r=rO", b"r=x"),), (CHALLENGE, b"\xff")])
def test_a_wrong_answer_is_refused(answers: tuple[bytes, ...]) -> None:
    assert refusal(*answers).startswith("the SCRAM exchange failed: ")


def test_too_many_iterations_are_refused() -> None:
    assert "200001 SCRAM iterations" in refusal(CHALLENGE.replace(b"4096", b"200001"))
