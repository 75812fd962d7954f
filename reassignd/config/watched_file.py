"""A file whose content is read again when it has changed."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from reassignd.config.errors import CommandError
from reassignd.config.secret_files import warn_if_open

log = logging.getLogger(__name__)

T = TypeVar("T")

_Signature = tuple[int, int, int, int] | None


class WatchedFile(Generic[T]):
    """Reads the file at the start, and whenever it is asked for and has changed.

    `read` raises CommandError for a file that cannot be used. After the start this is logged once for each
    change, and the last valid content remains in force. `what` names the secrets of the file, for a warning
    if others can read it; empty for a file without secrets.
    """

    def __init__(self, path: Path, read: Callable[[Path], T], what: str = "") -> None:
        self._path, self._read, self._what = path, read, what
        self._signature = _signature(path)
        self._content = read(path)
        if what:
            warn_if_open(path, what)

    def current(self) -> T:
        """Return the content, at the price of one stat(2) while the file is unchanged."""
        signature = _signature(self._path)
        if signature != self._signature:
            self._signature = signature
            self._read_again()
        return self._content

    def _read_again(self) -> None:
        try:
            self._content = self._read(self._path)
        except CommandError as error:
            log.error("%s; the last valid content of the file remains in force", error)
            return
        log.info("%s was read again", self._path)
        if self._what:
            warn_if_open(self._path, self._what)


def _signature(path: Path) -> _Signature:
    try:
        found = path.stat()
    except OSError:
        return None
    # The time of the change of the inode shows a changed mode too, and cannot be set by a program.
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
