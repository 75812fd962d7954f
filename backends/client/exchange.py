"""Messages by what exchanges bytes, for callers that read some of the answers as bytes."""

from collections.abc import Awaitable, Callable

from common.off_loop import OffLoop
from protocol.apis import ApiKey
from protocol.codec.schema import Request, Response
from protocol.codec.wire import codec, schema_of
from protocol.frames import ResponseFrame, decode_response

Encode = Callable[[int], Awaitable[bytes]]
"""Returns the body of a request in a version."""
Exchange = Callable[[int, ApiKey, range, Encode, float], Awaitable[ResponseFrame]]
"""Returns a broker's answer to a request in one of these versions, in so many seconds. Raises BrokerError."""


async def ask(
    exchange: Exchange,
    off_loop: OffLoop,
    broker: int,
    request: Request[Response],
    versions: range,
    seconds: float,
) -> Response:
    """Return a broker's answer to a request. Raises BrokerError, DecodeError."""

    async def body(version: int) -> bytes:
        return await off_loop.run(codec(type(request), version).encode, request)

    key = ApiKey(schema_of(type(request)).api_key or 0)
    frame = await exchange(broker, key, versions, body, seconds)
    return await off_loop.run(decode_response, frame, request.response_class())
