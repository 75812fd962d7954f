"""Test doubles for the driver, a broker, a transport and a client."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from common.off_loop import WorkerThread
from common.zones import host_zone
from controller.messages.event import AnyEvent
from controller.model.access import Operation
from controller.modes import EMBEDDED
from controller.ports import Submitter
from controller.state.access import IMPLYING
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.codec.wire import codec
from protocol.frames import ClientConnection
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.list_offsets_request import ListOffsetsRequest
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.connections.client_connection import ServedConnection
from server.dispatch.cache import BodyCache
from server.dispatch.context import (
    ANONYMOUS,
    CLUSTER,
    AllowAll,
    Authorizer,
    Caller,
    Context,
    Resource,
    Services,
    topic,
)
from server.dispatch.registry import ROUTES
from server.security.acls import AclAuthorizer
from tests.frames import decode_response

log = logging.getLogger(__name__)

M = TypeVar("M")

NEW_ID = b"new-topic-id-000"


class FakeDriver:
    """A driver that records events and answers each with the next reply, or with the result of `reply`."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.events: list[AnyEvent] = []

    async def submit(self, event: AnyEvent) -> Any:
        self.events.append(event)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


class FakeBroker:
    """A broker that records requests and answers each with a recognisable value."""

    def __init__(self, broker_id: int = 1) -> None:
        self.id = broker_id
        self.told: list[Any] = []

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        self.told.append(request)
        return LeaderAndIsrResponse(error_code=11)

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        self.told.append(request)
        return UpdateMetadataResponse(error_code=11)

    def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        self.told.append(request)
        return StopReplicaResponse(error_code=11)

    def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        self.told.append(request)
        return DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir="/d0")])

    def alter_replica_log_dirs(self, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        self.told.append(request)
        return AlterReplicaLogDirsResponse(throttle_time_ms=7)

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        self.told.append(request)
        rows = [ListOffsetsPartitionResponse(0, offset=42)]
        return ListOffsetsResponse(
            topics=[ListOffsetsTopicResponse(each.name, rows) for each in request.topics]
        )


class FakeTransport(asyncio.Transport):
    """A transport that keeps the written bytes."""

    def __init__(self) -> None:
        super().__init__({"peername": ("10.0.0.9", 4711)})
        self.writes: list[bytes] = []
        self.flow: list[str] = []
        self.closed = False
        self.aborted = False
        self.unread = 0
        """Number of buffered bytes that the transport reports."""

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def pause_reading(self) -> None:
        self.flow.append("paused")

    def resume_reading(self) -> None:
        self.flow.append("resumed")

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.flow_limits = (high, low)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True


class FakeHost:
    """A host that records ended connections and the bytes that the others hold."""

    def __init__(self) -> None:
        self.gone: list[ServedConnection] = []
        self.buffered: dict[ServedConnection, int] = {}

    def ended(self, connection: ServedConnection) -> None:
        self.gone.append(connection)

    def set_buffered(self, connection: ServedConnection, size: int) -> None:
        self.buffered[connection] = size

    def closes(self, peer: str, reason: str) -> None:
        log.warning("closed the connection of %s: %s", peer, reason)


class FakeClient:
    """A client that encodes requests and decodes answers."""

    def __init__(self) -> None:
        self.connection = ClientConnection()

    def ask(self, request: Any, version: int) -> bytes:
        return self.connection.send_request(request, version, "me")

    def read(self, data: bytes | Iterable[bytes]) -> list[Any]:
        data = data if isinstance(data, bytes) else b"".join(data)
        responses = [decode_response(frame) for frame in self.connection.receive_data(data)]
        assert self.connection.error is None
        return responses


class AclTable:
    """Allows the operations of its rules (principal, operation, resource) and those that they imply."""

    def __init__(self, rules: Iterable[tuple[str, Operation, Resource]]) -> None:
        self._rules = frozenset(rules)

    def allows(self, principal: str, operation: Operation, resource: Resource, /) -> bool:
        sufficient = (operation, *IMPLYING.get(operation, ()))
        return any((principal, implying, resource) in self._rules for implying in sufficient)


def allowing(*rules: tuple[Operation, Resource | str]) -> AclTable:
    """Return an authorizer that grants the test principal these operations only; a plain name is a topic."""
    return AclTable(
        (ANONYMOUS, operation, topic(resource) if isinstance(resource, str) else resource)
        for operation, resource in rules
    )


NOBODY = allowing()
CLUSTER_ADMIN = allowing((Operation.ALTER, CLUSTER))


def services(
    state: State | None = None, driver: Submitter | None = None, authorizer: Authorizer | None = None
) -> Services:
    off_loop = WorkerThread()
    return Services(
        "cluster-1",
        State(EMBEDDED, settings=SettingsState(host_zone)) if state is None else state,
        FakeDriver() if driver is None else driver,
        AllowAll() if authorizer is None else authorizer,
        off_loop,
        BodyCache(off_loop),
        lambda: NEW_ID,
        manages_acls=isinstance(authorizer, AclAuthorizer),
    )


def context(
    version: int,
    state: State | None = None,
    driver: Submitter | None = None,
    authorizer: Authorizer | None = None,
    broker: FakeBroker | None = None,
) -> Context:
    shared = services(state, driver, authorizer)
    return Context(
        shared,
        shared.state,
        shared.authorizer,
        Caller(broker or FakeBroker(), ANONYMOUS, "10.0.0.9:4711"),
        "me",
        version,
    )


async def answer(handle: Callable[[Any, Context], Any], request: Any, asked: Context) -> Any:
    """Return the handler's response, awaited if necessary."""
    response: Any | Awaitable[Any] = handle(request, asked)
    return await response if inspect.isawaitable(response) else response


def decoded(response: M, version: int) -> M:
    """Return the response, encoded and decoded in this version."""
    wire = codec(type(response), version)
    return wire.decode(wire.encode(response))


def encodable(response: M, api_key: int) -> M:
    """Return the response after checking that each served version can encode it."""
    for version in ROUTES[api_key].versions:
        codec(type(response), version).encode(response)
    return response
