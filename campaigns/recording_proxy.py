"""A proxy between instances and their cluster, which records what passes, and can hold or delay it.

It runs in a thread of its own, so it sees what the instances send in the order in which they send it. On a
busy machine it can read requests late; then `_Ticks` tells how early they can have arrived. The process at
the other end of a connection is found by its sockets.
"""

import asyncio
import random
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.step_record import Batch, StepRecord
from common.address import Address

HEADER = 4
ATTEMPTS = 10
"""Attempts to find the process at the other end of a connection."""
TICK_SECONDS = 0.02
LINGER_SECONDS = 2.0
"""How long a broker keeps its connection after the instance has closed its own: it answers what was held."""


@dataclass(eq=False)
class Fault:
    """A fault between some instances and some brokers; None: all.

    It holds frames until it ends, or delays them.
    """

    pids: frozenset[int] | None = None
    brokers: frozenset[int] | None = None
    requests: bool = True
    """Whether it concerns what instances send."""
    answers: bool = True
    """Whether it concerns what brokers send."""
    steps_only: bool = False
    """Of the requests only those with steps, and what follows on their connections."""
    delay: tuple[float, float] | None = None
    """Least and most seconds of a delay. None: frames are held."""
    frames: int = 0
    """Number of frames that were held or delayed."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class Frame:
    """A request or an answer."""

    data: bytes
    request: bool
    due: float
    """When it is passed on."""
    step: bool = False
    acknowledges: Batch | None = None
    """The batch of the state topic that the answer acknowledges."""


@dataclass(eq=False)
class Link:
    """A connection of an instance to a broker."""

    pid: int
    broker: int
    in_flight: dict[int, Batch] = field(default_factory=dict)
    """By correlation id."""

    def concerned(self, fault: Fault, frame: Frame) -> bool:
        """Return whether the fault concerns the frame."""
        return (
            (fault.pids is None or self.pid in fault.pids)
            and (fault.brokers is None or self.broker in fault.brokers)
            and (fault.requests if frame.request else fault.answers)
            and (frame.step or not fault.steps_only)
        )


class _Ticks:
    """Notes the time every TICK_SECONDS, when the loop runs.

    What is read now has arrived after the tick before last.
    """

    def __init__(self) -> None:
        self.earliest = self._last = time.monotonic()
        """The tick before last."""
        self.longest_pause = 0.0

    async def run(self) -> None:
        while True:
            now = time.monotonic()
            self.longest_pause = max(self.longest_pause, now - self._last)
            self.earliest, self._last = self._last, now
            await asyncio.sleep(TICK_SECONDS)


Frames = asyncio.Queue[Frame | None]
"""Frames in one direction; None after the last one."""


class RecordingProxy:
    """Listens for each broker: `brokers` has the address to listen on and that of the broker, by id."""

    def __init__(self, brokers: Mapping[int, tuple[Address, Address]], record: StepRecord) -> None:
        self._brokers = brokers
        self.record = record
        self.pids: set[int] = set()
        """The processes of the instances."""
        self.steps_to = 0
        """The broker that was sent the newest step."""
        self.answers_lost = 0
        self._ticks = _Ticks()
        self._losing: set[int] = set()
        self._faults: list[Fault] = []
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    def __enter__(self) -> "RecordingProxy":
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def longest_pause(self) -> float:
        """Seconds for which the proxy could not run at most."""
        return self._ticks.longest_pause

    def begin(self, fault: Fault) -> None:
        """Let a fault begin."""
        self._loop.call_soon_threadsafe(self._faults.append, fault)

    def end(self, fault: Fault) -> None:
        """Let a fault end: what it holds is passed on."""

        def end() -> None:
            self._faults.remove(fault)
            fault.ended.set()

        self._loop.call_soon_threadsafe(end)

    def lose_answer(self, pid: int) -> None:
        """Close the connection instead of passing on the next acknowledgment of a state topic's batch."""
        self._loop.call_soon_threadsafe(self._losing.add, pid)

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._listen())
        self._tasks.add(self._loop.create_task(self._ticks.run()))
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # Transports are closed in the next turn.

    async def _listen(self) -> None:
        for broker, (at, address) in self._brokers.items():

            def accept(
                reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter,
                broker: int = broker,
                address: Address = address,
            ) -> None:
                task = self._loop.create_task(self._relay(reader, writer, broker, address))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

            self._servers.append(await asyncio.start_server(accept, *at))

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: int, address: Address
    ) -> None:
        link = Link(await self._owner(writer), broker)
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*address)
        except OSError:
            writer.close()
            return
        requests, answers = Frames(), Frames()
        up = asyncio.ensure_future(self._pass_on(requests, broker_writer, link))
        down = asyncio.ensure_future(self._pass_on(answers, writer, link))
        reading = [
            asyncio.ensure_future(self._read_requests(reader, requests, link)),
            asyncio.ensure_future(self._read_answers(broker_reader, answers, link)),
        ]
        try:
            await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([down], timeout=LINGER_SECONDS)
        finally:
            for each in (up, down, *reading):
                each.cancel()
            await asyncio.gather(up, down, *reading, return_exceptions=True)
            writer.close()
            broker_writer.close()

    async def _owner(self, writer: asyncio.StreamWriter) -> int:
        """Return the process at the other end, or 0.

        The kernel's list can lack sockets while others are opened.
        """
        ports = writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1]
        for _ in range(ATTEMPTS):
            pids = tuple(self.pids)
            if (pid := owner_of(*ports, pids)) or not pids:
                return pid
            await asyncio.sleep(0.05)
        return 0

    async def _read_requests(self, reader: asyncio.StreamReader, frames: Frames, link: Link) -> None:
        with suppress(OSError, EOFError):
            while True:
                frame = self._timed(link, await _read(reader), request=True)
                payload = frame.data[HEADER:]
                rows = self.record.rows
                arrived = self._ticks.earliest, time.monotonic()
                if (batch := self.record.request(payload, link.pid, *arrived)) is not None:
                    link.in_flight[batch[0]] = batch[1]
                if self.record.rows > rows:
                    frame.step, self.steps_to = True, link.broker
                frames.put_nowait(frame)
        frames.put_nowait(None)

    async def _read_answers(self, reader: asyncio.StreamReader, frames: Frames, link: Link) -> None:
        with suppress(OSError, EOFError):
            while True:
                frame = self._timed(link, await _read(reader), request=False)
                payload = frame.data[HEADER:]
                batch = link.in_flight.pop(int.from_bytes(payload[:4]), None)
                if batch is not None and self.record.answer(payload, link.pid, batch):
                    if link.pid in self._losing:
                        self._losing.remove(link.pid)
                        self.answers_lost += 1
                        break
                    frame.acknowledges = batch
                frames.put_nowait(frame)
        frames.put_nowait(None)

    def _timed(self, link: Link, data: bytes, *, request: bool) -> Frame:
        """Return the frame, with the delay of the faults of this moment."""
        frame = Frame(data, request, time.monotonic())
        for fault in self._faults:
            if fault.delay is not None and link.concerned(fault, frame):
                fault.frames += 1
                frame.due += random.uniform(*fault.delay)
        return frame

    async def _pass_on(self, frames: Frames, writer: asyncio.StreamWriter, link: Link) -> None:
        with suppress(OSError):
            while (frame := await frames.get()) is not None:
                await asyncio.sleep(max(0, frame.due - time.monotonic()))
                while fault := self._holding(link, frame):
                    fault.frames += 1
                    await fault.ended.wait()
                writer.write(frame.data)
                await writer.drain()
                if frame.acknowledges is not None:
                    self.record.acknowledged(link.pid, frame.acknowledges)

    def _holding(self, link: Link, frame: Frame) -> Fault | None:
        return next(
            (each for each in self._faults if each.delay is None and link.concerned(each, frame)), None
        )


async def _read(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(HEADER)
    return size + await reader.readexactly(int.from_bytes(size))


def owner_of(port: int, to: int, pids: Iterable[int]) -> int:
    """Return the process among `pids` that has a connection from `port` to the port `to`; 0 if none has.

    Connections to different ports can come from the same one.
    """
    inodes = {
        fields[9]
        for fields in (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        if [int(end.rpartition(":")[2], 16) for end in fields[1:3]] == [port, to]
    }
    sockets = {f"socket:[{inode}]" for inode in inodes}
    for pid in pids:
        for descriptor in _descriptors(pid):
            try:
                if str(descriptor.readlink()) in sockets:
                    return pid
            except OSError:
                continue
    return 0


def _descriptors(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return []
