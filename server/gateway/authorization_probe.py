"""AlterPartitionReassignments (45) and ListPartitionReassignments (46): ours to answer, the upstream's to allow.

An empty request goes to the upstream in their place, with the client's correlation id and over its connection: the
answer says whether the principal may, and stands where ours is to come. It writes nothing to the upstream's log.
With ZooKeeper, a broker that is not the controller says so only to a principal that may: to us that is a yes.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.frames import RequestFrame, decode_response, encode_request, parse_request, parse_response
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from server.dispatch.router import Caller
from server.gateway.core import GatewayServices, reason
from server.relay.exchange import Asked, Client, Exchange, Rule, whole

TIMEOUT_MS = 30_000
"""The client's own may be one that Kafka refuses (0), which is for us to say."""

PROBES: dict[int, Callable[[], Any]] = {
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: partial(AlterPartitionReassignmentsRequest, timeout_ms=TIMEOUT_MS),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: partial(
        ListPartitionReassignmentsRequest, timeout_ms=TIMEOUT_MS, topics=()
    ),
}


ALLOWED = frozenset({ErrorCode.NONE, ErrorCode.NOT_CONTROLLER})


def question(core: GatewayServices) -> Rule:
    """The rule of both keys."""

    def ask(asked: Asked, client: Client) -> Exchange | int:
        if not asked.whole:
            return asked.size
        request = parse_request(bytes(asked.frame))
        probe = PROBES[asked.api_key]()
        upstream = encode_request(probe, asked.api_version, asked.correlation_id, request.client_id)
        return Exchange(upstream, whole(partial(_settle, core, request, client.caller)))

    return ask


def _settle(
    core: GatewayServices, request: RequestFrame, caller: Caller, payload: bytes
) -> bytes | Awaitable[bytes]:
    answer = decode_response(parse_response(payload, request.api_key, request.api_version))
    if answer.error_code in ALLOWED:
        return core.answer(request, caller)
    return core.refuse(request, answer.error_code, reason(answer.error_code, answer.error_message))
