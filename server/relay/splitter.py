"""Frames in a stream of bytes: most pass in the pieces in which they arrive, some are replaced."""

from collections.abc import Callable
from struct import unpack_from
from typing import NamedTuple

from protocol.codec.errors import DecodeError


class FrameAction(NamedTuple):
    """The first `take` bytes of a frame, including its length, are replaced with `put`; the rest passes."""

    take: int
    put: bytes


PASS = FrameAction(0, b"")
"""The frame passes unchanged."""

DecideFrame = Callable[[memoryview, int], FrameAction | int]
"""Takes the bytes of a frame that have arrived, without the length, and the frame's size without the length.

Returns an action, or the number of bytes that it needs to decide.
"""


class Splitter:
    """Splits a stream into frames, asks `decide` about each, and passes the result to `write`.

    Only two things are buffered: the bytes that `decide` needs, and everything that arrives while the
    splitter is stopped. Raises DecodeError for a frame longer than `max_frame`, and passes on the DecodeError
    of `decide`.
    """

    def __init__(
        self,
        decide: DecideFrame,
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
        """Bytes of the current frame that have not arrived, where the frame is decided already."""
        self._buffer = bytearray()
        """The start of an undecided frame; while stopped, everything that arrived."""
        self.frames = 0
        """Number of frames decided."""
        self._wanted = 0
        """Bytes that the buffer needs before `decide` is called again."""

    @property
    def buffered(self) -> int:
        """Number of buffered bytes."""
        return len(self._buffer)

    @property
    def incomplete(self) -> bool:
        """A frame has started, and more of it must arrive before it is decided."""
        return bool(self._buffer) and not self._stopped

    def feed(self, data: bytes) -> None:
        """Process received bytes."""
        if self._buffer or self._stopped:
            self._buffer += data
            if self._stopped or len(self._buffer) < self._wanted:
                return
            data, self._buffer = bytes(self._buffer), bytearray()
        self._split(data)

    def stop(self) -> None:
        """Buffer everything after the frame that is being decided. `decide` may call this."""
        self._stopped = True

    def resume(self, put: bytes = b"") -> None:
        """Continue after `stop`; `put` is written first."""
        self._stopped = False
        if put:
            self._write(put)
        data, self._buffer = bytes(self._buffer), bytearray()
        self._split(data)

    def end(self) -> None:
        """Free the buffer and the callbacks, which refer to the owner. Nothing may be fed after this."""
        self._buffer = bytearray()
        self._decide, self._write = _ended, _discard

    def _split(self, data: bytes) -> None:
        # Frames that pass unchanged are not written one by one: everything from `unsent` to `position` goes
        # out in one write, before the next replaced frame or at the end. One read often holds many small
        # frames.
        view, end = memoryview(data), len(data)
        unsent = 0
        position = min(self._passing, end)
        self._passing -= position
        self._wanted = 4
        while end - position >= 4 and not self._stopped:
            (size,) = unpack_from(">i", data, position)
            if not 0 <= size <= self._max_frame:
                raise DecodeError(f"a frame of {size} bytes, where {self._max_frame} are allowed")
            frame_end = position + 4 + size
            action = self._decide(view[position + 4 : frame_end], size)
            if isinstance(action, int):
                self._wanted = 4 + action
                break
            self.frames += 1
            if action is not PASS:
                self._pass(view[unsent:position])
                self._pass(action.put)
                unsent = position + action.take
            position = min(frame_end, end)
            self._passing = frame_end - position
        self._pass(view[unsent:position])
        self._buffer += view[position:]

    def _pass(self, data: bytes | memoryview) -> None:
        if data:
            self._write(data)


def _ended(_frame: memoryview, _size: int) -> FrameAction:
    raise DecodeError("the connection has ended")


def _discard(_data: bytes | memoryview) -> None:
    """Ignore the bytes: the connection has ended."""
