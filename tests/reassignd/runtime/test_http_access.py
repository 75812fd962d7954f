"""Who may use `/v1`: local, or with something to show."""

import os
from pathlib import Path

import pytest

from reassignd.config.config import Assignment, Settings, resolve
from reassignd.errors import CommandError
from reassignd.runtime.http_access import http_access, warn_of_plain_text
from server.http import peer_user

TLS = Path(__file__).parents[2] / "reassignd" / "tls"


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


def test_where_others_can_reach_it_something_must_be_shown() -> None:
    with pytest.raises(CommandError, match=r"^http.listener is 0.0.0.0:9080, which others can reach: set"):
        http_access(settings(http_listener="0.0.0.0:9080"))


def test_a_token_opens_it_to_others(token: Path) -> None:
    assert http_access(settings(http_listener="0.0.0.0:9080", http_token_file=str(token))).tls is None


def test_certificates_open_it_to_others() -> None:
    certificate, ca = str(TLS / "server.pem"), str(TLS / "ca.pem")
    made = http_access(
        settings(
            http_listener="0.0.0.0:9080",
            http_tls_certificate_file=certificate,
            http_tls_client_ca_file=ca,
        )
    )
    assert made.tls is not None


def test_a_certificate_of_its_own_is_not_enough() -> None:
    certificate = str(TLS / "server.pem")
    with pytest.raises(CommandError, match="which others can reach"):
        http_access(settings(http_listener="0.0.0.0:9080", http_tls_certificate_file=certificate))


@pytest.mark.parametrize("name", ["http_tls_key_file", "http_tls_client_ca_file"])
def test_a_key_or_an_authority_goes_with_a_certificate(name: str) -> None:
    with pytest.raises(CommandError, match=r"is set without http\.tls\.certificate\.file"):
        http_access(settings(**{name: "x.pem"}))


def test_a_certificate_that_cannot_be_read_is_told() -> None:
    with pytest.raises(CommandError, match=r"^cannot use the http.tls files: .*No such file"):
        http_access(settings(http_tls_certificate_file="no.pem"))


def test_a_token_that_others_can_read_is_warned_of(token: Path, caplog: pytest.LogCaptureFixture) -> None:
    http_access(settings(http_token_file=str(token)))
    assert caplog.text == ""
    token.chmod(0o644)
    http_access(settings(http_token_file=str(token)))
    assert "others can read the token" in caplog.text


@pytest.mark.parametrize("backend", ["embedded", "zookeeper"])
def test_a_listener_in_plain_text_that_others_reach_is_warned_of(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_plain_text(settings(backend=backend))
    assert caplog.text == ""
    warn_of_plain_text(settings(backend=backend, listener="10.0.0.1:9092"))
    assert "the listener 10.0.0.1:9092 is not on loopback and has no TLS" in caplog.text


def test_a_token_in_plain_text_is_warned_of(token: Path, caplog: pytest.LogCaptureFixture) -> None:
    http_access(settings(http_listener="10.0.0.1:9080", http_token_file=str(token)))
    assert "others can read the token on its way" in caplog.text


def test_before_a_running_cluster_loopback_is_open_to_our_own_user_and_root() -> None:
    ours = {os.geteuid(), 0}
    assert http_access(settings(backend="zookeeper")).access.users == ours
    assert http_access(settings(backend="zookeeper", http_listener="unix:s")).access.users is None
    assert http_access(settings()).access.users is None


def test_where_the_system_tells_no_users_a_token_is_asked_for(
    token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_user, "supported", lambda: False)
    with pytest.raises(CommandError, match=r"^this system does not say which user .* set http.token.file"):
        http_access(settings(backend="zookeeper"))
    assert http_access(settings(backend="zookeeper", http_token_file=str(token))).access.users is None


def test_names_are_judged_on_tcp_without_tls_only() -> None:
    certificate = str(TLS / "server.pem")
    assert http_access(settings()).names is not None
    assert http_access(settings(http_listener="unix:s")).names is None
    assert http_access(settings(http_tls_certificate_file=certificate)).names is None
