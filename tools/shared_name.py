"""One name that leads to several instances, as a load balancer in TCP mode does.

A thread that passes bytes on.
"""

import asyncio
import itertools
import threading
from collections.abc import Sequence
from functools import partial
from typing import Self

CONNECT_SECONDS = 2.0
CHUNK = 64 * 1024


class SharedName:
    """Listens on `name` at each of the ports, and leads to the same port of one of the hosts that accept."""

    def __init__(self, name: str, hosts: Sequence[str], ports: Sequence[int]) -> None:
        self._name, self._hosts, self._ports = name, hosts, ports
        self._turns = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="shared name", daemon=True)
        self._listening = threading.Event()
        self._stopped = asyncio.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        servers = [
            await asyncio.start_server(partial(self._pass, port), self._name, port) for port in self._ports
        ]
        self._listening.set()
        await self._stopped.wait()
        for server in servers:
            server.close()
        passing = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)

    async def _pass(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(self._turns)
        for number in range(len(self._hosts)):
            host = self._hosts[(first + number) % len(self._hosts)]
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    other, back = await asyncio.open_connection(host, port)
            except OSError:
                continue
            await asyncio.gather(_copy(reader, back), _copy(other, writer), return_exceptions=True)
            return
        writer.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass bytes on until one end is closed; then close the other one."""
    try:
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
    finally:
        target.transport.abort()
