"""The vectors of RFC 5802 (SHA-1) and RFC 7677 (SHA-256); SHA-512 against kafka-python's client."""

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
    client = scram("sha256", "user", "pencil", NONCE)
    next(client)
    for answer in answers[:-1]:
        client.send(answer)
    with pytest.raises(AuthenticationError) as refused:
        client.send(answers[-1])
    return str(refused.value)


def test_the_exchange_of_rfc_7677() -> None:
    client = scram("sha256", "user", "pencil", NONCE)
    assert next(client) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.send(CHALLENGE) == PROOF
    with pytest.raises(StopIteration):
        client.send(SIGNATURE)


def test_the_exchange_of_rfc_5802() -> None:
    client = scram("sha1", "user", "pencil", "fyko+d2lbbFgONRv9qkxdawL")
    next(client)
    nonce = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j"
    proof = client.send(nonce + b",s=QSXCR+Q6sek8bf92,i=4096")
    assert proof == b"c=biws," + nonce + b",p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
    with pytest.raises(StopIteration):
        client.send(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_sha_512_agrees_with_kafka_python() -> None:
    theirs = ScramClient("user", "pencil", "SCRAM-SHA-512")
    challenge = b"r=" + theirs.nonce + b"and-the-server's,s=QSXCR+Q6sek8bf92,i=4096"
    ours = scram("sha512", "user", "pencil", theirs.nonce.decode())
    assert next(ours) == theirs.first_message()
    theirs.process_server_first_message(challenge)
    assert ours.send(challenge) == theirs.final_message()
    with pytest.raises(StopIteration):
        ours.send(b"v=" + b64encode(theirs.server_signature))


def test_each_exchange_has_a_new_nonce() -> None:
    first = {next(scram("sha256", "user", "pencil")) for _ in range(10)}
    assert len(first) == 10
    assert all(re.fullmatch(rb"n,,n=user,r=[\w-]{32}", message) for message in first)


def test_equals_signs_and_commas_in_a_name_are_escaped() -> None:
    assert next(scram("sha256", "a=b,c", "pencil", "N")) == b"n,,n=a=3Db=2Cc,r=N"


def test_a_server_that_does_not_know_the_password_is_detected() -> None:
    assert "does not know the password" in refusal(CHALLENGE, b"v=" + b64encode(bytes(32)))


def test_a_server_error_is_reported() -> None:
    assert refusal(CHALLENGE, b"e=other-error") == "the server says other-error"


@pytest.mark.parametrize("challenge", [b"", b"\xff\xfe", b"r=,s=,i=", CHALLENGE.replace(b"W22Z", b"*!")])
def test_a_malformed_challenge_is_refused(challenge: bytes) -> None:
    assert "makes no sense" in refusal(challenge)


@pytest.mark.parametrize("nonce", [b"somebody-else's", NONCE.encode()])
def test_a_challenge_with_another_nonce_is_refused(nonce: bytes) -> None:
    assert "does not contain the client's nonce" in refusal(b"r=" + nonce + b",s=QSXCR+Q6sek8bf92,i=4096")


@pytest.mark.parametrize("iterations", [1, 4095, 2_000_000_000, -5])
def test_too_few_or_too_many_iterations_are_refused(iterations: int) -> None:
    assert f"{iterations} SCRAM iterations" in refusal(CHALLENGE.replace(b"4096", b"%d" % iterations))


@pytest.mark.parametrize("signature", [b"", b"v=", b"v=*", b"garbage"])
def test_a_malformed_signature_is_refused(signature: bytes) -> None:
    assert refusal(CHALLENGE, signature)
