"""Requests for configs (32, 33, 44). Brokers answer them, except for reassignd's node id and reassignd's keys.

A request may alter keys of reassignd and of Kafka together. Then reassignd validates its own keys, and the
broker validates its keys and stores all; reassignd reads its keys from ZooKeeper as after any change.
"""

from typing import Any

from common.error_codes import ErrorCode
from controller.configs.changes import check_changes
from controller.configs.names import OWN_PREFIX
from controller.messages.events import ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.frames import RequestFrame, decode_within, parse_request
from server.dispatch.authorizer import CLUSTER, Operation
from server.dispatch.config_requests import CLUSTER_DENIED
from server.dispatch.registry import ROUTES
from server.dispatch.router import Caller, refused
from server.dispatch.row_errors import RowError
from server.handlers.incremental_alter_configs import changes_of
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    ClientIdentity,
    Exchange,
    IncomingRequest,
    Interceptor,
)
from server.zk_controller.authorization import Answer, ask_rights, operations_query
from server.zk_controller.endpoint import ControllerEndpoint

CONFIGS = frozenset({ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})

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
        request, whole = decode_within(frame, ROUTES[incoming.api_key].bounds)
        resources = request.resources
        # Too large a request is not relayed: the handler refuses it by its bounds.
        about_own_node = not whole or any(_names_broker(each, own_name) for each in resources)
        if not about_own_node and not any(map(_own_configs, resources)):
            return PASSED
        topics = [each.resource_name for each in resources if each.resource_type == ResourceType.TOPIC]
        query = operations_query(endpoint.safe_to_name(topics))
        active = endpoint.active
        if about_own_node or active is None or not any(map(_has_kafka_keys, resources)):
            return ask_rights(incoming, client, frame, query, answer)
        error = _refusal(active.state, frame, resources)
        if error is None:
            return PASSED
        return ask_rights(
            incoming, client, frame, query, lambda frame, caller: _refused(frame, caller, error)
        )

    return intercept


def _names_broker(resource: Any, name: str) -> bool:
    return bool(resource.resource_type == ResourceType.BROKER and resource.resource_name == name)


def _own_configs(resource: Any) -> list[Any]:
    """Return the resource's configs with keys of reassignd. A resource to be described has no configs."""
    return [each for each in getattr(resource, "configs", None) or () if each.name.startswith(OWN_PREFIX)]


def _has_kafka_keys(resource: Any) -> bool:
    return len(_own_configs(resource)) < len(resource.configs)


def _refusal(state: State, frame: RequestFrame, resources: Any) -> RowError | None:
    """Return the error of the first resource with invalid keys of reassignd."""
    replace = frame.api_key == ApiKey.ALTER_CONFIGS
    for each in resources:
        own_configs = _own_configs(each)
        if not own_configs:
            continue
        changes = (
            [ConfigChange(key.name, ConfigOp.SET, key.value) for key in own_configs]
            if replace
            else changes_of(own_configs)
        )
        if changes is None or each.resource_type not in set(ResourceType):
            return UNREADABLE
        resource = ResourceChanges(ResourceType(each.resource_type), each.resource_name, changes, replace)
        outcome = check_changes(state, resource)
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
