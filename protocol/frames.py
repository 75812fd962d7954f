"""The bytes of a connection, without the socket: frames of a size, a header and a body, and both ends.

`Connection`, the server's end, and `ClientConnection` make frames of received bytes, and keep answers in the
order of requests. They and `FrameSplitter`, which splits a stream into frames, have state.
"""

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from struct import pack, unpack_from
from typing import NamedTuple, TypeVar, cast

from common.error_codes import ErrorCode
from protocol.apis import Api, ApiKey, find_api
from protocol.codec.errors import DecodeError, EncodeError
from protocol.codec.schema import Request, Response
from protocol.codec.wire import Codec, codec, schema_of
from protocol.counter import Bounds, counter
from protocol.messages.request_header import RequestHeader
from protocol.messages.response_header import ResponseHeader

M = TypeVar("M", bound=NamedTuple)

MAX_FRAME = 100 * 1024 * 1024
"""Maximum size of a frame in bytes, as the default of Kafka's socket.request.max.bytes."""

POLLED = frozenset({
    ApiKey.API_VERSIONS,
    ApiKey.METADATA,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_CLUSTER,
})  # fmt: skip
"""Requests that clients repeat. They contain no secrets, so decoded ones may be cached."""

SMALL_BODY = 256
"""Maximum size of a cached request in bytes. For such requests a lookup in the cache costs less than
decoding."""


ANY_SIZE = Bounds(MAX_FRAME, MAX_FRAME)
"""Bounds that no frame exceeds."""


class RequestFrame(NamedTuple):
    """A request whose header has been read. The body, which may be large, is decoded by `decode_request`.

    `known` is false if there is no schema for the key and version; then the client id is None and the body is
    empty. Kafka closes the connection after such a request. An ApiVersions request is answered with error 35
    in version 0.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: memoryview
    known: bool


class ResponseFrame(NamedTuple):
    """A response whose header has been read, with the key and version of its request."""

    api_key: int
    api_version: int
    correlation_id: int
    body: memoryview


class EncodedRequest(NamedTuple):
    """A request whose body is encoded already, for one that is too large to be made of rows."""

    api_key: int
    api_version: int
    body: bytes


class FrameSplitter:
    """Splits a stream into frames.

    It allocates memory for received bytes only, not for the size that a frame states.

    A size below 0 or above `max_frame` sets `error`; the bytes after it are ignored.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.error: DecodeError | None = None
        self.incomplete = bytearray()
        """The received bytes of an incomplete frame."""
        self.max_frame = max_frame

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Add received bytes; return the frames that are now complete, without their sizes."""
        if self.error is not None:
            return []
        if (
            not self.incomplete
            and len(data) >= 4
            and unpack_from(">i", data)[0] == len(data) - 4 <= self.max_frame
        ):
            return [bytes(data[4:])]  # Most reads have exactly one frame, which needs no buffer.
        self.incomplete += data
        frames = []
        start = 0
        while len(self.incomplete) - start >= 4:
            (size,) = unpack_from(">i", self.incomplete, start)
            if not 0 <= size <= self.max_frame:
                self.error = DecodeError(f"a frame of {size} bytes, where {self.max_frame} are allowed")
                break
            end = start + 4 + size
            if end > len(self.incomplete):
                break
            frames.append(bytes(memoryview(self.incomplete)[start + 4 : end]))
            start = end
        del self.incomplete[:start]
        return frames


def parse_request(payload: bytes) -> RequestFrame:
    """Read the header of a request frame."""
    if len(payload) < 8:
        raise DecodeError(f"a request of {len(payload)} bytes is too short for a header")
    key, version, correlation_id = unpack_from(">hhi", payload)
    headers = _headers(key, version)
    if headers is None:
        return RequestFrame(key, version, correlation_id, None, memoryview(b""), False)
    (_, _, _, client_id), end = headers.request_header.decode_prefix(payload)
    return RequestFrame(key, version, correlation_id, client_id, memoryview(payload)[end:], True)


def parse_response(payload: bytes, api_key: int, api_version: int) -> ResponseFrame:
    """Read the header of the response to a request of `api_key` and `api_version`."""
    header_version = _known_api(api_key).response_header_version(api_version)
    header, end = codec(ResponseHeader, header_version).decode_prefix(payload)
    return ResponseFrame(api_key, api_version, header.correlation_id, memoryview(payload)[end:])


def decode_request(frame: RequestFrame, request_class: type[M]) -> M:
    """Return the request message. `request_class` is the class that belongs to the frame's API key."""
    return decode_within(frame, request_class, ANY_SIZE)[0]


def decode_within(frame: RequestFrame, request_class: type[M], bounds: Bounds) -> tuple[M, bool]:
    """Return the request message and True; of one that exceeds the bounds, its first rows and False."""
    if not frame.known:
        raise DecodeError(f"API key {frame.api_key} version {frame.api_version} is unknown")
    version, body = frame.api_version, frame.body
    size = len(body)
    if size > bounds.rows or size > bounds.numbers:  # A row or number takes at least one byte.
        truncated = counter(request_class, version).cut(bytes(body), bounds)
        if truncated is not None:
            return truncated, False
    if size <= SMALL_BODY and frame.api_key in POLLED:
        # The type of a cached function has no type variables.
        return cast(M, _decode_small(request_class, version, bytes(body))), True
    return codec(request_class, version).decode_prefix(bytes(body))[0], True


def exceeds(frame: RequestFrame, request_class: type[NamedTuple], bounds: Bounds) -> bool:
    """Return whether the request exceeds the bounds, without decoding it. Raises DecodeError."""
    if bounds.surely_hold(len(frame.body)):
        return False
    return counter(request_class, frame.api_version).cut(bytes(frame.body), bounds) is not None


def decode_response(frame: ResponseFrame, response_class: type[Response]) -> Response:
    """Return the response message.

    A broker that lacks this version of ApiVersions answers in version 0 (KIP-511).
    """
    version = frame.api_version
    if frame.api_key == ApiKey.API_VERSIONS and frame.body[:2] == pack(">h", ErrorCode.UNSUPPORTED_VERSION):
        version = 0
    return codec(response_class, version).decode(frame.body)


def encode_request(
    request: Request[NamedTuple], version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return a whole request frame."""
    schema = schema_of(type(request))
    if schema.kind != "request" or schema.api_key is None:
        raise EncodeError(f"{schema.root.__name__} is not a request")
    header_version = _known_api(schema.api_key).request_header_version(version)
    header = RequestHeader(schema.api_key, version, correlation_id, client_id if header_version else "")
    return _frame(
        codec(RequestHeader, header_version).encode(header), codec(type(request), version).encode(request)
    )


def frame_request(encoded: EncodedRequest, correlation_id: int, client_id: str) -> bytes:
    """Return a whole request frame, with an encoded body."""
    key, version, body = encoded
    header_version = _known_api(key).request_header_version(version)
    header = RequestHeader(key, version, correlation_id, client_id)
    return _frame(codec(RequestHeader, header_version).encode(header), body)


def encode_response(frame: RequestFrame, response: NamedTuple, version: int | None = None) -> bytes:
    """Return the whole frame that answers `frame`, in its version or in `version`.

    Safe to call in any thread.
    """
    version = frame.api_version if version is None else version
    return frame_response(frame, codec(type(response), version).encode(response), version)


def frame_response(frame: RequestFrame, body: bytes, version: int | None = None) -> bytes:
    """Return the whole frame that answers `frame`, with an encoded body."""
    headers = _headers(frame.api_key, frame.api_version if version is None else version)
    if headers is not None and headers.response_header_version:
        return b"".join((pack(">iix", len(body) + 5, frame.correlation_id), body))
    return b"".join((pack(">ii", len(body) + 4, frame.correlation_id), body))


class _Headers(NamedTuple):
    request_header: Codec[RequestHeader]
    response_header_version: int


@lru_cache(maxsize=1024)
def _decode_small(request_class: type[NamedTuple], version: int, body: bytes) -> NamedTuple:
    """Decode a request, and cache it: clients that poll repeat the same body, and messages are immutable."""
    return codec(request_class, version).decode(body)


@lru_cache(maxsize=1024)
def _headers(key: int, version: int) -> _Headers | None:
    """Return the headers of a request and its response; None for an unknown version.

    The cache is bounded, since clients choose the arguments.
    """
    api = find_api(key)
    if api is None or version not in api.versions:
        return None
    return _Headers(
        codec(RequestHeader, api.request_header_version(version)), api.response_header_version(version)
    )


def _known_api(key: int) -> Api:
    api = find_api(key)
    if api is None:
        raise DecodeError(f"API key {key} is unknown")
    return api


def _frame(header: bytes, body: bytes) -> bytes:
    return b"".join((pack(">i", len(header) + len(body)), header, body))


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

    def send_encoded(self, request: EncodedRequest, client_id: str) -> bytes:
        """Return the bytes of a request with the next correlation id."""
        self._correlation_id = self._correlation_id + 1 & 0x7FFFFFFF
        self._sent.append(_Sent(self._correlation_id, request.api_key, request.api_version))
        return frame_request(request, self._correlation_id, client_id)

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
