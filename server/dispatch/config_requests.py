"""Checks shared by the three config APIs (32, 33, 44)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX, ConfigChange
from protocol.counter import Bounds
from server.dispatch.authorizer import CLUSTER, Operation, topic
from server.dispatch.context import TOPIC_DENIED, Context, RowError

R = TypeVar("R")
C = TypeVar("C", bound="NamedConfig")

CONFIG_BOUNDS = Bounds(rows=20_000, numbers=20_000)
"""Bounds on the resources and configs of one request."""

DUPLICATE_RESOURCE: RowError = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
CLUSTER_DENIED: RowError = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
UNKNOWN_OPERATION: RowError = (ErrorCode.INVALID_REQUEST, "The request has an unknown config operation.")

MakeRow = Callable[[int, str | None, int, str], R]
"""Makes a row of a response to 33 or 44 from error code, message, resource type and name."""


class RequestedChanges(NamedTuple):
    """The requested changes of one resource; `changes` is None if the request is invalid."""

    resource_type: int
    resource_name: str
    changes: Sequence[ConfigChange] | None


def refusal(resource_type: int, name: str, operation: Operation, context: Context) -> RowError | None:
    """Return the error if the resource must not be described or altered, else None."""
    if resource_type == ResourceType.TOPIC:
        resource, denied = topic(name), TOPIC_DENIED
    elif resource_type == ResourceType.BROKER:
        resource, denied = CLUSTER, CLUSTER_DENIED
    else:
        return ErrorCode.INVALID_REQUEST, f"Resources of type {resource_type} have no configs in reassignd."
    return None if context.authorizer.allows(context.principal, operation, resource) else denied


async def alter(
    row: MakeRow[R],
    requested: Sequence[RequestedChanges],
    validate_only: bool,
    context: Context,
    *,
    replace: bool,
) -> list[R]:
    """Submit the permitted changes to the controller. Return one response row per resource."""
    times = Counter((kind, name) for kind, name, _ in requested)
    refusals: list[RowError | None] = []
    accepted = []
    for kind, name, changes in requested:
        error = refusal(kind, name, Operation.ALTER_CONFIGS, context)
        if error is None and times[kind, name] > 1:
            error = DUPLICATE_RESOURCE
        if error is None and changes is None:
            error = UNKNOWN_OPERATION
        if error is None:
            accepted.append(ResourceChanges(ResourceType(kind), name, changes or (), replace))
        refusals.append(error)
    requester = Requester(context.principal, context.client_id, context.via)
    outcomes = await context.services.driver.submit(AlterConfigs(accepted, validate_only, requester))
    remaining = iter(outcomes)
    return [
        row(*(next(remaining) if error is None else error), kind, name)
        for (kind, name, _), error in zip(requested, refusals, strict=True)
    ]


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


def response_rows(row: MakeRow[R], resources: Sequence[Resource], errors: Sequence[RowError]) -> list[R]:
    """Return the rows of a response to 33 or 44."""
    return [
        row(code, message, resource.resource_type, resource.resource_name)
        for resource, (code, message) in zip(resources, errors, strict=True)
    ]
