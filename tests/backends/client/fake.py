"""A scripted broker on a real socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from common.address import Address
from common.error_codes import ErrorCode
from protocol.apis import ApiKey, find_api
from protocol.frames import Connection, RequestFrame, encode_response
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from tests.frames import decode_request

HANG_UP = b""
"""Answer value: send nothing and close the connection."""

Answer = Callable[[Any], tuple[Any, ...] | asyncio.Future[tuple[Any, ...]] | bytes | None]
"""A function from a request to a response, a future response, raw bytes, or None for no answer."""


def everything() -> ApiVersionsResponse:
    """Return all APIs in all versions that the codec supports."""
    apis = [api for key in ApiKey if (api := find_api(key)) is not None]
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api.key, api.versions[0], api.versions[-1]) for api in apis]
    )


class FakeBroker:
    """A broker with scripted answers.

    `answers` maps each request class to its answer; requests and their versions are recorded.
    """

    def __init__(self) -> None:
        self.answers: dict[type, Answer] = {
            ApiVersionsRequest: lambda _: everything(),
            ListPartitionReassignmentsRequest: lambda _: ListPartitionReassignmentsResponse(),
        }
        self.requests: list[Any] = []
        self.versions: list[int] = []
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._ended: list[asyncio.Event] = []
        self._server: asyncio.Server

    @property
    def address(self) -> Address:
        """The address of the broker."""
        host, port = self._server.sockets[0].getsockname()
        return Address(host, port)

    @property
    def asked(self) -> list[Any]:
        """Return the requests except those of the handshake."""
        return [each for each in self.requests if not isinstance(each, ApiVersionsRequest)]

    async def start(self, port: int = 0, **options: Any) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, **options)

    async def stop(self) -> None:
        """Abort all connections and stop listening."""
        self._server.close()
        self.cut()
        await self._server.wait_closed()
        for ended in self._ended:
            await ended.wait()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    def describes(self, *brokers: "FakeBroker", fenced: int = -1) -> None:
        """Describe a cluster of these brokers, numbered from 1, in later answers.

        The first one is the controller.
        """
        rows = [
            DescribeClusterBroker(number, *broker.address, is_fenced=number == fenced)
            for number, broker in enumerate(brokers, 1)
        ]
        self.answers[DescribeClusterRequest] = lambda _: DescribeClusterResponse(
            cluster_id="fake", controller_id=1, brokers=rows
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        ended = asyncio.Event()
        self._ended.append(ended)
        connection = Connection()
        with contextlib.suppress(OSError):
            while connection.error is None and (data := await reader.read(65536)):
                for frame in connection.receive_data(data):
                    self._answer(connection, frame, writer)
        writer.close()
        ended.set()

    def _answer(self, connection: Connection, frame: RequestFrame, writer: asyncio.StreamWriter) -> None:
        request = decode_request(frame)
        self.requests.append(request)
        self.versions.append(frame.api_version)
        answer: Any = self.answers[type(request)](request)
        if isinstance(answer, bytes):
            writer.write(answer)
        elif isinstance(answer, asyncio.Future):
            answer.add_done_callback(
                lambda later: writer.write(
                    connection.send_encoded(frame, encode_response(frame, later.result()))
                )
            )
        elif answer is not None:
            refused = frame.api_key == ApiKey.API_VERSIONS and answer[0] == ErrorCode.UNSUPPORTED_VERSION
            writer.write(
                connection.send_encoded(frame, encode_response(frame, answer, 0 if refused else None))
            )
        if answer == HANG_UP:
            writer.close()


@asynccontextmanager
async def broker(**options: Any) -> AsyncIterator[FakeBroker]:
    """Run a fake broker during a `with` block; `options` are those of `asyncio.start_server`."""
    fake = FakeBroker()
    await fake.start(**options)
    yield fake
    await fake.stop()
