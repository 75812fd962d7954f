"""Checks shared by the three config APIs (32, 33, 44)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from common.error_codes import ErrorCode
from controller.configs.names import OWN_PREFIX
from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange
from protocol.counter import Bounds
from server.dispatch.authorizer import Operation
from server.dispatch.context import Context
from server.dispatch.row_errors import TOPIC_DENIED, RowError, merged, repeated

R = TypeVar("R")
C = TypeVar("C", bound="NamedConfig")

CONFIG_BOUNDS = Bounds(rows=20_000, numbers=20_000)
"""Bounds on the resources and configs of one request."""

DUPLICATE_RESOURCE: RowError = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
CLUSTER_DENIED: RowError = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)


class RequestedChanges(NamedTuple):
    """The requested changes of one resource; `changes` is None if the request is invalid."""

    resource_type: int
    resource_name: str
    changes: Sequence[ConfigChange] | None


def refusal(resource_type: int, name: str, operation: Operation, context: Context) -> RowError | None:
    """Return the error if the resource must not be described or altered, else None."""
    if resource_type == ResourceType.TOPIC:
        return None if context.allows_topic(operation, name) else TOPIC_DENIED
    if resource_type == ResourceType.BROKER:
        return None if context.allows(operation) else CLUSTER_DENIED
    return ErrorCode.INVALID_REQUEST, f"Resources of type {resource_type} have no configs in reassignd."


async def alter(
    requested: Sequence[RequestedChanges], validate_only: bool, context: Context, *, replace: bool
) -> list[RowError]:
    """Submit the permitted changes to the controller. Return one result per resource."""
    duplicates = repeated((change.resource_type, change.resource_name) for change in requested)
    refusals = [_refusal(change, duplicates, context) for change in requested]
    accepted = [
        ResourceChanges(
            ResourceType(change.resource_type), change.resource_name, change.changes or (), replace
        )
        for change, error in zip(requested, refusals, strict=True)
        if error is None
    ]
    requester = Requester(context.principal, context.client_id)
    outcomes = await context.services.driver.submit(AlterConfigs(accepted, validate_only, requester))
    return merged(refusals, outcomes)


class NamedConfig(Protocol):
    """A config in a request."""

    @property
    def name(self) -> str: ...


def own_configs(configs: Iterable[C]) -> list[C]:
    """Return the configs with keys of reassignd."""
    return [config for config in configs if config.name.startswith(OWN_PREFIX)]


class Resource(Protocol):
    """A topic or broker in a request, or its row in a response."""

    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


def response_rows(
    row: Callable[[int, str | None, int, str], R], resources: Sequence[Resource], errors: Sequence[RowError]
) -> list[R]:
    """Return the rows of a response to 33 or 44.

    `row` makes a row from error code, message, resource type and name.
    """
    return [
        row(code, message, resource.resource_type, resource.resource_name)
        for resource, (code, message) in zip(resources, errors, strict=True)
    ]


def _refusal(
    requested: RequestedChanges, duplicates: set[tuple[int, str]], context: Context
) -> RowError | None:
    error = refusal(requested.resource_type, requested.resource_name, Operation.ALTER_CONFIGS, context)
    if error is not None:
        return error
    if (requested.resource_type, requested.resource_name) in duplicates:
        return DUPLICATE_RESOURCE
    if requested.changes is None:
        return ErrorCode.INVALID_REQUEST, "The request has an unknown config operation."
    return None
