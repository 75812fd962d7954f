"""Connections to the active instance, on which a standby forwards requests."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from common.address import Address
from common.backoff import RETRY_SECONDS
from common.clock import Clock
from common.tasks import cancel, spawn
from protocol.codec.errors import DecodeError
from server.instances.handshake import InstanceRefusedError
from server.instances.messages import ForwardedRequest, Kind, NotActiveError, encode_forwarded
from server.instances.room import LARGEST_ANSWERS, Room
from server.instances.stream import InstanceSecurity, InstanceStream, Message, connect

log = logging.getLogger(__name__)

PING_SECONDS = 1.0
SILENCE_SECONDS = 6.0
"""A link on which nothing was received for this time is closed. The peer answers pings at once."""


class InstanceLinks:
    """Implements `server.instances.messages.Forwarder` with one connection to the peer that is active.

    `status` returns what each heartbeat says about this instance.
    """

    def __init__(self, security: InstanceSecurity, clock: Clock, status: Callable[[], bytes] = bytes) -> None:
        self._security, self._clock, self._status = security, clock, status
        self._followed: Address | None = None
        self._following: asyncio.Task[None] | None = None
        self._links: dict[Address, InstanceLink] = {}
        """Besides the link to the active instance those to former ones that still owe answers."""
        self._connecting: dict[Address, asyncio.Task[InstanceLink]] = {}
        self._reported = ""
        """The last failure that was logged, since the last link that was opened."""

    def follow(self, peer: Address | None) -> None:
        """See `Forwarder.follow`."""
        self._followed = peer
        if self._following is not None:
            self._following.cancel()
        self._following = (
            None if peer is None else spawn(self._keep_link(peer), "link to the active instance")
        )

    async def _keep_link(self, peer: Address) -> None:
        while True:
            if peer not in self._links:
                with suppress(OSError):
                    await asyncio.shield(self._connection_to(peer))
            await self._clock.sleep(RETRY_SECONDS)

    async def forward(self, peer: Address, request: ForwardedRequest) -> bytes:
        """See `Forwarder.forward`. Raises DecodeError if the peer cannot read the request."""
        link = self._links.get(peer)
        if link is None:
            link = await asyncio.shield(self._connection_to(peer))
        return await link.ask(request)

    def give_up(self, request: ForwardedRequest) -> None:
        """See `Forwarder.give_up`."""
        for link in self._links.values():
            link.give_up(request)

    async def close(self) -> None:
        """Close all links; their requests fail with OSError."""
        following = [] if self._following is None else [self._following]
        await cancel(*following, *self._connecting.values())
        await asyncio.gather(*[link.close() for link in self._links.values()])

    def _connection_to(self, peer: Address) -> "asyncio.Task[InstanceLink]":
        """Return the task that connects, which all requests share."""
        if peer not in self._connecting:
            task = self._connecting[peer] = asyncio.create_task(self._connect(peer), name="peer link")
            # Every request that waits may have been cancelled: then nobody else retrieves the error.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._connecting[peer]

    async def _connect(self, peer: Address) -> "InstanceLink":
        try:
            stream = await connect(peer, self._security, LARGEST_ANSWERS)
        except (OSError, InstanceRefusedError) as error:
            self._report(f"requests cannot be forwarded to the active instance at {peer}: {_text(error)}")
            raise ConnectionError(str(error)) from error
        finally:
            del self._connecting[peer]
        self._reported = ""
        log.info("requests are forwarded to instance %s at %s", stream.peer.instance, peer)
        for former in list(self._links.values()):  # An idle link ends at once, and leaves.
            former.retire()
        link = InstanceLink(stream, self._clock, self._status, lambda reason: self._ended(peer, link, reason))
        self._links[peer] = link
        return link

    def _ended(self, peer: Address, link: "InstanceLink", reason: str) -> None:
        if self._links.get(peer) is link:
            del self._links[peer]
        if reason:
            self._report(f"the connection to the active instance at {peer} has ended: {reason}")

    def _report(self, text: str) -> None:
        if text != self._reported:
            self._reported = text
            log.warning("%s", text)


class InstanceLink:
    """One connection to a peer.

    `on_end` gets the reason why it has ended, or "" if this side has closed it.
    """

    def __init__(
        self,
        stream: InstanceStream,
        clock: Clock,
        status: Callable[[], bytes],
        on_end: Callable[[str], None],
    ) -> None:
        self._stream, self._clock, self._status, self._on_end = stream, clock, status, on_end
        self._room = Room()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._heard = clock.now()
        self._retired = self._closed = False
        self._tasks = [spawn(self._receive(), "answers of a peer"), spawn(self._ping(), "pings to a peer")]

    async def ask(self, request: ForwardedRequest) -> bytes:
        """See `InstanceLinks.forward`."""
        async with self._room.hold(request.frame):
            if self._closed:
                raise ConnectionResetError
            answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            self._waiting[request.id] = answer
            try:
                await self._send(request)
                return await answer
            finally:
                if self._waiting.get(request.id) is answer:
                    del self._waiting[request.id]
                if self._retired and not self._waiting:
                    self._end("")

    async def _send(self, request: ForwardedRequest) -> None:
        """Send all of the request, even if it is cancelled meanwhile.

        The peer would hold its part forever.
        """
        message = Message(Kind.REQUEST, request.id, encode_forwarded(request.frame, request.caller))
        sending = asyncio.create_task(self._stream.send(message), name="request to a peer")
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            await asyncio.wait([sending])
            if not sending.cancelled() and sending.exception() is None:
                self.give_up(request)
            raise

    def give_up(self, request: ForwardedRequest) -> None:
        """See `InstanceLinks.give_up`. The peer ignores a request that it does not know, or has answered."""
        if not self._closed:
            _ = spawn(self._tell(Message(Kind.GIVE_UP, request.id, b"")), "request that is given up")

    async def _tell(self, message: Message) -> None:
        with suppress(OSError):
            await self._stream.send(message)

    def retire(self) -> None:
        """Close the link as soon as the peer owes no answer."""
        self._retired = True
        if not self._waiting:
            self._end("")

    async def close(self) -> None:
        """Close the link."""
        self._end("")
        await cancel(*self._tasks)

    async def _receive(self) -> None:
        try:
            while True:
                kind, number, data = await self._stream.receive()
                self._heard = self._clock.now()
                answer = self._waiting.get(number)
                if answer is None or answer.done():
                    continue
                if kind == Kind.ANSWER:
                    answer.set_result(data)
                elif kind == Kind.NOT_ACTIVE:
                    answer.set_exception(NotActiveError())
                elif kind == Kind.REFUSED:
                    answer.set_exception(DecodeError(data.decode(errors="replace")[:500]))
        except (OSError, DecodeError) as error:
            self._end(_text(error))

    async def _ping(self) -> None:
        try:
            while self._clock.now() - self._heard <= SILENCE_SECONDS:
                # A peer that does not read must be noticed as well.
                sending = self._stream.send(Message(Kind.PING, 0, self._status()))
                await asyncio.wait_for(sending, SILENCE_SECONDS)
                await self._clock.sleep(PING_SECONDS)
            self._end(f"nothing was received for {SILENCE_SECONDS:g} s")
        except TimeoutError:
            self._end("the peer does not read what is sent")
        except OSError as error:
            self._end(_text(error))

    def _end(self, reason: str) -> None:
        if self._closed:
            return
        self._closed = True
        self._stream.close()
        for task in self._tasks:
            task.cancel()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError(reason))
        self._on_end(reason)


def _text(error: Exception) -> str:
    """Return the error as one line; the time-out of a connection has no text."""
    return " ".join(str(error).split()) or (
        "no answer in time" if isinstance(error, TimeoutError) else repr(error)
    )
