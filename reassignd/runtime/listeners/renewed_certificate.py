"""A certificate that was renewed on disk: new connections get it without a restart."""

import ssl
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from common.tls import pin, pinned_client_context
from reassignd.config.watched_file import WatchedFile
from reassignd.errors import SettingError

CHECK_SECONDS = 10.0
"""Between two looks at the file."""


class RenewedCertificate:
    """Looks at the certificate in handshakes, at most every CHECK_SECONDS.

    `read` returns the context of a listener with the certificate in the file. `context` remains that of the listener; a
    handshake changes to one with the renewed chain, and with the authorities of clients, by which OpenSSL checks them then.
    A file that cannot be used is logged, and the last valid chain remains. At the start `read` raises CommandError for it.
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

    Those that it has had since the start are accepted too: the server may not have read the file again yet. Raises
    SettingError, naming the group of settings, for a file that cannot be used at the start. Later that is logged.
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
