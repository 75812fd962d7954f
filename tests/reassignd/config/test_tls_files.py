import ssl
from pathlib import Path

import pytest

from reassignd.config.tls_files import blocks, show, trust

TLS = Path(__file__).parents[2] / "reassignd" / "tls"
CA = (TLS / "ca.pem").read_text()
ANN = (TLS / "ann.pem").read_text()


@pytest.fixture
def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def on_one_line(pem: str) -> str:
    """As properties files give it whose lines are continued by backslashes."""
    return " ".join(pem.split("\n"))


def test_what_stands_around_the_blocks_is_passed_over() -> None:
    assert blocks(f"Alias name: ca\n\n{CA}\n*****\n", "CERTIFICATE") == blocks(CA, "CERTIFICATE")
    assert blocks(ANN, "CERTIFICATE").count("BEGIN") == 1
    assert blocks(CA, "PRIVATE KEY") == ""


def test_only_the_certificates_given_are_trusted(context: ssl.SSLContext) -> None:
    trust(context, CA)
    assert [row["subject"] for row in context.get_ca_certs()] == [((("commonName", "ca"),),)]


def test_a_certificate_on_one_line(context: ssl.SSLContext) -> None:
    trust(context, on_one_line(CA))
    assert len(context.get_ca_certs()) == 1


def test_a_chain_and_its_key_on_one_line(context: ssl.SSLContext) -> None:
    show(context, on_one_line(ANN), "")


@pytest.mark.parametrize("text", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA"])
def test_text_without_a_certificate(context: ssl.SSLContext, text: str) -> None:
    with pytest.raises(ValueError, match="no PEM certificate"):
        trust(context, text)
    with pytest.raises(ValueError, match="no PEM certificate"):
        show(context, text, "")


def test_a_chain_without_a_key(context: ssl.SSLContext) -> None:
    with pytest.raises(ValueError, match="no PEM private key"):
        show(context, blocks(ANN, "CERTIFICATE"), "")


def test_a_key_of_another(context: ssl.SSLContext) -> None:
    other = blocks((TLS / "eve.pem").read_text(), "PRIVATE KEY")
    with pytest.raises(ssl.SSLError):
        show(context, blocks(ANN, "CERTIFICATE") + other, "")


def test_a_certificate_that_is_garbage_within(context: ssl.SSLContext) -> None:
    with pytest.raises(ssl.SSLError):
        trust(context, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----")
