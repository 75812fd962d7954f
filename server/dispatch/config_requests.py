"""Checks shared by the three config APIs (32, 33, 44)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from common.error_codes import ErrorCode
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange
from protocol.counter import Bounds
from server.dispatch.authorizer import Operation
from server.dispatch.context import Context
from server.dispatch.row_errors import DENIED, Verdict, merged, repeated

R = TypeVar("R")

CONFIG_BOUNDS = Bounds(rows=20_000, numbers=20_000)
"""Bounds on the resources and configs of one request."""

TWICE: Verdict = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
CLUSTER_DENIED: Verdict = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)


class Wanted(NamedTuple):
    """The requested changes of one resource; `changes` is None if the request is invalid."""

    resource_type: int
    resource_name: str
    changes: Sequence[ConfigChange] | None


def refusal(resource_type: int, name: str, operation: Operation, context: Context) -> Verdict | None:
    """Return why the resource is not described or altered, or None."""
    if resource_type == ResourceType.TOPIC:
        return None if context.allows_topic(operation, name) else DENIED
    if resource_type == ResourceType.BROKER:
        return None if context.allows(operation) else CLUSTER_DENIED
    return ErrorCode.INVALID_REQUEST, f"Resources of type {resource_type} have no configs here."


async def alter(
    wanted: Sequence[Wanted], validate_only: bool, context: Context, *, replace: bool
) -> list[Verdict]:
    """Submit the permitted changes to the controller. Return one result per resource."""
    twice = repeated((each.resource_type, each.resource_name) for each in wanted)
    refusals = [_refusal(each, twice, context) for each in wanted]
    accepted = [
        ResourceChanges(ResourceType(each.resource_type), each.resource_name, each.changes or (), replace)
        for each, refused in zip(wanted, refusals, strict=True)
        if refused is None
    ]
    outcomes = await context.services.driver.submit(AlterConfigs(accepted, validate_only))
    return merged(refusals, outcomes)


class Resource(Protocol):
    """A topic or broker in a request."""

    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


def response_rows(
    row: Callable[[int, str | None, int, str], R], resources: Sequence[Resource], verdicts: Sequence[Verdict]
) -> list[R]:
    """The rows of a response to 33 or 44, made by `row` from error code, message, resource type and name."""
    return [
        row(code, message, each.resource_type, each.resource_name)
        for each, (code, message) in zip(resources, verdicts, strict=True)
    ]


def _refusal(wanted: Wanted, twice: set[Any], context: Context) -> Verdict | None:
    refused = refusal(wanted.resource_type, wanted.resource_name, Operation.ALTER_CONFIGS, context)
    if refused is not None:
        return refused
    if (wanted.resource_type, wanted.resource_name) in twice:
        return TWICE
    if wanted.changes is None:
        return ErrorCode.INVALID_REQUEST, "The request has an unknown config operation."
    return None
