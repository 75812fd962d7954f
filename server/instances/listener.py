"""Accepts connections of other instances, and answers what they forward.

A request that is forwarded again, because the connection was lost before its answer, gets the answer of the
first attempt. So within a term a forwarded request is executed once. After a change of the active instance it
is executed again. A request whose client has gone is given up, unless the driver has it already.
"""

import asyncio
import logging
import socket
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

from common.accepting import Acceptor
from common.address import Address
from common.clock import Clock
from common.repeated_warnings import RepeatedWarnings
from common.tasks import cancel, spawn
from common.tls import handshake_failure
from protocol.codec.errors import DecodeError
from protocol.frames import RequestFrame
from server.dispatch.context import Caller
from server.instances.handshake import InstanceRefusedError
from server.instances.messages import Kind, NotActiveError, decode_forwarded
from server.instances.room import IN_FLIGHT, LARGEST_ANSWERS, LARGEST_REQUESTS, ByteBudget
from server.instances.stream import (
    CHUNK,
    HANDSHAKE_SECONDS,
    READ_AHEAD,
    InstanceSecurity,
    InstanceStream,
    Message,
    accept,
)
from server.instances.switch import Switch

log = logging.getLogger(__name__)

CONNECTIONS = 32
"""Most connections. A cluster has a few instances, each with one. For a further one the oldest is closed that
has not proved itself yet; if there is none, the new one is closed."""

IDLE_SECONDS = 5.0
"""A connection on which nothing arrives for this time is closed: instances send a heartbeat each second.

What arrives later was delayed by the network or by this process. The client of such a request may have given
it up and sent another one elsewhere, so it is not executed. Its instance sends it again if the client still
waits.
"""

REPORT_SECONDS = 5.0
BACKLOG = 64


class Endpoint(Protocol):
    """Answers forwarded requests; see `server.instances.listener.InstanceEndpoint`."""

    async def answer(self, instance: str, number: int, frame: RequestFrame, caller: Caller) -> bytes: ...

    def give_up(self, instance: str, number: int) -> None: ...


OnStatus = Callable[[str, bytes], None]
"""Called with the id of an instance and what it tells about itself (see
`server.instances.links.InstanceLinks`)."""


class InstanceListener:
    """One listener. `on_status` is called with each heartbeat of an instance that follows this one."""

    def __init__(
        self,
        endpoint: Endpoint,
        security: InstanceSecurity,
        clock: Clock,
        on_status: OnStatus = lambda _instance, _status: None,
    ) -> None:
        self._endpoint, self._security, self._clock = endpoint, security, clock
        self._on_status = on_status
        self._warnings = RepeatedWarnings(log, clock)
        self._acceptor: Acceptor | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._unproved: dict[asyncio.Task[None], str] = {}
        """Those of `_connections` whose handshake is not complete, and their addresses, the oldest first."""

    async def open(self, address: Address) -> Address:
        """Listen on the address; return it with the port that was chosen for port 0. Raises OSError."""
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
        self._acceptor = Acceptor(listening, self._admit, "connections of instances")
        self._tasks = [spawn(self._report(), "warnings about instances")]
        return Address(address.host, listening.getsockname()[1])

    async def close(self) -> None:
        """Close the listener and its connections; answers in progress are lost."""
        if self._acceptor is not None:
            self._acceptor.close()
        await cancel(*self._tasks, *self._connections)

    def _admit(self, accepted: socket.socket, address: str) -> None:
        if len(self._connections) >= CONNECTIONS and not self._unproved:
            self._warnings.closed(address, f"{CONNECTIONS} connections of instances are open already")
            accepted.close()
            return
        if len(self._connections) >= CONNECTIONS:
            oldest = next(iter(self._unproved))
            self._warnings.closed(
                self._unproved.pop(oldest), "it did not prove itself before others connected"
            )
            self._connections.remove(oldest)
            oldest.cancel()
        task = spawn(self._serve(accepted, address), "connection of a peer")
        self._connections.add(task)
        self._unproved[task] = address
        task.add_done_callback(partial(self._ended, accepted))

    def _ended(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        self._unproved.pop(task, None)
        # The transport has closed it, unless the task was cancelled before it began.
        accepted.close()

    async def _report(self) -> None:
        while True:
            await self._clock.sleep(REPORT_SECONDS)
            self._warnings.report()

    async def _serve(self, accepted: socket.socket, address: str) -> None:
        try:
            stream = await self._shake_hands(accepted)
            self._unproved.pop(cast("asyncio.Task[None]", asyncio.current_task()), None)
            log.info("instance %s at %s forwards requests to this one", stream.peer.instance, address)
            await _Connection(stream, self._endpoint, self._on_status).run()
        except (InstanceRefusedError, DecodeError) as error:
            self._warnings.closed(address, str(error))
        except OSError as error:
            reason = handshake_failure(error)
            if reason is None:
                log.debug("the connection of the peer at %s has ended: %s", address, error)
            else:
                self._warnings.closed(address, reason)

    async def _shake_hands(self, accepted: socket.socket) -> InstanceStream:
        """Return the connection of a peer. Raises OSError, InstanceRefusedError."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(READ_AHEAD)
        protocol = asyncio.StreamReaderProtocol(reader)
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            tls = self._security.server_tls
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted, ssl=tls)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            return await accept(reader, writer, self._security, LARGEST_REQUESTS)


class _Connection:
    """One connection of an instance."""

    def __init__(self, stream: InstanceStream, endpoint: Endpoint, on_status: OnStatus) -> None:
        self._stream, self._endpoint, self._on_status = stream, endpoint, on_status
        self._requests: dict[asyncio.Task[None], int] = {}
        """Requests in progress, with their sizes in bytes."""
        self._answers = ByteBudget(LARGEST_ANSWERS)

    async def run(self) -> None:
        """Answer until the connection ends. Raises OSError, DecodeError."""
        try:
            while True:
                message = await self._stream.receive(IDLE_SECONDS)
                if message.kind == Kind.PING:
                    self._on_status(self._stream.peer.instance, message.data)
                    await self._stream.send(Message(Kind.PONG, message.id, b""))
                elif message.kind == Kind.GIVE_UP:
                    await asyncio.sleep(0)  # The endpoint gets to know the requests before it.
                    self._endpoint.give_up(self._stream.peer.instance, message.id)
                elif message.kind != Kind.REQUEST:
                    raise DecodeError(f"a message of kind {message.kind}")
                elif self._too_many(message):
                    await self._stream.send(Message(Kind.NOT_ACTIVE, message.id, b""))
                else:
                    task = spawn(self._answer(message), "forwarded request")
                    self._requests[task] = len(message.data)
                    task.add_done_callback(self._requests.pop)
        finally:
            self._stream.close()
            await cancel(*self._requests)

    def _too_many(self, message: Message) -> bool:
        size = len(message.data) + sum(self._requests.values())
        return len(self._requests) >= IN_FLIGHT or (bool(self._requests) and size > LARGEST_REQUESTS)

    async def _answer(self, message: Message) -> None:
        number = message.id
        try:
            instance = self._stream.peer.instance
            frame, caller = decode_forwarded(message.data, instance)
            data = await self._endpoint.answer(instance, number, frame, caller)
            if len(data) > LARGEST_ANSWERS:
                raise DecodeError(f"its answer has {len(data)} bytes, where {LARGEST_ANSWERS} are forwarded")
            answer = Message(Kind.ANSWER, number, data)
        except NotActiveError:
            answer = Message(Kind.NOT_ACTIVE, number, b"")
        except DecodeError as error:
            answer = Message(Kind.REFUSED, number, str(error).encode())
        except Exception:
            log.exception("a forwarded request could not be answered")
            answer = Message(Kind.REFUSED, number, b"the active instance could not answer it")
        try:
            await self._send(answer)
        except OSError:
            # Its instance sends the request again.
            self._stream.close()

    async def _send(self, answer: Message) -> None:
        """Send the answer as soon as the peer can hold it, unless a single frame has all of it."""
        size = len(answer.data)
        if size <= CHUNK:
            await self._stream.send(answer)
            return
        async with self._answers.use(size):
            await self._stream.send(answer)


KEPT = 1_000
"""Answers that are kept for requests that are forwarded again."""

LARGEST_KEPT = 64 * 1024
"""Bytes. Larger answers are lists, or answers to plans, whose repetition changes nothing."""


class InstanceEndpoint:
    """Answers by the switch of this instance."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._answers: OrderedDict[tuple[str, int], asyncio.Task[bytes]] = OrderedDict()
        """Instance and id of the request -> its answer."""

    async def answer(self, instance: str, number: int, frame: RequestFrame, caller: Caller) -> bytes:
        """Answer the request of an instance. Raises NotActiveError and DecodeError."""
        key = instance, number
        task = self._answers.get(key)
        if task is None:
            task = self._answers[key] = asyncio.create_task(
                self._switch.answer_forwarded(frame, caller), name="forwarded request"
            )
            task.add_done_callback(lambda done: self._answered(key, done))
        # The request goes on when the connection on which it came is lost.
        return await asyncio.shield(task)

    def give_up(self, instance: str, number: int) -> None:
        """Do not execute the request, if that has not happened: its client has gone."""
        task = self._answers.get((instance, number))
        if task is not None:
            task.cancel()

    def _answered(self, key: tuple[str, int], done: asyncio.Task[bytes]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if failed or len(done.result()) > LARGEST_KEPT:
            del self._answers[key]
        while len(self._answers) > KEPT and next(iter(self._answers.values())).done():
            self._answers.popitem(last=False)
