"""Instances on real sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from common.address import Address
from common.clock import Clock, RealClock
from protocol.frames import RequestFrame
from server.dispatch.context import Caller
from server.instances.handshake import InstanceIdentity
from server.instances.links import InstanceLinks
from server.instances.listener import Endpoint, InstanceListener, OnStatus
from server.instances.stream import InstanceSecurity

SECRET = b"the secret of all instances"
LOOPBACK = Address("127.0.0.1", 0)


def security(name: str, secret: bytes = SECRET, cluster: str = "cluster") -> InstanceSecurity:
    return InstanceSecurity(lambda: InstanceIdentity(name, cluster), secret)


@dataclass
class Echo:
    """An endpoint that answers with the client and the body, or raises `error`."""

    asked: list[tuple[str, int, RequestFrame, Caller]] = field(default_factory=list)
    error: Exception | None = None
    larger: int = 0
    """Bytes that are added to answers."""

    async def answer(self, instance: str, number: int, frame: RequestFrame, caller: Caller) -> bytes:
        self.asked.append((instance, number, frame, caller))
        if self.error is not None:
            raise self.error
        return b"answer to " + bytes(frame.body) + b"." * self.larger

    def give_up(self, instance: str, number: int) -> None:
        pass


@asynccontextmanager
async def listening(
    endpoint: Endpoint,
    by: InstanceSecurity | None = None,
    on_status: OnStatus = lambda _instance, _status: None,
) -> AsyncIterator[Address]:
    """Run the listener of a peer."""
    listener = InstanceListener(endpoint, by or security("active"), RealClock(), on_status)
    try:
        yield await listener.open(LOOPBACK)
    finally:
        await listener.close()


@asynccontextmanager
async def linked(
    by: InstanceSecurity | None = None, clock: Clock | None = None, status: bytes = b""
) -> AsyncIterator[InstanceLinks]:
    """Run the links of a standby."""
    links = InstanceLinks(by or security("standby"), clock or RealClock(), lambda: status)
    try:
        yield links
    finally:
        await links.close()
