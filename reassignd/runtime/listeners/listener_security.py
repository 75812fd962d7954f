"""Security of the Kafka listener: its TLS context, and a warning where it is open to others."""

import logging
import ssl
from pathlib import Path

from common.tls import server_context
from reassignd.config.config import EMBEDDED, Settings
from reassignd.config.secret_files import warn_if_open
from reassignd.errors import SettingError
from reassignd.runtime.listeners.renewed_certificate import RenewedCertificate
from server.http.refusals import is_local

log = logging.getLogger(__name__)


def listener_tls(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context of the Kafka listener; None for plain text. Raises SettingError."""
    certificate, key = settings.listener_tls_certificate_file, settings.listener_tls_key_file
    if certificate is None:
        if key is not None:
            raise SettingError("listener.tls.key.file is set without listener.tls.certificate.file")
        return None
    return checked_server_context("listener.tls", certificate, key)


def checked_server_context(
    setting: str, certificate: Path, key: Path | None, client_ca: Path | None = None
) -> ssl.SSLContext:
    """Return `server_context`, and warn of a key that others can read. A changed certificate is read again.

    Raises SettingError, naming the group of settings, for files that cannot be used.
    """

    def read(path: Path) -> ssl.SSLContext:
        try:
            return server_context(path, key, client_ca)
        except OSError as error:
            files = ", ".join(str(file) for file in (path, key, client_ca) if file is not None)
            raise SettingError(f"cannot use the {setting} files: {files}: {error}") from error

    context = RenewedCertificate(certificate, read).context
    warn_if_open(certificate if key is None else key, "the private key")
    return context


def warn_of_plain_text(settings: Settings) -> None:
    """Log a warning when the Kafka listener is reachable from other hosts and has no TLS."""
    if settings.listener_tls_certificate_file is not None or is_local(settings.listener.host):
        return
    risk = (
        "everybody who reaches it can use the embedded cluster"
        if settings.backend == EMBEDDED and not settings.listener_security_protocol.startswith("SASL_")
        else "others can read what clients send"
    )
    log.warning(
        "the listener %s is not on loopback and has no TLS: %s; see listener.tls.certificate.file",
        settings.listener,
        risk,
    )
