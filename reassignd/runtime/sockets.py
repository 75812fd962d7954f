"""Listening sockets, and what to say when there can be none."""

import errno
import logging
import os
import resource
import socket
from pathlib import Path

from common.address import Address
from reassignd.config.config import in_words
from reassignd.config.setting_types import SocketPath
from reassignd.errors import CommandError

log = logging.getLogger(__name__)

BACKLOG = 1024
"""Connections that wait to be accepted; 1,000 clients may come at once."""


def bind(address: Address, setting: str) -> socket.socket:
    """A socket that listens on the address; raises `refused`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise refused(error, address, setting) from error
    listening.setblocking(False)
    return listening


def bind_path(place: SocketPath, setting: str) -> socket.socket:
    """A unix socket that only its owner can connect to; one that nobody listens on any more is replaced."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_stale(place.path)
        listening.bind(str(place.path))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        reason = "it is in use" if error.errno == errno.EADDRINUSE else str(error.strerror or error).lower()
        raise CommandError(f"cannot listen on {place}: {reason}; change {in_words(setting)}") from error
    finally:
        os.umask(before)
    listening.setblocking(False)
    return listening


def _remove_stale(path: Path) -> None:
    if path.is_socket():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()


def refused(error: OSError, address: Address, setting: str) -> CommandError:
    """What to say when an address cannot be listened on; `setting` names what to change."""
    return CommandError(f"cannot listen on {address}: {_reason(error, address)}; change {in_words(setting)}")


def allow_files(wanted: int) -> int:
    """Raise the process's limit of open files to `wanted`, as far as the system lets us, and return it.

    A shell's is often 1024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def _reason(error: OSError, address: Address) -> str:
    # Whoever binds adds the address to the text, and passes a resolver's (negative) number on as errno.
    number = error.errno or 0
    if number == errno.EADDRINUSE:
        return f"port {address.port} is in use"
    return f"the host '{address.host}' is not known" if number < 0 else os.strerror(number).lower()
