"""Who may use `/v1`: local users, or clients with a token or a certificate."""

import os
from pathlib import Path

import pytest
from starlette.requests import Request

from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.listeners.http_access import http_access
from server.http import peer_user

TLS = Path(__file__).parents[3] / "reassignd" / "tls"


def settings(**values: str) -> Settings:
    return resolve(Assignment(name.replace("_", "."), value, "test") for name, value in values.items())


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("s3cret\n")
    path.chmod(0o600)
    return path


def test_a_unix_socket_is_local() -> None:
    assert http_access(settings(http_listener="unix:s")).tls is None


def test_a_listener_that_others_reach_needs_a_token_or_certificates() -> None:
    with pytest.raises(CommandError, match=r"^http.listener is 0.0.0.0:9080, which others can reach: set"):
        http_access(settings(http_listener="0.0.0.0:9080"))


def test_a_token_allows_a_public_listener(token: Path) -> None:
    assert http_access(settings(http_listener="0.0.0.0:9080", http_token_file=str(token))).tls is None


def test_an_access_file_allows_a_public_listener(tmp_path: Path) -> None:
    path = tmp_path / "access"
    path.write_text("ann viewer token look\n")
    assert http_access(settings(http_listener="0.0.0.0:9080", http_access_file=str(path))).tls is None


def test_the_token_and_the_access_file_both_apply(token: Path, tmp_path: Path) -> None:
    path = tmp_path / "access"
    path.write_text("ann viewer token look\n")
    access = http_access(settings(http_token_file=str(token), http_access_file=str(path))).access
    for shown, principal in (("s3cret", "User:token"), ("look", "User:ann")):
        headers = [(b"authorization", f"Bearer {shown}".encode())]
        assert access.identity(Request({"type": "http", "headers": headers})).principal == principal


def test_client_certificates_allow_a_public_listener() -> None:
    certificate, ca = str(TLS / "server.pem"), str(TLS / "ca.pem")
    result = http_access(
        settings(
            http_listener="0.0.0.0:9080",
            http_tls_certificate_file=certificate,
            http_tls_client_ca_file=ca,
        )
    )
    assert result.tls is not None


def test_a_server_certificate_alone_does_not_allow_a_public_listener() -> None:
    certificate = str(TLS / "server.pem")
    with pytest.raises(CommandError, match="which others can reach"):
        http_access(settings(http_listener="0.0.0.0:9080", http_tls_certificate_file=certificate))


@pytest.mark.parametrize("name", ["http_tls_key_file", "http_tls_client_ca_file"])
def test_a_key_or_a_client_ca_needs_a_certificate(name: str) -> None:
    with pytest.raises(CommandError, match=r"is set without http\.tls\.certificate\.file"):
        http_access(settings(**{name: "x.pem"}))


def test_a_missing_certificate_file_is_reported() -> None:
    with pytest.raises(CommandError, match=r"^cannot use the http.tls files: .*No such file"):
        http_access(settings(http_tls_certificate_file="no.pem"))


def test_a_token_file_that_others_can_read_is_logged(token: Path, caplog: pytest.LogCaptureFixture) -> None:
    http_access(settings(http_token_file=str(token)))
    assert caplog.text == ""
    token.chmod(0o644)
    http_access(settings(http_token_file=str(token)))
    assert "other users can read the token" in caplog.text


def test_a_token_over_plain_text_is_logged(token: Path, caplog: pytest.LogCaptureFixture) -> None:
    http_access(settings(http_listener="10.0.0.1:9080", http_token_file=str(token)))
    assert "others can read the token on its way" in caplog.text


def test_on_loopback_before_a_real_cluster_only_our_user_and_root_have_access() -> None:
    ours = {os.geteuid(), 0}
    assert http_access(settings(backend="zookeeper")).access.users == ours
    assert http_access(settings(backend="zookeeper", http_listener="unix:s")).access.users is None
    assert http_access(settings()).access.users is None


def test_without_the_users_of_connections_a_token_is_required(
    token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_user, "supported", lambda: False)
    with pytest.raises(CommandError, match=r"^this system does not say which user .* set http.token.file"):
        http_access(settings(backend="zookeeper"))
    assert http_access(settings(backend="zookeeper", http_token_file=str(token))).access.users is None


def test_host_names_are_checked_on_tcp_without_tls_only() -> None:
    certificate = str(TLS / "server.pem")
    assert http_access(settings()).names is not None
    assert http_access(settings(http_listener="unix:s")).names is None
    assert http_access(settings(http_tls_certificate_file=certificate)).names is None
