import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from common.tls import (
    client_context,
    client_context_from_files,
    load_identity,
    peer_certificate,
    pem_blocks,
    pinned_client_context,
    server_context,
)
from tests.server.security.certificates import transport

TLS = Path(__file__).parents[1] / "reassignd" / "tls"
CA = (TLS / "ca.pem").read_text()
ANN = (TLS / "ann.pem").read_text()


@pytest.fixture
def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def on_one_line(pem: str) -> str:
    """Return the text as a properties file gives it whose lines end with backslashes."""
    return " ".join(pem.split("\n"))


def test_text_around_pem_blocks_is_ignored() -> None:
    assert pem_blocks(f"Alias name: ca\n\n{CA}\n*****\n", "CERTIFICATE") == pem_blocks(CA, "CERTIFICATE")
    assert pem_blocks(ANN, "CERTIFICATE").count("BEGIN") == 1
    assert pem_blocks(CA, "PRIVATE KEY") == ""


def test_only_the_given_certificates_are_trusted() -> None:
    context = client_context(CA)
    assert [row["subject"] for row in context.get_ca_certs()] == [((("commonName", "ca"),),)]


def test_without_authorities_those_of_the_system_are_trusted() -> None:
    assert client_context(None).cert_store_stats() == ssl.create_default_context().cert_store_stats()


def test_host_names_are_checked_unless_that_is_turned_off() -> None:
    assert client_context(CA).check_hostname
    assert not client_context(CA, check_hostname=False).check_hostname


def test_a_certificate_on_one_line() -> None:
    assert len(client_context(on_one_line(CA)).get_ca_certs()) == 1


def test_a_chain_and_its_key_on_one_line(context: ssl.SSLContext) -> None:
    load_identity(context, on_one_line(ANN), "")


@pytest.mark.parametrize("text", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA"])
def test_text_without_a_certificate(context: ssl.SSLContext, text: str) -> None:
    with pytest.raises(ValueError, match="no PEM certificate"):
        client_context(text)
    with pytest.raises(ValueError, match="no PEM certificate"):
        load_identity(context, text, "")


def test_a_chain_without_a_key(context: ssl.SSLContext) -> None:
    with pytest.raises(ValueError, match="no PEM private key"):
        load_identity(context, pem_blocks(ANN, "CERTIFICATE"), "")


def test_a_key_that_does_not_match_the_certificate(context: ssl.SSLContext) -> None:
    other = pem_blocks((TLS / "eve.pem").read_text(), "PRIVATE KEY")
    with pytest.raises(ssl.SSLError):
        load_identity(context, pem_blocks(ANN, "CERTIFICATE") + other, "")


def test_a_certificate_with_invalid_content() -> None:
    with pytest.raises(ssl.SSLError):
        client_context("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----")


def test_a_listener_may_accept_client_certificates() -> None:
    assert server_context(TLS / "server.pem", None).verify_mode is ssl.CERT_NONE
    assert server_context(TLS / "server.pem", None, TLS / "ca.pem").verify_mode is ssl.CERT_OPTIONAL


def gets_ticket(server: ssl.SSLContext, version: ssl.TLSVersion) -> bool:
    """Return whether a client that connects by this version of TLS could resume its session by a ticket."""
    trust = client_context(CA)
    trust.maximum_version = version
    sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(received, sent, server_hostname="localhost")
    side = server.wrap_bio(sent, received, server_side=True)
    for step in (client.do_handshake, side.do_handshake) * 3:
        with suppress(ssl.SSLWantReadError):
            step()
    side.write(b"x")
    assert client.read() == b"x"
    return client.session is not None and client.session.has_ticket


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_of_clients_with_certificates_have_no_tickets(version: ssl.TLSVersion) -> None:
    assert gets_ticket(server_context(TLS / "server.pem", None), version)
    assert not gets_ticket(server_context(TLS / "server.pem", None, TLS / "ca.pem"), version)


def test_a_client_context_from_files() -> None:
    assert len(client_context_from_files(TLS / "ca.pem", TLS / "ann.pem").get_ca_certs()) == 1
    with pytest.raises(OSError, match="No such file"):
        client_context_from_files(certificate_file=TLS / "no.pem")


def test_an_encrypted_key_is_refused_without_a_prompt() -> None:
    encrypted = TLS / "encrypted.pem"
    for key in (None, encrypted):
        with pytest.raises(OSError, match=f"the key in {encrypted} is encrypted"):
            server_context(encrypted, key)
    with pytest.raises(OSError, match=f"the key in {encrypted} is encrypted"):
        client_context_from_files(certificate_file=encrypted)


def test_a_pinned_certificate_is_trusted_under_any_host_name() -> None:
    assert not pinned_client_context(TLS / "server.pem").check_hostname


def test_authorities_behind_a_pinned_certificate_are_not_trusted(tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    chain.write_text((TLS / "server.pem").read_text() + CA)
    assert pinned_client_context(chain).cert_store_stats()["x509"] == 1
    assert pinned_client_context(chain).get_ca_certs() == []


def test_a_file_without_a_certificate_cannot_be_pinned(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    with pytest.raises(ssl.SSLError, match="there is no PEM certificate in it"):
        pinned_client_context(empty)


def test_a_connection_without_tls_has_no_certificate() -> None:
    assert peer_certificate(asyncio.BaseTransport()) is None
    assert peer_certificate(transport(b"shown")) == b"shown"
