"""What a handler gets with a request: who asks, what they may do, services, and the form of errors of rows.

An authorizer decides about resources; `controller.model.access` has Kafka's enums.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, ParamSpec, Protocol, TypeVar

from common.error_codes import ErrorCode
from common.off_loop import OffLoop
from controller.messages.event import Requester
from controller.model.access import CLUSTER_NAME, Operation, ResourceKind
from controller.model.cluster import Broker
from controller.ports import Submitter
from controller.state.state import State
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.list_offsets_request import ListOffsetsRequest
from protocol.messages.list_offsets_response import ListOffsetsResponse
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.dispatch.cache import BodyCache, KeptListing

ANONYMOUS = "User:ANONYMOUS"
UNKNOWN = "unknown"
"""Stands for the principal if another broker authenticated it and its name is unknown. No principal begins
so."""


def unknown_principal(mechanism: str, peer: str) -> str:
    """Return what is recorded of a client whose name is unknown.

    It has the SASL mechanism, and `peer` without its port.
    """
    return f"{UNKNOWN} ({mechanism or 'no mechanism'} from {peer.rpartition(':')[0]})"


def is_named(principal: str) -> bool:
    """Return whether the name of the principal is known."""
    return not principal.startswith(UNKNOWN)


class Resource(NamedTuple):
    """A resource that operations are authorized on."""

    kind: ResourceKind
    name: str


CLUSTER = Resource(ResourceKind.CLUSTER, CLUSTER_NAME)

TOPIC_OPERATIONS = (
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DESCRIBE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
CLUSTER_OPERATIONS = (
    Operation.CREATE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE,
    Operation.ALTER,
    Operation.IDEMPOTENT_WRITE,
)


def topic(name: str) -> Resource:
    """Return the topic as a resource."""
    return Resource(ResourceKind.TOPIC, name)


def group(name: str) -> Resource:
    """Return the consumer group as a resource."""
    return Resource(ResourceKind.GROUP, name)


def transactional_id(name: str) -> Resource:
    """Return the transactional id as a resource."""
    return Resource(ResourceKind.TRANSACTIONAL_ID, name)


class Authorizer(Protocol):
    """Decides whether a principal may perform an operation. Called for every request: it must not block."""

    def allows(self, principal: str, operation: Operation, resource: Resource, /) -> bool: ...


class AllowAll:
    """Allows every operation to everyone, as Kafka without an authorizer."""

    def allows(self, _principal: str, _operation: Operation, _resource: Resource, /) -> bool:
        return True


def authorized_operations(authorizer: Authorizer, principal: str, resource: Resource) -> int:
    """Return the bit field of KIP-430: bit n is set if operation n is allowed on the resource."""
    operations = CLUSTER_OPERATIONS if resource.kind is ResourceKind.CLUSTER else TOPIC_OPERATIONS
    return sum(1 << number for number in operations if authorizer.allows(principal, number, resource))


P = ParamSpec("P")
R = TypeVar("R")

LARGE_ROWS = 5_000
"""Rows that take a few milliseconds to translate. More rows are translated in the worker thread, which adds
latency."""

ROWS_PER_YIELD = 50
"""Rows after which a long handler lets other tasks run."""

NOT_ASKED = -2147483648
"""The value of authorized operations if the request did not ask for them."""


class BrokerPort(Protocol):
    """The broker of a listener, as its handlers use it. No call blocks."""

    @property
    def id(self) -> int: ...

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse: ...

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse: ...

    def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse: ...

    def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse: ...

    def alter_replica_log_dirs(self, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse: ...

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse: ...


@dataclass(frozen=True, slots=True)
class Services:
    """The services that all connections share. `new_id` returns sixteen random bytes for a topic id."""

    cluster_id: str
    state: State
    driver: Submitter
    authorizer: Authorizer
    off_loop: OffLoop
    bodies: BodyCache
    new_id: Callable[[], bytes]
    manages_acls: bool = False
    """Whether clients may list and change ACLs: the authorizer uses those of the state."""
    listing: KeptListing = field(default_factory=KeptListing)


class Caller(NamedTuple):
    """Who sends the requests of a connection, and to which broker's listener."""

    broker: BrokerPort
    principal: str
    peer: str
    rights: Authorizer | None = None
    """Replaces the services' authorizer for this request: the principal's rights, as another broker returned
    them."""
    via: str = ""
    """Id of the instance that has forwarded the request; empty if it arrived here."""


class Context(NamedTuple):
    """The caller of a request, and the services that its handler uses."""

    services: Services
    state: State
    authorizer: Authorizer
    caller: Caller
    client_id: str | None
    api_version: int

    @property
    def broker(self) -> BrokerPort:
        """The broker whose listener received the request."""
        return self.caller.broker

    @property
    def principal(self) -> str:
        """Who asks."""
        return self.caller.principal

    @property
    def requester(self) -> Requester:
        """Who asks, as the controller records it."""
        return Requester(self.caller.principal, self.client_id, self.caller.via)

    @property
    def controller_id(self) -> int:
        """The broker that Metadata names as controller.

        Any live broker is valid: all listeners lead to the same controller.
        """
        return min(self.state.cluster.live, default=-1)

    async def yield_to_loop(self, done: int) -> None:
        """Let other tasks run after every `ROWS_PER_YIELD` rows; `done` counts the rows."""
        if done % ROWS_PER_YIELD == 0:
            await asyncio.sleep(0)

    def brokers(self) -> list[Broker]:
        """Return all registered brokers in order of id."""
        return [broker for _, broker in sorted(self.state.cluster.brokers.items())]

    def off_loop(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Call the function in the worker thread: it has more than `LARGE_ROWS` rows to translate."""
        return self.services.off_loop.run(function, *args, **kwargs)

    def allows(self, operation: Operation, resource: Resource = CLUSTER) -> bool:
        """Return whether the principal may perform the operation."""
        return self.authorizer.allows(self.caller.principal, operation, resource)

    def allows_topic(self, operation: Operation, name: str) -> bool:
        """Return whether the principal may perform the operation on the topic."""
        return self.authorizer.allows(self.caller.principal, operation, topic(name))

    def operations_on(self, resource: Resource, include: bool) -> int:
        """Return the bit field of permitted operations (KIP-430), or NOT_ASKED.

        Those on the cluster are 0 without DESCRIBE on it, as in Kafka.
        """
        if not include:
            return NOT_ASKED
        if resource == CLUSTER and not self.allows(Operation.DESCRIBE):
            return 0
        return authorized_operations(self.authorizer, self.principal, resource)


K = TypeVar("K", bound=Hashable)

RowError = tuple[int, str | None]
"""Error code and message of one row; code 0 is success. The controller's `Outcome` is a subtype."""

TOPIC_DENIED: RowError = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
DUPLICATE_TOPIC: RowError = (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def repeated(keys: Iterable[K]) -> set[K]:
    """Return the keys that occur more than once."""
    return {key for key, times in Counter(keys).items() if times > 1}


def merged(refusals: Sequence[RowError | None], outcomes: Iterable[RowError]) -> list[RowError]:
    """Return one error per row: the refusal if there is one, else the next of the controller's outcomes."""
    remaining = iter(outcomes)
    return [next(remaining) if refusal is None else refusal for refusal in refusals]


LONGEST_CLIENT_ID = 200
"""Characters that are recorded. A request may have 32,767, and every job and entry of the client would keep
them."""


def recorded_client_id(client_id: str | None) -> str | None:
    """Return the client id, cut."""
    return None if client_id is None else client_id[:LONGEST_CLIENT_ID]
