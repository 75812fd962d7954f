from pathlib import Path

import pytest

from reassignd.config.config import Assignment, Settings, resolve
from reassignd.errors import CommandError
from reassignd.runtime.listeners.listener_security import listener_tls, warn_of_plain_text

TLS = Path(__file__).parents[3] / "reassignd" / "tls"


def settings(**values: str) -> Settings:
    return resolve(Assignment(name.replace("_", "."), value, "test") for name, value in values.items())


def test_without_a_certificate_the_listener_has_no_tls() -> None:
    assert listener_tls(settings()) is None


def test_a_key_needs_a_certificate() -> None:
    with pytest.raises(CommandError, match=r"is set without listener\.tls\.certificate\.file"):
        listener_tls(settings(listener_tls_key_file="x.pem"))


def test_a_missing_certificate_file_is_reported() -> None:
    with pytest.raises(CommandError, match=r"^cannot use the listener.tls files: .*No such file"):
        listener_tls(settings(listener_tls_certificate_file="no.pem"))


def test_a_certificate_with_its_key_gives_a_context() -> None:
    assert listener_tls(settings(listener_tls_certificate_file=str(TLS / "server.pem"))) is not None


@pytest.mark.parametrize("backend", ["embedded", "zookeeper"])
def test_a_public_listener_in_plain_text_is_logged(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    warn_of_plain_text(settings(backend=backend))
    assert caplog.text == ""
    warn_of_plain_text(settings(backend=backend, listener="10.0.0.1:9092"))
    assert "the listener 10.0.0.1:9092 is not on loopback and has no TLS" in caplog.text
