"""Listening sockets, and error messages for those that cannot be opened."""

import errno
import logging
import os
import resource
import socket
from pathlib import Path

from common.address import Address
from reassignd.config.config import key_and_option
from reassignd.config.setting_types import SocketPath
from reassignd.errors import CommandError

log = logging.getLogger(__name__)

BACKLOG = 1024
"""Connections that wait to be accepted; 1,000 clients may connect at the same time."""


def bind(address: Address, setting: str) -> socket.socket:
    """Return a socket that listens on the address. Raises CommandError; `setting` is the key to change."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise refused(error, address, setting) from error
    listening.setblocking(False)
    return listening


def bind_path(path: SocketPath, setting: str) -> socket.socket:
    """Return a unix socket that only its owner can connect to. A stale socket file is replaced. Raises CommandError."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_stale(path.path)
        listening.bind(str(path.path))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        reason = "it is in use" if error.errno == errno.EADDRINUSE else str(error.strerror or error).lower()
        raise CommandError(f"cannot listen on {path}: {reason}; change {key_and_option(setting)}") from error
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
    """Return the error for an address that cannot be listened on; `setting` is the key to change."""
    return CommandError(
        f"cannot listen on {address}: {_reason(error, address)}; change {key_and_option(setting)}"
    )


def allow_files(wanted: int) -> int:
    """Raise the process's limit of open files to `wanted`, as far as the system allows, and return the limit.

    The default of a shell is often 1024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def _reason(error: OSError, address: Address) -> str:
    # asyncio adds the address to the text, and gives the (negative) number of a resolver error as errno.
    number = error.errno or 0
    if number == errno.EADDRINUSE:
        return f"port {address.port} is in use"
    return f"the host '{address.host}' is not known" if number < 0 else os.strerror(number).lower()
