"""Both ends of a connection, without the socket: frames from bytes, and answers in the order of requests."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from protocol.codec.wire import schema_of
from protocol.errors import DecodeError, EncodeError
from protocol.frames import (
    MAX_FRAME,
    FrameSplitter,
    RequestFrame,
    ResponseFrame,
    encode_request,
    parse_request,
    parse_response,
)
from protocol.schema import Request


class Connection:
    """The server's end.

    `error` is set when the client has sent an invalid request. Requests before it are still returned and must
    be answered; bytes after it are ignored.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.error: DecodeError | None = None
        self.splitter = FrameSplitter(max_frame)
        self.read_frame: Callable[[bytes], RequestFrame] = parse_request
        """Makes a request of a frame's bytes; another function reads frames that have no request header."""
        self._unanswered: deque[RequestFrame] = deque()

    @property
    def unanswered(self) -> int:
        """Number of received requests without an answer."""
        return len(self._unanswered)

    def receive_data(self, data: bytes | bytearray | memoryview) -> list[RequestFrame]:
        """Add bytes from the socket; return the requests that are now complete."""
        if self.error is not None:
            return []
        frames: list[RequestFrame] = []
        try:
            frames.extend(map(self.read_frame, self.splitter.feed(data)))
        except DecodeError as error:
            self.error = error
        self.error = self.error or self.splitter.error
        self._unanswered.extend(frames)
        return frames

    def send_encoded(self, frame: RequestFrame, encoded: bytes) -> bytes:
        """Return `encoded`, which `encode_response` has made, if `frame` is the oldest unanswered request."""
        if not self._unanswered or self._unanswered[0] is not frame:
            raise EncodeError(f"the answer to request {frame.correlation_id} is out of turn")
        self._unanswered.popleft()
        return encoded


class _Sent(NamedTuple):
    correlation_id: int
    api_key: int
    api_version: int


class ClientConnection:
    """The client's end. `error` is set when the server has sent a response that matches no request."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.error: DecodeError | None = None
        self._splitter = FrameSplitter(max_frame)
        self._sent: deque[_Sent] = deque()
        self._correlation_id = 0

    @property
    def unanswered(self) -> int:
        """Number of sent requests without an answer."""
        return len(self._sent)

    def send_request(
        self, request: Request[NamedTuple], version: int, client_id: str | None = "reassignd"
    ) -> bytes:
        """Return the bytes of `request` in `version`, with the next correlation id."""
        correlation_id = self._correlation_id + 1 & 0x7FFFFFFF
        encoded = encode_request(request, version, correlation_id, client_id)
        self._correlation_id = correlation_id
        self._sent.append(_Sent(correlation_id, schema_of(type(request)).api_key or 0, version))
        return encoded

    def receive_data(self, data: bytes | bytearray | memoryview) -> list[ResponseFrame]:
        """Add bytes from the socket; return the responses that are now complete, in order."""
        if self.error is not None:
            return []
        frames: list[ResponseFrame] = []
        try:
            frames.extend(self._match(payload) for payload in self._splitter.feed(data))
        except DecodeError as error:
            self.error = error
        self.error = self.error or self._splitter.error
        return frames

    def _match(self, payload: bytes) -> ResponseFrame:
        if not self._sent:
            raise DecodeError("a response without a request")
        sent = self._sent.popleft()
        frame = parse_response(payload, sent.api_key, sent.api_version)
        if frame.correlation_id != sent.correlation_id:
            raise DecodeError(f"response {frame.correlation_id} where {sent.correlation_id} was expected")
        return frame
