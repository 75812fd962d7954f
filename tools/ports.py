"""Free ports of 127.0.0.1 for servers of tests and benchmarks.

They are below 32768: Linux assigns higher ports to outgoing connections, so they may be in use before the
server has started. For the same reason a process gets a port again only after all others, and processes that
run tests side by side choose among ports of their own: `SHARE` in their environment says which.
"""

import os
import random
import socket
from contextlib import ExitStack, suppress

SHARE = "REASSIGND_PORTS"

RESERVED = 101
"""The ports that a gateway reserves for brokers by default, from its listener on; the server refuses others
there."""


class Ports:
    """Ports that are given out in turn, from a random one on."""

    def __init__(self, ports: range) -> None:
        self._ports = ports
        self._next = random.choice(ports)

    def free(self, count: int) -> int:
        """Return the first of `count` consecutive free ports."""
        while True:
            if self._next + count > self._ports.stop:
                self._next = self._ports.start
            first = self._next
            self._next += count
            with ExitStack() as sockets, suppress(OSError):
                for port in range(first, self._next):
                    sockets.enter_context(socket.create_server(("127.0.0.1", port)))
                return first


def share(ports: range, which: str) -> range:
    """Return the ports of one share: "2/3" is the last of three, "0/1" are all."""
    number, count = map(int, which.split("/"))
    size = len(ports) // count
    return ports[number * size : (number + 1) * size]


_share = os.environ.get(SHARE, "0/1")
_single = Ports(share(range(10_000, 14_000), _share))
_groups = Ports(share(range(14_000, 32_768), _share))


def free_port() -> int:
    """Return a free port.

    It is below those of `free_ports`, so it is not reserved by a gateway that listens on one of these.
    """
    return _single.free(1)


def free_ports(count: int) -> int:
    """Return the first of `count` consecutive free ports."""
    return _groups.free(count)
