"""Requests and answers for interceptors, and advertised addresses."""

import inspect
from collections.abc import Iterable
from typing import Any

from common.address import Address
from protocol.codec.wire import schema_of
from protocol.frames import RequestFrame, encode_request, encode_response, parse_request, parse_response
from server.dispatch.context import ANONYMOUS, Caller
from server.relay.exchange import Exchange, IncomingRequest, Interceptor, RelayedClient
from server.relay.splitter import FrameAction
from tests.frames import decode_response
from tests.server.fakes import FakeBroker

CORRELATION_ID = 7


class FakePorts:
    """Advertises port 9000 + broker id for the known brokers."""

    def __init__(self, known: Iterable[int] = range(1, 10)) -> None:
        self.known = set(known)
        self.asked: list[tuple[int, Address]] = []

    def advertised(self, broker: int, actual: Address) -> Address | None:
        self.asked.append((broker, actual))
        return Address("gate", 9000 + broker) if broker in self.known else None


def client(*, authenticated: bool = True) -> RelayedClient:
    return RelayedClient(Caller(FakeBroker(), ANONYMOUS, "10.0.0.9:4711"), authenticated)


def incoming_part(payload: bytes, size: int | None = None) -> IncomingRequest:
    """Return a request of `size` bytes of which these have arrived."""
    key, version = (int.from_bytes(payload[at : at + 2], signed=True) for at in (0, 2))
    correlation_id = int.from_bytes(payload[4:8], signed=True)
    return IncomingRequest(
        key, version, correlation_id, memoryview(payload), len(payload) if size is None else size
    )


def incoming(request: Any, version: int) -> IncomingRequest:
    """Return a complete request."""
    return incoming_part(encode_request(request, version, CORRELATION_ID, "me")[4:])


class Talk:
    """One request that an interceptor handles, and its answer."""

    def __init__(
        self, rule: Interceptor, request: Any, version: int, who: RelayedClient | None = None
    ) -> None:
        self.incoming = incoming(request, version)
        self.version = version
        ruled = rule(self.incoming, who or client())
        assert isinstance(ruled, Exchange)
        self.exchange = ruled

    @property
    def upstream(self) -> RequestFrame:
        """The request that is sent to the upstream."""
        sent = self.exchange.upstream
        return parse_request(bytes(self.incoming.frame) if sent is None else sent[4:])

    async def answer(self, response: Any, version: int | None = None) -> Any:
        """Return the client's response to this response of the upstream.

        `version` replaces that of the request.
        """
        header = self.upstream._replace(correlation_id=CORRELATION_ID)
        frame = encode_response(header, response, version)
        return self.read(await finished(self.exchange, frame))

    def read(self, frame: bytes) -> Any:
        assert int.from_bytes(frame[:4]) == len(frame) - 4
        parsed = parse_response(frame[4:], self.incoming.api_key, self.version)
        assert parsed.correlation_id == CORRELATION_ID
        return decode_response(parsed)


async def finished(exchange: Exchange, frame: bytes) -> bytes:
    """Return the client's frame for a complete frame of the upstream."""
    if exchange.finish is None:
        return frame
    verdict = exchange.finish(memoryview(frame)[4:], len(frame) - 4)
    if isinstance(verdict, FrameAction):
        return verdict.put + frame[verdict.take :]
    assert inspect.isawaitable(verdict), f"{verdict} bytes are wanted"
    return await verdict


def key_of(message: type) -> int:
    return schema_of(message).api_key or 0
