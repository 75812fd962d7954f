"""A certificate that was renewed on disk: new connections get it without a restart."""

import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from common.tls import server_context
from reassignd.config.watched_file import WatchedFile
from reassignd.errors import CommandError

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""Between two looks at the file."""


class RenewedCertificate:
    """Looks at the certificate in handshakes, at most every CHECK_SECONDS.

    `context` remains that of the listener; a handshake changes to one with the renewed chain, and with the authorities of
    clients, by which OpenSSL checks them then. A file that cannot be used is logged, and the last valid chain remains.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        certificate: Path,
        key: Path | None,
        client_ca: Path | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        def read(path: Path) -> ssl.SSLContext:
            try:
                return server_context(path, key, client_ca)
            except OSError as error:
                raise CommandError(f"cannot use the certificate in {path}: {error}") from error

        self._file, self._now = WatchedFile(certificate, read), now
        self._checked = now()
        self._first = self._newest = self._file.current()
        context.sni_callback = self._choose

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Give the handshake the newest certificate. OpenSSL calls this for clients without SNI too."""
        if self._now() - self._checked >= CHECK_SECONDS:
            self._checked = self._now()
            self._newest = self._file.current()
        if self._newest is not self._first:
            handshake.context = self._newest
