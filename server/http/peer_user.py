"""The local user at the other end of a connection: on loopback by Linux's netlink interface (`sock_diag(7)`).

The kernel returns the owner of the socket whose local address is the peer's. So clients need no credentials,
and no secret is stored in a file.
"""

import contextlib
import socket
import struct
from asyncio.trsock import TransportSocket
from typing import Any

SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST = 1
ANY = 0xFFFFFFFF

HEADER = struct.Struct("=IHHII")
"""Length, type, flags, sequence, port of a netlink message (struct nlmsghdr)."""
QUERY = struct.Struct("=BBBxI")
"""Family, protocol, extensions, states (the head of struct `inet_diag_req_v2`)."""
PORTS = struct.Struct("!HH")
ENDS = 16
"""Bytes of an address of either family."""
ANSWER_HEAD = struct.Struct("=BBBB")
"""Family, state, timer, retransmits (the head of struct `inet_diag_msg`)."""
ANSWER_TAIL = struct.Struct("=IIIII")
"""Expiry, receive queue, send queue, user, inode."""
SOCKET_ID = PORTS.size + 2 * ENDS + 12

ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT = 1, 4, 5, 8

CREDENTIALS = struct.Struct("=iII")
"""Process, user and group of the peer of a unix socket (struct ucred, unix(7))."""

SECONDS = 1.0
"""Timeout for the kernel's answer, which comes at once."""


def user_of(accepted: socket.socket | TransportSocket | None) -> int | None:
    """Return the user id of an accepted socket's peer.

    The result is None when the user is not known: the peer is on another machine or has closed, or this is
    not Linux.
    """
    if accepted is not None and accepted.family == socket.AF_UNIX and hasattr(socket, "SO_PEERCRED"):
        _, user, _ = CREDENTIALS.unpack(
            accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        )
        return int(user)
    if (
        accepted is None
        or accepted.family not in (socket.AF_INET, socket.AF_INET6)
        or not hasattr(socket, "AF_NETLINK")
    ):
        return None
    with contextlib.suppress(OSError, struct.error, ValueError):
        user = _ask(accepted.family, accepted.getpeername(), accepted.getsockname())
        # While this end is open, no other socket can have the same pair of addresses: the user is the peer's.
        [state] = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        return user if state in (ESTABLISHED, CLOSE_WAIT) else None
    return None


def supported() -> bool:
    """Return whether the system supports this. Tries it with a connection of this process."""
    with (
        contextlib.suppress(OSError),
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with accepted:
            return user_of(accepted) is not None
    return False


def _ask(family: int, peer: tuple[Any, ...], own: tuple[Any, ...]) -> int | None:
    """Return the owner of the socket that is bound to `peer` and connected to `own`."""
    ends = b"".join(socket.inet_pton(family, address[0]).ljust(ENDS, b"\0") for address in (peer, own))
    identity = PORTS.pack(peer[1], own[1]) + ends + struct.pack("=III", 0, ANY, ANY)
    query = QUERY.pack(family, socket.IPPROTO_TCP, 0, ANY) + identity
    message = HEADER.pack(HEADER.size + len(query), SOCK_DIAG_BY_FAMILY, REQUEST, 1, 0) + query
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as kernel:
        kernel.settimeout(SECONDS)
        kernel.send(message)
        return _owner(kernel.recv(4096))


def _owner(answer: bytes) -> int | None:
    _, kind, *_ = HEADER.unpack_from(answer)
    if kind != SOCK_DIAG_BY_FAMILY:
        return None
    _, state, *_ = ANSWER_HEAD.unpack_from(answer, HEADER.size)
    *_, user, inode = ANSWER_TAIL.unpack_from(answer, HEADER.size + ANSWER_HEAD.size + SOCKET_ID)
    # Without an inode no process owns the socket, and its user would be shown as root.
    owned = inode != 0 and state in (ESTABLISHED, FIN_WAIT1, FIN_WAIT2)
    return user if owned else None
