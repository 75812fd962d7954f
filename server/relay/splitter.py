"""Frames in a stream of bytes: most pass in the pieces in which they came, some are replaced."""

from collections.abc import Callable
from struct import unpack_from
from typing import NamedTuple

from protocol.errors import DecodeError


class FrameAction(NamedTuple):
    """What becomes of a frame: its first `take` bytes (the length counts) are dropped, and `put` goes in their place."""

    take: int
    put: bytes


PASS = FrameAction(0, b"")

Decide = Callable[[memoryview, int], FrameAction | int]
"""Given what has come of a frame, without its length, and that length: a verdict, or how many bytes are needed for one."""


class Splitter:
    """Asks `decide` about each frame, and hands what is to go on to `write`.

    Held are the bytes that `decide` asks for, and what comes while it is stopped, nothing else. A frame longer than
    `max_frame` raises DecodeError, as does what `decide` refuses.
    """

    def __init__(
        self,
        decide: Decide,
        write: Callable[[bytes | memoryview], None],
        max_frame: int,
        *,
        stopped: bool = False,
    ) -> None:
        self._decide = decide
        self._write = write
        self._max_frame = max_frame
        self._stopped = stopped
        self._passing = 0
        """Bytes of a frame with a verdict that are still to come."""
        self._kept = bytearray()
        """The beginning of a frame without one; while stopped, all that came."""
        self.frames = 0
        """How many have had their verdict."""
        self._wanted = 0
        """As many bytes must be kept before it is looked at them again."""

    @property
    def held(self) -> int:
        """Bytes that are kept."""
        return len(self._kept)

    @property
    def incomplete(self) -> bool:
        """A frame has begun, and more of it must come before there is a verdict."""
        return bool(self._kept) and not self._stopped

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        if self._kept or self._stopped:
            self._kept += data
            if self._stopped or len(self._kept) < self._wanted:
                return
            data, self._kept = bytes(self._kept), bytearray()
        self._split(data)

    def stop(self) -> None:
        """Let nothing more pass after the frame that is being decided."""
        self._stopped = True

    def resume(self, put: bytes = b"") -> None:
        """Go on, with `put` first."""
        self._stopped = False
        if put:
            self._write(put)
        data, self._kept = bytes(self._kept), bytearray()
        self._split(data)

    def end(self) -> None:
        """Free what is kept and forget the callbacks, which lead back to the owner. Nothing may be fed after this."""
        self._kept = bytearray()
        self._decide, self._write = _ended, _dropped

    def _split(self, data: bytes) -> None:
        view, end = memoryview(data), len(data)
        begun = 0
        at = min(self._passing, end)
        self._passing -= at
        self._wanted = 4
        while end - at >= 4 and not self._stopped:
            (size,) = unpack_from(">i", data, at)
            if not 0 <= size <= self._max_frame:
                raise DecodeError(f"a frame of {size} bytes, where {self._max_frame} are allowed")
            past = at + 4 + size
            verdict = self._decide(view[at + 4 : past], size)
            if isinstance(verdict, int):
                self._wanted = 4 + verdict
                break
            self.frames += 1
            if verdict is not PASS:
                self._pass(view[begun:at])
                self._pass(verdict.put)
                begun = at + verdict.take
            at = min(past, end)
            self._passing = past - at
        self._pass(view[begun:at])
        self._kept += view[at:]

    def _pass(self, data: bytes | memoryview) -> None:
        if data:
            self._write(data)


def _ended(_frame: memoryview, _size: int) -> FrameAction:
    raise DecodeError("the connection has ended")


def _dropped(_data: bytes | memoryview) -> None:
    """Nobody is there to get it."""
