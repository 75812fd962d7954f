"""TLS of the Kafka listener, and a warning where it is open to others without it.

New connections get a certificate that was renewed on disk without a restart.
"""

import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from common.tls import pin, pinned_client_context, server_context
from reassignd.config.errors import SettingError
from reassignd.config.secret_files import warn_if_open
from reassignd.config.settings import EMBEDDED, Settings
from reassignd.config.watched_file import WatchedFile
from server.http.allowed_hosts import is_local

CHECK_SECONDS = 10.0
"""Between two looks at the file."""


class RenewedCertificate:
    """Looks at the certificate in handshakes, at most every CHECK_SECONDS.

    `read` returns the context of a listener with the certificate in the file. `context` remains that of the
    listener; a handshake changes to one with the renewed chain, and with the authorities of clients, by which
    OpenSSL checks them then. A file that cannot be used is logged, and the last valid chain remains. At the
    start `read` raises CommandError for it.
    """

    def __init__(
        self,
        certificate: Path,
        read: Callable[[Path], ssl.SSLContext],
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._file, self._now = WatchedFile(certificate, read), now
        self._checked = now()
        self.context = self._newest = self._file.current()
        self.context.sni_callback = self._choose

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Give the handshake the newest certificate. OpenSSL calls this for clients without SNI too."""
        if self._now() - self._checked >= CHECK_SECONDS:
            self._checked = self._now()
            self._newest = self._file.current()
        if self._newest is not self.context:
            handshake.context = self._newest


class PinnedCertificate:
    """The certificate that clients accept and no other, in a file that may be renewed.

    Those that it has had since the start are accepted too: the server may not have read the file again yet.
    Raises SettingError, naming the group of settings, for a file that cannot be used at the start. Later that
    is logged.
    """

    def __init__(self, setting: str, certificate: Path) -> None:
        self._setting = setting
        self._context: ssl.SSLContext | None = None
        self._file = WatchedFile(certificate, self._read)

    def context(self) -> ssl.SSLContext:
        """Return the context for a connection; it is always the same one. A changed file is read first."""
        return self._file.current()

    def _read(self, path: Path) -> ssl.SSLContext:
        try:
            if self._context is None:
                self._context = pinned_client_context(path)
            else:
                pin(self._context, path)
        except OSError as error:
            message = f"cannot use the {self._setting} files: {path}: {error}"
            raise SettingError(message) from error
        return self._context


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
    setting: str,
    certificate: Path,
    key: Path | None,
    client_ca: Path | None = None,
    lowest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
) -> ssl.SSLContext:
    """Return `server_context`, and warn of a key that others can read. A changed certificate is read again.

    Raises SettingError, naming the group of settings, for files that cannot be used.
    """

    def read(path: Path) -> ssl.SSLContext:
        try:
            return server_context(path, key, client_ca, lowest)
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
