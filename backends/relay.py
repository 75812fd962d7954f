"""Requests handed on to a broker as they came, and its answers handed back: bytes that are not looked into.

A connection carries one request at a time; as many are kept as were ever needed at once.
"""

import asyncio
from collections.abc import Callable
from struct import pack, unpack

Address = tuple[str, int]

READ_LIMIT = 1 << 20

TRIES = 3
"""Brokers that are tried for one request: those that have just died may still be registered."""


class Relay:
    """`choose` gives the broker for the next request. Errors: OSError when there is none, or it does not answer."""

    def __init__(self, choose: Callable[[], Address]) -> None:
        self._choose = choose
        self._idle: dict[Address, list[_Line]] = {}

    async def forward(self, payload: bytes) -> bytes:
        """The answer to a frame (both without their sizes), with the correlation id that was asked with.

        A connection that was idle, or a broker, may be dead without our knowing: then another one is tried.
        """
        tried = 0
        while True:
            address = self._choose()
            lines = self._idle.setdefault(address, [])
            idle = bool(lines)
            try:
                line = lines.pop() if idle else await _Line.open(address)
                try:
                    answer = await line.ask(payload)
                except BaseException:
                    line.close()
                    raise
            except OSError:
                tried += not idle
                if tried == TRIES:
                    raise
                continue
            lines.append(line)
            return answer

    def close(self) -> None:
        """Let go of all connections that are not in use."""
        for lines in self._idle.values():
            for line in lines:
                line.close()
        self._idle.clear()


class _Line:
    """One connection to a broker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, address: Address) -> "_Line":
        return cls(*await asyncio.open_connection(*address, limit=READ_LIMIT))

    async def ask(self, payload: bytes) -> bytes:
        self._writer.write(pack(">i", len(payload)) + payload)
        try:
            (size,) = unpack(">i", await self._reader.readexactly(4))
            return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ValueError) as error:
            raise ConnectionResetError("the broker closed the connection") from error

    def close(self) -> None:
        self._writer.close()
