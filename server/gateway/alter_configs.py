"""IncrementalAlterConfigs (44) and AlterConfigs (33) that name reassignd's keys.

One request goes to the upstream, without reassignd's keys; a resource may be left with its name only. Its
result row tells whether the principal may alter it. Reassignd's keys are validated before, so a resource is
changed completely or not at all.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from common.error_codes import ErrorCode
from common.off_loop import OffLoop
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX, ConfigChange, ConfigOp
from controller.state.settings import CLUSTER_DEFAULT
from protocol.errors import ApiError
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_configs_response import AlterConfigsResourceResponse as ReplacedRow
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from server.dispatch.config_requests import UNKNOWN_OPERATION, Resource, own_configs, response_rows
from server.dispatch.context import RowError
from server.gateway.configs import (
    DEFAULT_BROKER,
    DEFAULT_BROKER_MARKS,
    OWN_KEY_MARKS,
    ResourceKey,
    Split,
    intercept_configs,
    key_of,
)
from server.gateway.own_configs import Sender
from server.gateway.services import GatewayServices, reason
from server.handlers.incremental_alter_configs import changes_of
from server.relay.exchange import Interceptor

R = TypeVar("R", AlterConfigsResource, ReplacedResource)


RIGHTS_UNKNOWN: RowError = (
    ErrorCode.INVALID_CONFIG,
    "The reassignment.* configs of this resource cannot be set so; a separate request returns the reason.",
)
"""Used when the upstream was not asked whether the principal may alter the resource."""

RIGHTS_VERSION = 1
"""IncrementalAlterConfigs version of the query for rights; all brokers since 2.4 serve it."""


class ResultRow(Resource, Protocol):
    """A row of the upstream's response."""

    @property
    def error_code(self) -> int: ...

    @property
    def error_message(self) -> str | None: ...


class OwnChanges(NamedTuple):
    """The changes of reassignd's keys that a request makes to one resource."""

    changes: Sequence[ConfigChange]
    refused: RowError | None
    """The error, if they are invalid."""


def incremental_alter(services: GatewayServices, off_loop: OffLoop) -> Interceptor:
    """Return the interceptor of IncrementalAlterConfigs."""

    def split(request: IncrementalAlterConfigsRequest) -> Split[IncrementalAlterConfigsResponse] | None:
        own_changes = {
            key_of(resource): _checked(
                services, resource.resource_name, changes_of(own_configs(resource.configs))
            )
            for resource in request.resources
            if _alters_own_keys(resource)
        }
        if not own_changes:
            return None
        # A resource without changes still gets a result row, which tells whether the principal may alter it.
        resources = [
            _without_own_keys(resource, nothing=own_changes[key_of(resource)].refused is not None)
            if key_of(resource) in own_changes
            else resource
            for resource in request.resources
        ]

        async def finish(
            response: IncrementalAlterConfigsResponse, sender: Sender
        ) -> IncrementalAlterConfigsResponse:
            apply = _changer(services, request.validate_only, sender, replace=False)
            results = await _results(apply, request, response.responses, own_changes)
            rows = response_rows(AlterConfigsResourceResponse, request.resources, results)
            return response._replace(responses=rows)

        return Split(request._replace(resources=resources), finish)

    return intercept_configs(IncrementalAlterConfigsRequest, OWN_KEY_MARKS, split, off_loop)


def alter(services: GatewayServices, off_loop: OffLoop) -> Interceptor:
    """Return the interceptor of AlterConfigs.

    AlterConfigs resets the keys that it does not name. For the default of all brokers this includes
    reassignd's keys. A resource with invalid keys of reassignd is left out, because the upstream would reset
    a resource without keys.
    """

    def split(
        request: AlterConfigsRequest,
    ) -> Split[AlterConfigsResponse] | Split[IncrementalAlterConfigsResponse] | None:
        own_changes = _own_changes(services, request)
        if not own_changes:
            return None
        resources = [
            _without_own_keys(resource) if key_of(resource) in own_changes else resource
            for resource in request.resources
            if key_of(resource) not in own_changes or own_changes[key_of(resource)].refused is None
        ]

        async def finish(
            response: AlterConfigsResponse | IncrementalAlterConfigsResponse, sender: Sender
        ) -> AlterConfigsResponse:
            apply = _changer(services, request.validate_only, sender, replace=True)
            results = await _results(apply, request, response.responses, own_changes)
            rows = response_rows(ReplacedRow, request.resources, results)
            return AlterConfigsResponse(response.throttle_time_ms, rows)

        if resources or not all(own.refused for own in own_changes.values()):
            return Split(request._replace(resources=resources), finish)
        # Only principals that may alter the resource get the reason. IncrementalAlterConfigs asks for
        # the rights: unlike AlterConfigs, it changes nothing that it does not name.
        rights = IncrementalAlterConfigsRequest(
            [AlterConfigsResource(*key) for key in own_changes], request.validate_only
        )
        return Split(rights, finish, RIGHTS_VERSION)

    marks = (*DEFAULT_BROKER_MARKS, *OWN_KEY_MARKS)
    return intercept_configs(AlterConfigsRequest, marks, split, off_loop)


def _own_changes(services: GatewayServices, request: AlterConfigsRequest) -> dict[ResourceKey, OwnChanges]:
    """Return the changes of reassignd's keys by resource, without the resources that have none."""
    own_changes: dict[ResourceKey, OwnChanges] = {}
    for resource in request.resources:
        key, changes = key_of(resource), _sets(resource)
        if key == DEFAULT_BROKER:
            own_changes[key] = _checked(services, CLUSTER_DEFAULT, changes)
        elif key[0] == ResourceType.BROKER and changes:
            own_changes[key] = _checked(services, resource.resource_name, changes)
    return own_changes


def _alters_own_keys(resource: AlterConfigsResource) -> bool:
    """Return whether reassignd handles the resource.

    On a single broker, setting reassignd's keys is refused. Deleting them passes, in case they were set there
    without the gateway.
    """
    if resource.resource_type != ResourceType.BROKER:
        return False
    if resource.resource_name == CLUSTER_DEFAULT:
        return bool(own_configs(resource.configs))
    return any(config.config_operation != ConfigOp.DELETE.value for config in own_configs(resource.configs))


def _without_own_keys(resource: R, *, nothing: bool = False) -> R:
    configs = (
        [] if nothing else [config for config in resource.configs if not config.name.startswith(OWN_PREFIX)]
    )
    return resource._replace(configs=configs)


def _sets(resource: ReplacedResource) -> list[ConfigChange]:
    return [ConfigChange(config.name, ConfigOp.SET, config.value) for config in own_configs(resource.configs)]


def _checked(services: GatewayServices, broker: str, changes: Sequence[ConfigChange] | None) -> OwnChanges:
    if changes is None:
        return OwnChanges((), UNKNOWN_OPERATION)
    outcome = services.configs.check(broker, changes)
    return OwnChanges(changes, None if outcome.ok else outcome)


ApplyChanges = Callable[[Sequence[ConfigChange]], Awaitable[RowError]]
"""Applies changes to the default of all brokers, and returns the result."""


async def _results(
    apply: ApplyChanges,
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
    rows: Iterable[ResultRow],
    own_changes: Mapping[ResourceKey, OwnChanges],
) -> list[RowError]:
    """Return the result of each resource: the upstream's, or that of applying reassignd's keys."""
    results: dict[ResourceKey, RowError] = {key_of(row): (row.error_code, row.error_message) for row in rows}
    for key, own in own_changes.items():
        code, message = results.get(key, RIGHTS_UNKNOWN)
        result: RowError = (code, reason(code, message))
        if code == ErrorCode.NONE:
            result = own.refused or await apply(own.changes)
        results[key] = result
    return [results[key_of(resource)] for resource in request.resources]


def _changer(
    services: GatewayServices, validate_only: bool, sender: Sender, *, replace: bool
) -> ApplyChanges:
    async def apply(changes: Sequence[ConfigChange]) -> RowError:
        try:
            return await services.configs.alter(changes, sender, validate_only=validate_only, replace=replace)
        except ApiError as error:
            return error.code, error.message

    return apply
