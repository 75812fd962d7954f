"""Requests for configs (32, 33, 44). Brokers answer them, except for reassignd's node id and reassignd's keys.

A request may alter keys of reassignd and of Kafka together. Then reassignd validates its own keys, and the
broker validates its keys and stores all; reassignd reads its keys from ZooKeeper as after any change.
"""

from collections.abc import Iterable, Mapping

from common.error_codes import ErrorCode
from controller.cluster.configs import check_changes
from controller.messages.events import ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX, ConfigChange, ConfigOp
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.frames import RequestFrame, decode_within, parse_request
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from server.dispatch.authorizer import CLUSTER, Operation
from server.dispatch.config_requests import CLUSTER_DENIED, Resource, own_configs
from server.dispatch.context import RowError
from server.dispatch.registry import ROUTES
from server.dispatch.router import Caller, refused
from server.handlers.incremental_alter_configs import changes_of
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    ClientIdentity,
    Exchange,
    IncomingRequest,
    Interceptor,
)
from server.zookeeper.authorization import Answer, ask_rights, operations_query
from server.zookeeper.endpoint import ControllerEndpoint

ConfigsRequest = DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest
AlteredResource = ReplacedResource | AlterConfigsResource

CONFIGS: Mapping[int, type[ConfigsRequest]] = {
    ApiKey.DESCRIBE_CONFIGS: DescribeConfigsRequest,
    ApiKey.ALTER_CONFIGS: AlterConfigsRequest,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigsRequest,
}
"""API key -> class of the request."""

UNREADABLE: RowError = (ErrorCode.INVALID_REQUEST, "The request has an unknown resource type or operation.")


def configs(own_id: int, endpoint: ControllerEndpoint, answer: Answer) -> Interceptor:
    """Return the interceptor of the three APIs; `own_id` is the node id of reassignd."""
    own_name = str(own_id)
    marks = (own_name.encode(), OWN_PREFIX.encode())

    def intercept(incoming: IncomingRequest, client: ClientIdentity) -> Exchange | int:
        if incoming.api_version not in ROUTES[incoming.api_key].versions:
            return PASSED
        if missing := incoming.missing(LARGEST_DECODED, "for configs"):
            return missing
        payload = bytes(incoming.frame)
        if not any(mark in payload for mark in marks):
            return PASSED
        frame = parse_request(payload)
        request, whole = decode_within(frame, CONFIGS[incoming.api_key], ROUTES[incoming.api_key].bounds)
        # Too large a request is not relayed: the handler refuses it by its bounds.
        about_own_node = not whole or any(_names_broker(each, own_name) for each in request.resources)
        altered = () if isinstance(request, DescribeConfigsRequest) else request.resources
        if not about_own_node and not any(own_configs(resource.configs) for resource in altered):
            return PASSED
        topics = [row.resource_name for row in request.resources if row.resource_type == ResourceType.TOPIC]
        query = operations_query(endpoint.safe_to_name(topics))
        active = endpoint.active
        if about_own_node or active is None or not any(map(_has_kafka_keys, altered)):
            return ask_rights(incoming, client, frame, query, answer)
        error = _refusal(active.state, altered)
        if error is None:
            return PASSED
        return ask_rights(
            incoming, client, frame, query, lambda frame, caller: _refused(frame, caller, error)
        )

    return intercept


def _names_broker(resource: Resource, name: str) -> bool:
    return resource.resource_type == ResourceType.BROKER and resource.resource_name == name


def _has_kafka_keys(resource: AlteredResource) -> bool:
    return len(own_configs(resource.configs)) < len(resource.configs)


def _refusal(state: State, resources: Iterable[AlteredResource]) -> RowError | None:
    """Return the error of the first resource with invalid keys of reassignd."""
    for resource in resources:
        replace = isinstance(resource, ReplacedResource)
        changes = _own_changes(resource)
        if changes == []:
            continue
        if changes is None or resource.resource_type not in set(ResourceType):
            return UNREADABLE
        kind = ResourceType(resource.resource_type)
        outcome = check_changes(state, ResourceChanges(kind, resource.resource_name, changes, replace))
        if not outcome.ok:
            return outcome
    return None


def _own_changes(resource: AlteredResource) -> list[ConfigChange] | None:
    """Return the changes of reassignd's keys, or None if an operation is unknown."""
    if isinstance(resource, ReplacedResource):
        return [ConfigChange(key.name, ConfigOp.SET, key.value) for key in own_configs(resource.configs)]
    return changes_of(own_configs(resource.configs))


def _refused(frame: RequestFrame, caller: Caller, error: RowError) -> bytes:
    """Refuse the request. Only principals that may alter configs learn the error."""
    allowed = caller.rights is not None and caller.rights.allows(
        caller.principal, Operation.ALTER_CONFIGS, CLUSTER
    )
    shown = error if allowed else CLUSTER_DENIED
    return refused(frame, *shown)
