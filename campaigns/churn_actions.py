"""The actions of `campaigns.churn`.

An action opens a connection, and sends a few requests or invalid bytes.
"""

import asyncio
import contextlib
import json
import socket
import struct
from asyncio import StreamReader, StreamWriter
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Generic, NamedTuple

from campaigns.churn_servers import Server
from protocol.codec.schema import Request, Response, Response_co
from protocol.codec.wire import schema_of
from protocol.frames import decode_response, parse_response
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.create_partitions_request import CreatePartitionsRequest
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol.messages.elect_leaders_request import ElectLeadersRequest
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tools.raw_connection import CORRELATION_ID, encode

TOPIC = "churned"
PARTITIONS = 12
ANSWER_SECONDS = 20.0
"""Seconds for an answer."""

P_LIMIT = AlterableConfig("reassignment.max.concurrent.partition.movements", 0, "3")


class Sample(NamedTuple, Generic[Response_co]):
    """A request, and a version of it that both servers support."""

    request: Request[Response_co]
    version: int

    @property
    def frame(self) -> bytes:
        return encode(self.request, self.version)


def order(replicas: tuple[int, ...] | None) -> Sample[AlterPartitionReassignmentsResponse]:
    """Return a request that reassigns all partitions of the topic, or cancels if `replicas` is None."""
    rows = [ReassignablePartition(each, replicas) for each in range(PARTITIONS)]
    return Sample(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)]), 0)


METADATA = Sample(MetadataRequest(None, allow_auto_topic_creation=False), 9)
LIST = Sample(ListPartitionReassignmentsRequest(), 0)
VERSIONS = Sample(ApiVersionsRequest("churn", "1"), 3)
CREATE = Sample(CreateTopicsRequest([CreatableTopic(TOPIC, PARTITIONS, 2, (), ())]), 5)
SAMPLES: list[Sample[NamedTuple]] = [
    METADATA,
    LIST,
    VERSIONS,
    CREATE,
    order((1, 2)),
    order((2, 3)),
    order(None),
    Sample(MetadataRequest([MetadataRequestTopic(name=TOPIC)]), 12),
    Sample(ListPartitionReassignmentsRequest(topics=[ListPartitionReassignmentsTopics(TOPIC, (0, 1, 2))]), 0),
    Sample(DescribeClusterRequest(), 1),
    Sample(DescribeConfigsRequest([DescribeConfigsResource(4, "", None)]), 4),
    Sample(DescribeConfigsRequest([DescribeConfigsResource(2, TOPIC, None)]), 1),
    Sample(IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [P_LIMIT])]), 1),
    Sample(AlterConfigsRequest(()), 1),
    Sample(DescribeLogDirsRequest(None), 2),
    Sample(AlterReplicaLogDirsRequest(()), 2),
    Sample(ElectLeadersRequest(1, None), 2),
    Sample(FindCoordinatorRequest("group"), 2),
    Sample(CreatePartitionsRequest(()), 2),
    Sample(DeleteTopicsRequest(topic_names=["another"]), 4),
    Sample(DescribeTopicPartitionsRequest([TopicRequest(TOPIC)]), 0),
]
LARGE_METADATA = encode(MetadataRequest([MetadataRequestTopic(name=TOPIC)] * 2_000), 9)


class Connection:
    """A connection to a server."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        """Send the data. Raises TimeoutError after ANSWER_SECONDS seconds."""
        self.writer.write(data)
        async with asyncio.timeout(ANSWER_SECONDS):
            await self.writer.drain()

    async def answer(self) -> bytes:
        """Return the next answer. Raises TimeoutError after ANSWER_SECONDS seconds."""
        async with asyncio.timeout(ANSWER_SECONDS):
            return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(4)))

    async def ask(self, sample: Sample[Response]) -> Response:
        """Send a request and return the decoded answer."""
        await self.send(sample.frame)
        key = schema_of(type(sample.request)).api_key or 0
        frame = parse_response(await self.answer(), key, sample.version)
        return decode_response(frame, sample.request.response_class())

    async def log_in(self, token: bytes = b"\0alice\0secret", mechanism: str = "PLAIN") -> None:
        """Send a SASL authentication. Its result is not checked."""
        await self.ask(Sample(SaslHandshakeRequest(mechanism), 1))
        await self.ask(Sample(SaslAuthenticateRequest(token), 2))

    async def end_of(self, seconds: float) -> None:
        """Read until the server closes the connection, for at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self.reader.read(65536):
                    pass


@asynccontextmanager
async def connected(server: Server, rng: Random, *, logged_in: bool = True) -> AsyncIterator[Connection]:
    """Open a connection to a random broker, authenticated if required.

    At the end, close or abort it at random.
    """
    connection = Connection(*await server.connect(rng.randrange(4)))
    try:
        if server.sasl and logged_in:
            await connection.log_in()
        yield connection
    finally:
        if rng.random() < 0.3:
            connection.writer.transport.abort()
        else:
            connection.writer.close()


async def use(server: Server, rng: Random) -> None:
    """Send valid requests, one after the other."""
    async with connected(server, rng) as connection:
        for _ in range(rng.randrange(1, 20)):
            await connection.ask(rng.choice(SAMPLES))


async def move(server: Server, rng: Random) -> None:
    """Reassign, list, and cancel with probability 0.5."""
    async with connected(server, rng) as connection:
        await connection.ask(CREATE)
        await connection.ask(order(rng.choice([(1, 2), (2, 3), (3, 1)])))
        await connection.ask(LIST)
        if rng.random() < 0.5:
            await connection.ask(order(None))


async def mutate(server: Server, rng: Random) -> None:
    """Send requests with a few random bytes."""
    async with connected(server, rng) as connection:
        for _ in range(rng.randrange(1, 6)):
            frame = bytearray(rng.choice(SAMPLES).frame)
            for _ in range(rng.randrange(1, 4)):
                frame[rng.randrange(4 if rng.random() < 0.9 else 0, len(frame))] = rng.randrange(256)
            await connection.send(bytes(frame))
        await connection.end_of(rng.random())


async def shorten(server: Server, rng: Random) -> None:
    """Send a truncated request, with a right or wrong size."""
    async with connected(server, rng) as connection:
        frame = rng.choice(SAMPLES).frame
        end = rng.randrange(len(frame))
        claimed = rng.choice([len(frame) - 4, max(end - 4, 0), 2**31 - 1, -1, 100_000_000])
        await connection.send(struct.pack(">i", claimed) + frame[4:end])
        await connection.end_of(2 * rng.random())


async def babble(server: Server, rng: Random) -> None:
    """Send bytes that are not Kafka's protocol."""
    async with connected(server, rng, logged_in=False) as connection:
        await connection.send(
            rng.choice([b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02", rng.randbytes(500)])
        )
        await connection.end_of(rng.random())


async def overtake(server: Server, rng: Random) -> None:
    """Send requests before authentication, invalid credentials, or tokens at the wrong time."""
    claims = urlsafe_b64encode(rng.choice([b"[" * 100_000, json.dumps({"sub": "admin"}).encode()]))
    bearer = b"n,,\1auth=bearer e30." + claims.rstrip(b"=") + b".\1\1"
    async with connected(server, rng, logged_in=False) as connection:
        match rng.randrange(4):
            case 0:
                await connection.send(METADATA.frame)
            case 1:
                await connection.log_in(b"\0alice\0wrong")
            case 2:
                await connection.log_in(bearer, "OAUTHBEARER")
            case _:
                await connection.log_in()
                await connection.send(encode(SaslAuthenticateRequest(bearer), 2))
        await connection.end_of(rng.random())


async def leave_unfinished(server: Server, rng: Random) -> None:
    """Send half of a large token or reassignment request."""
    key = 36 if server.sasl else 45
    async with connected(server, rng, logged_in=False) as connection:
        size = rng.randrange(100_000, 500_000)
        await connection.send(struct.pack(">ihhi", size, key, 0, CORRELATION_ID) + bytes(size // 2))
        await asyncio.sleep(8 * rng.random())


async def read_nothing(server: Server, rng: Random) -> None:
    """Request megabytes and do not read the answers."""
    async with connected(server, rng) as connection:
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined] # it reads
        for _ in range(rng.randrange(1, 30)):
            connection.writer.write(LARGE_METADATA)
        await asyncio.sleep(8 * rng.random())


async def half_open(server: Server, rng: Random) -> None:
    """Do not complete the TLS handshake."""
    host, port = server.kafka[0]
    _, writer = await asyncio.open_connection(host, port)
    writer.write(rng.choice([b"", b"\x16\x03\x01\x02\x00", rng.randbytes(200)]))
    await asyncio.sleep(5 * rng.random())
    writer.transport.abort()


async def knock(server: Server, rng: Random) -> None:
    """Open connections and reset them at once."""
    for _ in range(rng.randrange(1, 20)):
        _, writer = await asyncio.open_connection(*server.kafka[0])
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()


PATHS = ["/healthz", "/readyz", "/metrics", "/", "/v1/status", "/v1/jobs", "/v1/reassignments", "/v1/no"]
HTTP = [
    b"GET /healthz HTTP/1.1\r\nHost: a{b\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 100_000,
    b"POST /v1/reassignments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{",
    b'POST /v1/reassignments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"a": [[[',
    b"GET /healthz",
    b"\x16\x03\x01",
    struct.pack(">ihhih", 10, 18, 0, 1, -1),
]


async def browse(server: Server, rng: Random) -> None:
    """Send valid or invalid HTTP requests."""
    reader, writer = await asyncio.open_connection(*server.http)
    connection = Connection(reader, writer)
    if rng.random() < 0.5:
        for _ in range(rng.randrange(1, 5)):
            path = rng.choice(PATHS)
            await connection.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.http[1]}\r\n\r\n".encode())
            async with asyncio.timeout(ANSWER_SECONDS):
                await reader.read(65536)
    else:
        await connection.send(rng.choice(HTTP))
        await connection.end_of(3 * rng.random())
    writer.close()


Action = Callable[[Server, Random], Awaitable[None]]
ACTIONS: dict[Action, int] = {
    use: 20,
    move: 8,
    mutate: 20,
    shorten: 12,
    babble: 8,
    overtake: 8,
    leave_unfinished: 6,
    read_nothing: 4,
    half_open: 6,
    knock: 4,
    browse: 10,
}
"""Actions with their relative frequencies."""
