"""Who may use `/v1`: local, or with something to show."""

from pathlib import Path

import pytest

from reassignd.access import door
from reassignd.config import Assignment, Settings, resolve
from reassignd.errors import CommandError

TLS = Path(__file__).parent / "tls"


def settings(**values: str) -> Settings:
    return resolve(Assignment(name.replace("_", "."), value, "test") for name, value in values.items())


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("s3cret\n")
    path.chmod(0o600)
    return path


def test_a_unix_socket_is_local() -> None:
    assert door(settings(http_listener="unix:s")).tls is None


def test_where_others_can_reach_it_something_must_be_shown() -> None:
    with pytest.raises(CommandError, match=r"^http.listener is 0.0.0.0:9080, which others can reach: set"):
        door(settings(http_listener="0.0.0.0:9080"))


def test_a_token_opens_it_to_others(token: Path) -> None:
    assert door(settings(http_listener="0.0.0.0:9080", http_token_file=str(token))).tls is None


def test_certificates_open_it_to_others() -> None:
    certificate, ca = str(TLS / "server.pem"), str(TLS / "ca.pem")
    made = door(
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
        door(settings(http_listener="0.0.0.0:9080", http_tls_certificate_file=certificate))


@pytest.mark.parametrize("name", ["http_tls_key_file", "http_tls_client_ca_file"])
def test_a_key_or_an_authority_goes_with_a_certificate(name: str) -> None:
    with pytest.raises(CommandError, match=r"is set without http\.tls\.certificate\.file"):
        door(settings(**{name: "x.pem"}))


def test_a_certificate_that_cannot_be_read_is_told() -> None:
    with pytest.raises(CommandError, match=r"^cannot use the http.tls files: .*No such file"):
        door(settings(http_tls_certificate_file="no.pem"))


def test_a_token_that_others_can_read_is_warned_of(token: Path, caplog: pytest.LogCaptureFixture) -> None:
    door(settings(http_token_file=str(token)))
    assert caplog.text == ""
    token.chmod(0o644)
    door(settings(http_token_file=str(token)))
    assert "others can read the token" in caplog.text
