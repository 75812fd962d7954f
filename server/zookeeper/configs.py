"""Requests for configs (32, 33, 44).

Brokers answer them, except for reassignd's node id and reassignd's keys.

A request may alter keys of reassignd and of Kafka together. Then reassignd validates its own keys, and the
broker validates its keys and stores all; reassignd reads its keys from ZooKeeper as after any change.
"""

from collections.abc import Iterable

from common.error_codes import ErrorCode
from controller.cluster.configs import check_changes
from controller.messages.events import ResourceChanges
from controller.model.access import Operation
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX
from controller.state.state import State
from protocol.frames import RequestFrame, decode_within, parse_request
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from server.dispatch.configs import (
    CLUSTER_DENIED,
    CONFIG_REQUESTS,
    AlteredResource,
    changes_of,
    is_own,
    key_of,
)
from server.dispatch.context import (
    CLUSTER,
    Caller,
    RowError,
)
from server.dispatch.registry import ROUTES
from server.dispatch.router import refused
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    Exchange,
    IncomingRequest,
    Interceptor,
    RelayedClient,
)
from server.zookeeper.authorization import Answer, ask_rights, operations_query
from server.zookeeper.endpoint import ControllerEndpoint

UNREADABLE: RowError = (ErrorCode.INVALID_REQUEST, "The request has an unknown resource type or operation.")


def configs(own_id: int, endpoint: ControllerEndpoint, answer: Answer) -> Interceptor:
    """Return the interceptor of the three APIs; `own_id` is the node id of reassignd."""
    own_node = ResourceType.BROKER, str(own_id)
    marks = (str(own_id).encode(), OWN_PREFIX.encode())

    def intercept(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
        if incoming.api_version not in ROUTES[incoming.api_key].versions:
            return PASSED
        if missing := incoming.missing(LARGEST_DECODED, "for configs"):
            return missing
        payload = bytes(incoming.frame)
        if not any(mark in payload for mark in marks):
            return PASSED
        frame = parse_request(payload)
        request, whole = decode_within(
            frame, CONFIG_REQUESTS[incoming.api_key], ROUTES[incoming.api_key].bounds
        )
        # Too large a request is not relayed: the handler refuses it by its bounds.
        about_own_node = not whole or any(key_of(each) == own_node for each in request.resources)
        altered = () if isinstance(request, DescribeConfigsRequest) else request.resources
        keys = [config.name for resource in altered for config in resource.configs]
        if not about_own_node and not any(map(is_own, keys)):
            return PASSED
        topics = [row.resource_name for row in request.resources if row.resource_type == ResourceType.TOPIC]
        query = operations_query(endpoint.safe_to_name(topics))
        active = endpoint.active
        if about_own_node or active is None or all(map(is_own, keys)):
            return ask_rights(incoming, client, frame, query, answer)
        error = _refusal(active.state, altered)
        if error is None:
            return PASSED
        return ask_rights(
            incoming, client, frame, query, lambda frame, caller: _refused(frame, caller, error)
        )

    return intercept


def _refusal(state: State, resources: Iterable[AlteredResource]) -> RowError | None:
    """Return the error of the first resource with invalid keys of reassignd."""
    for resource in resources:
        replace = isinstance(resource, ReplacedResource)
        changes = changes_of(resource, own=True)
        if changes == []:
            continue
        if changes is None or resource.resource_type not in set(ResourceType):
            return UNREADABLE
        kind = ResourceType(resource.resource_type)
        outcome = check_changes(state, ResourceChanges(kind, resource.resource_name, changes, replace))
        if not outcome.ok:
            return outcome
    return None


def _refused(frame: RequestFrame, caller: Caller, error: RowError) -> bytes:
    """Refuse the request. Only principals that may alter configs learn the error."""
    allowed = caller.rights is not None and caller.rights.allows(
        caller.principal, Operation.ALTER_CONFIGS, CLUSTER
    )
    shown = error if allowed else CLUSTER_DENIED
    return refused(frame, *shown)
