"""Which user of this machine holds the other end of a loopback connection, as Linux tells by netlink (sock_diag(7)).

The kernel is asked for the socket whose local address is our peer's. No secret has to be kept in a file, and clients need
nothing to show.
"""

import contextlib
import socket
import struct
from typing import Any

SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST = 1
ANY = 0xFFFFFFFF

HEADER = struct.Struct("=IHHII")
"""Length, type, flags, sequence, port of a netlink message (struct nlmsghdr)."""
QUERY = struct.Struct("=BBBxI")
"""Family, protocol, extensions, states (the head of struct inet_diag_req_v2)."""
PORTS = struct.Struct("!HH")
ENDS = 16
"""Bytes of an address of either family."""
ANSWER_HEAD = struct.Struct("=BBBB")
"""Family, state, timer, retransmits (the head of struct inet_diag_msg)."""
ANSWER_TAIL = struct.Struct("=IIIII")
"""Expiry, receive queue, send queue, user, inode."""
SOCKET_ID = PORTS.size + 2 * ENDS + 12

ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT = 1, 4, 5, 8

SECONDS = 1.0
"""How long the kernel is waited for; it answers at once."""


def user_of(ours: Any) -> int | None:
    """The user id of our TCP socket's peer; None when the system does not know it: it is on another machine, or gone, or this is not Linux."""
    if (
        ours is None
        or ours.family not in (socket.AF_INET, socket.AF_INET6)
        or not hasattr(socket, "AF_NETLINK")
    ):
        return None
    with contextlib.suppress(OSError, struct.error, ValueError):
        found = _ask(ours.family, ours.getpeername(), ours.getsockname())
        # While our end lives nobody else can have the same pair of addresses: what was found is our peer.
        [state] = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        return found if state in (ESTABLISHED, CLOSE_WAIT) else None
    return None


def supported() -> bool:
    """The system tells it: asked about a connection of our own."""
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
    """The owner of the socket that is bound to `peer` and connected to `own`."""
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
    # Without an inode no process holds it any more, and the user would read as root.
    held = inode != 0 and state in (ESTABLISHED, FIN_WAIT1, FIN_WAIT2)
    return user if held else None
