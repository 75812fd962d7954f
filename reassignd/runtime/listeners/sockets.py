"""Listening sockets, why one cannot be opened, and the limits of connections and open files."""

import errno
import logging
import os
import resource
import socket
from pathlib import Path

from common.address import Address
from reassignd.config.errors import CommandError
from reassignd.config.setting_types import SocketPath
from reassignd.config.settings import EMBEDDED, Settings, key_and_option
from server.connections.client_connection import ConnectionLimits

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
    """Return a unix socket that only its owner can connect to.

    A stale socket file is replaced. Raises CommandError.
    """
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


SPARE = 100
"""Descriptors that are no connections: the store, log files, the libraries."""

LINKS = 3
"""Descriptors for each port: its listener, and our own connections to the broker that it leads to."""

FEW = 0.9
"""Below this fraction of the configured connections a warning is logged."""

FEWEST = 10
"""The least number of connections of either kind."""


def share(settings: Settings) -> Settings:
    """Raise the process's limit of open files. If it stays too low, return settings with fewer connections.

    A connection to an embedded broker needs one descriptor; a relayed connection needs two. With fewer
    connections, clients cannot use up the descriptors that records and brokers need.
    """
    per_client = 1 if settings.backend == EMBEDDED else 2
    reserved = SPARE + LINKS * settings.ports
    clients, http = settings.max_connections, settings.http_max_connections
    wanted = reserved + per_client * clients + http
    allowed = allow_files(wanted)
    if allowed >= wanted:
        return settings
    left = allowed - reserved
    http = min(http, max(left // 4, FEWEST))
    clients = min(clients, max((left - http) // per_client, FEWEST))
    # The default is more than most gateways need, so a small reduction deserves no warning at each start.
    few = clients < settings.max_connections * FEW
    log.log(
        logging.WARNING if few else logging.INFO,
        "%d open files are allowed, %d may be needed: %d connections are accepted for Kafka, %d for HTTP;"
        " raise `ulimit -n`",
        allowed,
        wanted,
        clients,
        http,
    )
    return Settings({**settings.values, "max.connections": clients, "http.max.connections": http})


def limits(settings: Settings) -> ConnectionLimits:
    """Return the limits of client connections."""
    return ConnectionLimits(
        max_connections=settings.max_connections,
        idle=settings.connections_max_idle_ms / 1000,
        handshake=settings.tls_handshake_timeout_ms / 1000,
        frame=settings.frame_timeout_ms / 1000,
        max_frame=settings.socket_request_max_bytes,
        login_frame=settings.sasl_server_max_receive_size,
        held_bytes=settings.connections_max_held_bytes,
    )
