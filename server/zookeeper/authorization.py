"""A principal's rights: the broker is asked on the connection on which it has authenticated the principal.

Metadata (3) returns the allowed operations on the cluster and on topics (KIP-430); those on the cluster only
to principals with DESCRIBE. Version 8 is used, the last that all brokers with ZooKeeper serve alike.
CLUSTER_ACTION, which brokers may have without DESCRIBE, is checked by ControlledShutdown (7) for no broker:
every broker checks the right before it answers that it is not the controller, and nothing shuts down.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple

from common.error_codes import ErrorCode
from controller.model.access import Operation, ResourceKind
from controller.model.replicas import MAX_NAME
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.codec.schema import Request, Response
from protocol.frames import RequestFrame, decode_response, encode_request, parse_request, parse_response
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponse
from server.dispatch.context import (
    Caller,
    Resource,
)
from server.relay.exchange import Exchange, IncomingRequest, Interceptor, RelayedClient, buffered

METADATA_VERSION = 8
SHUTDOWN_VERSION = 2
NO_BROKER = -1
NO_EPOCH = -1

NO_TOPICS: Mapping[str, int] = MappingProxyType({})


class Rights(NamedTuple):
    """Bit fields of the allowed operations on the cluster and on topics.

    Implements `server.dispatch.context.Authorizer`.
    """

    cluster: int = 0
    topics: Mapping[str, int] = NO_TOPICS

    def allows(self, _principal: str, operation: Operation, resource: Resource, /) -> bool:
        """Ignore the principal: the rights are those of one principal."""
        bits = self.cluster if resource.kind is ResourceKind.CLUSTER else self.topics.get(resource.name, 0)
        return bool(bits >> operation & 1)


class RightsQuery(NamedTuple, Generic[Response]):
    """A request to a broker, and the function that reads the rights from its response."""

    api_key: ApiKey
    version: int
    request: Request[Response]
    read: Callable[[Response], Rights]

    def rights(self, payload: bytes) -> Rights:
        """Return the rights in a response frame without its length."""
        frame = parse_response(payload, self.api_key, self.version)
        return self.read(decode_response(frame, self.request.response_class()))


AnyQuery = RightsQuery[MetadataResponse] | RightsQuery[ControlledShutdownResponse]


def operations_query(topics: Iterable[str] = ()) -> RightsQuery[MetadataResponse]:
    """Return the query for the operations on the cluster and on these topics, which need not exist."""
    rows = [MetadataRequestTopic(name=name) for name in dict.fromkeys(topics) if len(name) <= MAX_NAME]
    request = MetadataRequest(
        rows,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    return RightsQuery(ApiKey.METADATA, METADATA_VERSION, request, _operations)


def _operations(response: MetadataResponse) -> Rights:
    topics = {row.name: row.topic_authorized_operations for row in response.topics if row.name is not None}
    return Rights(response.cluster_authorized_operations, topics)


AFTER_THE_CHECK = frozenset(
    {ErrorCode.NONE, ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.STALE_CONTROLLER_EPOCH}
)
"""Errors after the rights were checked, for a broker id that does not exist: from a controller and from other
brokers."""


def _may_act(response: ControlledShutdownResponse) -> Rights:
    code = response.error_code
    if code in AFTER_THE_CHECK:
        return Rights(1 << Operation.CLUSTER_ACTION)
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return Rights()
    # For instance, an authorizer that fails has neither allowed nor denied the operation.
    raise DecodeError(f"a broker did not tell the principal's rights, but error {code}")


CLUSTER_ACTION = RightsQuery(
    ApiKey.CONTROLLED_SHUTDOWN,
    SHUTDOWN_VERSION,
    ControlledShutdownRequest(broker_id=NO_BROKER, broker_epoch=NO_EPOCH),
    _may_act,
)
"""The query for CLUSTER_ACTION."""

Answer = Callable[[RequestFrame, Caller], bytes | Awaitable[bytes]]
"""Same as `server.dispatch.router.Router.answer`, with the rights in `caller.rights`."""


def ask_rights(
    incoming: IncomingRequest, client: RelayedClient, frame: RequestFrame, query: AnyQuery, answer: Answer
) -> Exchange:
    """Send the query instead of a complete request, and `answer`'s frame instead of the broker's answer."""

    def settle(payload: bytes) -> bytes | Awaitable[bytes]:
        return answer(frame, client.caller._replace(rights=query.rights(payload)))

    upstream = encode_request(query.request, query.version, incoming.correlation_id, frame.client_id)
    return Exchange(upstream, buffered(settle))


def with_rights(query: Callable[[RequestFrame], AnyQuery], answer: Answer) -> Interceptor:
    """Return the interceptor of requests that reassignd answers after a query."""

    def intercept(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
        if not incoming.complete:
            return incoming.size
        frame = parse_request(bytes(incoming.frame))
        return ask_rights(incoming, client, frame, query(frame), answer)

    return intercept
