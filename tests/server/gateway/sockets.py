"""A gateway on real sockets, in front of brokers that answer a few Kafka requests."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from common.address import Address
from common.off_loop import InlineExecutor
from protocol.frames import Connection, RequestFrame, encode_response
from protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from protocol.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from server.connections.client_connection import ConnectionLimits
from server.counters import Counters
from server.gateway.gateway import Gateway, GatewaySettings
from server.gateway.port_assignments import PortAssignments
from tests.server.gateway.doubles import FakeServices
from tests.server.rig import settle
from tests.server.sockets import Talk

SETTINGS = GatewaySettings(Address("127.0.0.1", 0), 10, "127.0.0.1")


class FakeKafka:
    """A broker whose answers list the `brokers` of its cluster. A silent broker never answers."""

    def __init__(self, port: int = 0, *, silent: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self.address = Address("127.0.0.1", port)
        self.brokers: dict[int, Address] = {}
        self.connections: list[asyncio.StreamWriter] = []
        self.asked: list[int] = []
        """API keys."""
        self._silent = silent
        self._tls = tls
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, *self.address, ssl=self._tls)
        self.address = Address(*self._server.sockets[0].getsockname())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await settle()
        self._server.close()
        self.cut()
        await settle()

    def cut(self) -> None:
        """Abort all connections, as a crashed broker does."""
        for writer in self.connections:
            writer.transport.abort()
        self.connections.clear()

    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        connection = Connection()
        while data := await reader.read(65536):
            for frame in [] if self._silent else connection.receive_data(data):
                self.asked.append(frame.api_key)
                writer.write(encode_response(frame, self._answer(frame)))
        writer.close()

    def _answer(self, frame: RequestFrame) -> Any:
        rows = sorted(self.brokers.items())
        match frame.api_key:
            case 3:
                return MetadataResponse(brokers=[MetadataResponseBroker(broker, *at) for broker, at in rows])
            case 16:
                return ListGroupsResponse(groups=[ListedGroup(str(self.address.port), "consumer")])
            case _:
                return DescribeClusterResponse(
                    cluster_id=str(self.address.port),
                    brokers=[DescribeClusterBroker(broker, *at) for broker, at in rows],
                )


@asynccontextmanager
async def gateway(
    directory: Path, brokers: Mapping[int, Address], limits: ConnectionLimits | None = None, **settings: Any
) -> AsyncIterator[Gateway]:
    """Run a gateway in front of these brokers, on free ports."""
    result = Gateway(
        FakeServices().services,
        replace(SETTINGS, **settings),
        limits or ConnectionLimits(),
        Counters(),
        PortAssignments(directory),
        InlineExecutor(),
    )
    try:
        await result.update(brokers)
        yield result
    finally:
        await result.close(0)


async def connect(at: Address, tls: ssl.SSLContext | None = None) -> Talk:
    return Talk(*await asyncio.open_connection(*at, ssl=tls))
