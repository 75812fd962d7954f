"""Requests for configs (32, 33, 44): which of their keys are reassignd's, and which are the cluster's.

Keys that begin with `reassignment.` are reassignd's. They are cluster-wide: they exist only on the default of
all brokers (resource name ""). All other keys are the cluster's: in the embedded cluster reassignd has these
too, in a gateway the upstream has them (`server.gateway.configs`), in ZooKeeper mode the brokers
(`server.zookeeper.configs`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from common.error_codes import ErrorCode
from controller.cluster.configs import check_changes
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.access import Operation
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX, ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource as ChangedResource,
)
from protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from server.dispatch.context import (
    CLUSTER,
    TOPIC_DENIED,
    Context,
    RowError,
    merged,
    repeated,
    topic,
)

R = TypeVar("R")
Altered = TypeVar("Altered", ReplacedResource, ChangedResource)

AlterRequest = AlterConfigsRequest | IncrementalAlterConfigsRequest
AlteredResource = ReplacedResource | ChangedResource

CONFIG_REQUESTS: Mapping[int, type[DescribeConfigsRequest | AlterRequest]] = {
    ApiKey.DESCRIBE_CONFIGS: DescribeConfigsRequest,
    ApiKey.ALTER_CONFIGS: AlterConfigsRequest,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigsRequest,
}
"""API key -> class of the request."""

CONFIG_BOUNDS = Bounds(rows=20_000, numbers=20_000)
"""Bounds on the resources and configs of one request."""

ResourceKey = tuple[int, str]
"""Type and name of a resource."""

DEFAULT_BROKER: ResourceKey = (ResourceType.BROKER, CLUSTER_DEFAULT)
"""The default of all brokers."""

DUPLICATE_RESOURCE: RowError = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
CLUSTER_DENIED: RowError = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
UNKNOWN_OPERATION: RowError = (ErrorCode.INVALID_REQUEST, "The request has an unknown config operation.")

OPERATIONS = {operation.value for operation in ConfigOp}


class Resource(Protocol):
    """A topic or broker in a request, or its row in a response."""

    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


def key_of(resource: Resource) -> ResourceKey:
    """Return the key of a resource in a request, or of its row in a response."""
    return resource.resource_type, resource.resource_name


def is_own(key: str) -> bool:
    """Return whether the config is reassignd's, not the cluster's."""
    return key.startswith(OWN_PREFIX)


def own_part(resource: Altered) -> Altered:
    """Return the resource with reassignd's keys only."""
    return resource._replace(configs=[config for config in resource.configs if is_own(config.name)])


def cluster_part(resource: Altered) -> Altered:
    """Return the resource with the cluster's keys only."""
    return resource._replace(configs=[config for config in resource.configs if not is_own(config.name)])


def only_own(state: State) -> bool:
    """Return whether reassignd has its own keys only: in a gateway, the others are the upstream's."""
    return state.mode.is_gateway


def changes_of(resource: AlteredResource, *, own: bool = False) -> list[ConfigChange] | None:
    """Return the changes of the resource, or with `own` those of reassignd's keys.

    The result is None if an operation is unknown.

    AlterConfigs only sets values.
    """
    changes = [
        (
            config.name,
            ConfigOp.SET.value if isinstance(config, ReplacedConfig) else config.config_operation,
            config.value,
        )
        for config in resource.configs
        if is_own(config.name) or not own
    ]
    if any(operation not in OPERATIONS for _, operation, _ in changes):
        return None
    return [ConfigChange(name, ConfigOp(operation), value) for name, operation, value in changes]


def check_broker(state: State, broker: str, changes: Sequence[ConfigChange]) -> Outcome:
    """Check the changes of a broker's configs, or of the default ("")."""
    return check_changes(state, ResourceChanges(ResourceType.BROKER, broker, changes))


def refusal(resource: Resource, operation: Operation, context: Context) -> RowError | None:
    """Return the error if the resource must not be described or altered, else None."""
    if resource.resource_type == ResourceType.TOPIC:
        authorized, denied = topic(resource.resource_name), TOPIC_DENIED
    elif resource.resource_type == ResourceType.BROKER:
        authorized, denied = CLUSTER, CLUSTER_DENIED
    else:
        text = f"Resources of type {resource.resource_type} have no configs in reassignd."
        return ErrorCode.INVALID_REQUEST, text
    return None if context.allows(operation, authorized) else denied


async def alter(request: AlterRequest, context: Context) -> list[RowError]:
    """Submit the permitted changes to the controller. Return the outcome of each resource."""
    duplicates = repeated(map(key_of, request.resources))
    refusals: list[RowError | None] = []
    accepted = []
    for resource in request.resources:
        changes = changes_of(resource, own=only_own(context.state))
        error = refusal(resource, Operation.ALTER_CONFIGS, context)
        if error is None and key_of(resource) in duplicates:
            error = DUPLICATE_RESOURCE
        if error is None and changes is None:
            error = UNKNOWN_OPERATION
        if error is None:
            accepted.append(_wanted(resource, changes or [], context.state))
        refusals.append(error)
    event = AlterConfigs(accepted, request.validate_only, context.requester)
    outcomes = await context.services.driver.submit(event)
    return merged(refusals, outcomes)


def _wanted(resource: AlteredResource, changes: list[ConfigChange], state: State) -> ResourceChanges:
    """Return the changes for the controller.

    AlterConfigs resets keys that it does not name, if reassignd has them.
    """
    kind, name = ResourceType(resource.resource_type), resource.resource_name
    replace = isinstance(resource, ReplacedResource)
    if not (replace and only_own(state)):
        return ResourceChanges(kind, name, changes, replace)
    named = {change.config for change in changes}
    unnamed = [
        key for key in state.settings.configs.get((kind, name), {}) if is_own(key) and key not in named
    ]
    return ResourceChanges(
        kind, name, [*changes, *(ConfigChange(key, ConfigOp.DELETE, None) for key in unnamed)]
    )


def response_rows(
    row: Callable[[int, str | None, int, str], R], resources: Sequence[Resource], errors: Sequence[RowError]
) -> list[R]:
    """Return the rows of a response to 33 or 44, made by `row`."""
    return [row(*error, *key_of(resource)) for resource, error in zip(resources, errors, strict=True)]
