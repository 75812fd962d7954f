"""The security of listeners: contradictions in the settings, and what a valid configuration makes of them."""

import ssl
from pathlib import Path

import pytest

from controller.model.access import ScramCredential
from controller.modes import EMBEDDED
from controller.state.state import State
from reassignd.config.errors import CommandError
from reassignd.runtime.listeners.listener_gate import ListenerSecurity, ScramCredentials, listener_security
from tests.reassignd.runtime.listeners.test_tls import TLS_KEYS, settings

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SERVER, CA = str(TLS_KEYS / "server.pem"), str(TLS_KEYS / "ca.pem")


def security(**values: str) -> ListenerSecurity:
    return listener_security(settings(**values), State(mode=EMBEDDED))


def test_the_default_is_open() -> None:
    made = security()
    assert (made.protocol, made.tls, made.is_open) == ("PLAINTEXT", None, True)
    assert made.gate(lambda *_: None).new_login() is None
    assert security(listener_tls_certificate_file=SERVER).protocol == "SSL"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"listener_security_protocol": "SASL_SSL"}, "SASL_SSL needs listener.tls.certificate.file"),
        (
            {"listener_security_protocol": "PLAINTEXT", "listener_tls_certificate_file": SERVER},
            "but listener.security.protocol=PLAINTEXT has no TLS",
        ),
        ({"listener_tls_key_file": "x"}, "listener.tls.key.file is set without"),
        ({"ssl_client_auth": "required"}, "but the listener has no TLS"),
        (
            {"ssl_client_auth": "required", "listener_tls_certificate_file": SERVER},
            "ssl.client.auth=required needs listener.tls.client.ca.file",
        ),
        ({"ssl_principal_mapping_rules": "RULE:x"}, "ssl.principal.mapping.rules: invalid rule: RULE:x"),
        ({"sasl_users_file": "x"}, "sasl.users.file is set, but the listener has no SASL"),
        ({"super_users": "User:a"}, "super.users has no effect without authorizer.class.name"),
        (
            {"super_users": "a", "authorizer_class_name": AUTHORIZER},
            "a is not a principal such as User:admin",
        ),
        (
            {"sasl_users_file": "/nowhere/users", "listener_security_protocol": "SASL_PLAINTEXT"},
            "cannot read /nowhere/users: No such file or directory",
        ),
    ],
)
def test_contradictions_are_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        security(**values)


def test_certificates_can_be_requested_or_required() -> None:
    with_ca = {"listener_tls_certificate_file": SERVER, "listener_tls_client_ca_file": CA}
    modes = []
    for wanted in ("none", "requested", "required"):
        made = security(**with_ca, ssl_client_auth=wanted)
        assert made.tls is not None
        modes.append((made.tls.verify_mode, made.is_open))
    assert modes == [
        (ssl.CERT_NONE, True), (ssl.CERT_OPTIONAL, True), (ssl.CERT_REQUIRED, False),
    ]  # fmt: skip


def test_super_users_are_separated_by_semicolons() -> None:
    made = security(authorizer_class_name=AUTHORIZER, super_users="User:a; User:CN=b,O=c;")
    assert made.authorizer is not None
    assert made.authorizer.super_users == {"User:a", "User:CN=b,O=c"}
    assert not made.is_open


def test_mechanisms_are_offered_in_the_order_of_the_setting(caplog: pytest.LogCaptureFixture) -> None:
    made = security(
        listener_security_protocol="SASL_PLAINTEXT", sasl_enabled_mechanisms="OAUTHBEARER,SCRAM-SHA-512"
    )
    assert list(made.mechanisms) == ["OAUTHBEARER", "SCRAM-SHA-512"]
    assert "every client can log in as any user" in caplog.text
    assert made.gate(lambda *_: None).new_login() is not None


def test_users_come_from_a_file_and_from_the_jaas_setting(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("anna one\n")
    (tmp_path / "users").chmod(0o600)
    made = security(
        listener_security_protocol="SASL_PLAINTEXT",
        sasl_users_file=str(tmp_path / "users"),
        plain_sasl_jaas_config='PlainLoginModule required user_bob="two";',
    )
    for token in (b"\0anna\0one", b"\0bob\0two"):
        assert made.mechanisms["PLAIN"]().evaluate(token) == b""
    first = made.mechanisms["SCRAM-SHA-256"]().evaluate(b"n,,n=anna,r=abc")
    assert first.startswith(b"r=abc")


def test_a_stored_credential_takes_precedence_over_a_password_in_the_file() -> None:
    state, users = State(mode=EMBEDDED), {"anna": "one"}
    credentials = ScramCredentials(state, lambda: users)
    made = credentials.find("anna", "SCRAM-SHA-256")
    assert made is not None
    assert credentials.find("anna", "SCRAM-SHA-256") is made
    users["anna"] = "two"
    assert credentials.find("anna", "SCRAM-SHA-256") != made
    assert credentials.find("bob", "SCRAM-SHA-256") is None
    stored = ScramCredential("anna", "SCRAM-SHA-256", b"s", b"k", b"v", 4096)
    state.put(stored)
    assert credentials.find("anna", "SCRAM-SHA-256") is stored
