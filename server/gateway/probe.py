"""AlterPartitionReassignments (45), ListPartitionReassignments (46): answered here, authorized upstream.

An empty request of the same API goes to the broker in their place, with the client's correlation id and on
its connection. The response tells whether the principal is allowed, and reassignd's answer replaces it. The
empty request changes nothing in the upstream. In ZooKeeper mode, a broker that is not the controller checks
the principal first, so NOT_CONTROLLER means that the principal is allowed.
"""

from collections.abc import Awaitable

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.frames import RequestFrame, decode_response, encode_request, parse_request, parse_response
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from server.dispatch.context import Caller
from server.gateway.services import GatewayServices, reason
from server.relay.exchange import Exchange, IncomingRequest, Interceptor, RelayedClient, buffered

TIMEOUT_MS = 30_000
"""Timeout of the empty request. The client's own may be 0, which Kafka refuses; reassignd validates it
itself."""

PROBES: dict[int, AlterPartitionReassignmentsRequest | ListPartitionReassignmentsRequest] = {
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=()),
}


ALLOWED = frozenset({ErrorCode.NONE, ErrorCode.NOT_CONTROLLER})


LARGEST_LIST = 32 * 1024 * 1024
"""Bytes of the largest ListPartitionReassignments: as many topics and partitions as reassignd lists, with the
longest names. It needs DESCRIBE only, so it must not keep memory like a plan."""


def answer_after_probe(services: GatewayServices) -> Interceptor:
    """Return the interceptor of both APIs."""

    def intercept(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
        lists = incoming.api_key == ApiKey.LIST_PARTITION_REASSIGNMENTS
        if lists and (missing := incoming.missing(LARGEST_LIST, "to list reassignments")):
            return missing
        if not incoming.complete:
            return incoming.size
        request = parse_request(bytes(incoming.frame))
        probe = PROBES[incoming.api_key]
        upstream = encode_request(probe, incoming.api_version, incoming.correlation_id, request.client_id)
        # Not the caller of now: the client may have sent its login just before, and without waiting.
        return Exchange(upstream, buffered(lambda answer: _settle(services, request, client.caller, answer)))

    return intercept


def _settle(
    services: GatewayServices, request: RequestFrame, caller: Caller, payload: bytes
) -> bytes | Awaitable[bytes]:
    frame = parse_response(payload, request.api_key, request.api_version)
    answer = decode_response(frame, PROBES[request.api_key].response_class())
    if answer.error_code in ALLOWED:
        return services.answer(request, caller)
    return services.refuse(request, answer.error_code, reason(answer.error_code, answer.error_message))
