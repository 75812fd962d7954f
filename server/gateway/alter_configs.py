"""IncrementalAlterConfigs (44) and AlterConfigs (33), where they name reassignd's keys.

One request goes to the upstream: without our keys, which may leave nothing of a resource but its name. Its row says whether
the principal may. What is wrong with our keys is known before, so that a resource is changed wholly or not at all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from common.error_codes import ErrorCode
from controller.configs.changes import check_changes
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import AlterConfigsResourceResponse
from server.dispatch.row_errors import Verdict
from server.gateway.configs import BROKERS, OF_BROKERS, OF_OUR_KEYS, Key, Split, held, is_ours, key_of
from server.gateway.core import GatewayServices, reason
from server.handlers.incremental_alter_configs import changes_of
from server.relay.exchange import Rule

UNKNOWN_OPERATION: Verdict = (ErrorCode.INVALID_REQUEST, "The request has an unknown config operation.")


NOT_TOLD: Verdict = (
    ErrorCode.INVALID_CONFIG,
    "The reassignment.* configs of this resource cannot be set so; alter it in a request of its own to be told why.",
)
"""Whether the principal may alter the resource is not known."""

RIGHTS_VERSION = 1
"""Of IncrementalAlterConfigs, as all brokers since 2.4 have it."""


class Ours(NamedTuple):
    """What a request wants changed of our keys in one resource, and why that cannot be, if so."""

    changes: Sequence[ConfigChange]
    refused: Verdict | None


def incremental_alter(core: GatewayServices) -> Rule:
    """The rule of IncrementalAlterConfigs."""

    def split(request: IncrementalAlterConfigsRequest) -> Split | None:
        ours = {
            key_of(each): _checked(core, each.resource_name, changes_of(_our_configs(each)))
            for each in request.resources
            if _alters_ours(each)
        }
        if not ours:
            return None
        # A resource of which nothing is to be changed still has its row, which says whether it may be.
        resources = [
            _without_ours(each, nothing=ours[key_of(each)].refused is not None)
            if key_of(each) in ours
            else each
            for each in request.resources
        ]
        upstream = request._replace(resources=resources)
        return Split(upstream, lambda response: _finished(core, request, response, ours))

    return held(OF_OUR_KEYS, split)


def alter(core: GatewayServices) -> Rule:
    """The rule of AlterConfigs: keys of the brokers' default that it does not name go back to their defaults, ours too.

    A resource of which ours are refused is left out: named with nothing, the upstream would reset all of it.
    """

    def split(request: AlterConfigsRequest) -> Split | None:
        ours: dict[Key, Ours] = {}
        resources = []
        for each in request.resources:
            key, changes = key_of(each), _sets(each)
            if key == BROKERS:
                ours[key] = _checked(core, CLUSTER_DEFAULT, [*changes, *_resets(core, changes)])
            elif key[0] == ResourceType.BROKER and changes:
                ours[key] = _checked(core, each.resource_name, changes)
            if key not in ours:
                resources.append(each)
            elif ours[key].refused is None:
                resources.append(_without_ours(each))
        if not ours:
            return None
        if resources or not all(wanted.refused for wanted in ours.values()):
            upstream = request._replace(resources=resources)
            return Split(upstream, lambda response: _finished(core, request, response, ours))
        # Only who may alter them learns what is wrong: asked by the other API, which alters nothing that is not named.
        rights = IncrementalAlterConfigsRequest(
            [AlterConfigsResource(*key) for key in ours], request.validate_only
        )
        return Split(
            rights, lambda response: _finished(core, request, _of_33(response), ours), RIGHTS_VERSION
        )

    return held((*OF_BROKERS, *OF_OUR_KEYS), split)


def _of_33(response: Any) -> AlterConfigsResponse:
    return AlterConfigsResponse(response.throttle_time_ms, response.responses)


def _alters_ours(resource: AlterConfigsResource) -> bool:
    """Whether this is for us: on one broker our keys are refused, but deleted if someone set them there past the gateway."""
    if resource.resource_type != ResourceType.BROKER:
        return False
    if resource.resource_name == CLUSTER_DEFAULT:
        return bool(_our_configs(resource))
    return any(each.config_operation != ConfigOp.DELETE.value for each in _our_configs(resource))


def _our_configs(resource: Any) -> list[Any]:
    return [each for each in resource.configs if is_ours(each.name)]


def _without_ours(resource: Any, *, nothing: bool = False) -> Any:
    configs = [] if nothing else [each for each in resource.configs if not is_ours(each.name)]
    return resource._replace(configs=configs)


def _sets(resource: ReplacedResource) -> list[ConfigChange]:
    return [ConfigChange(each.name, ConfigOp.SET, each.value) for each in _our_configs(resource)]


def _resets(core: GatewayServices, changes: Sequence[ConfigChange]) -> list[ConfigChange]:
    """Of our keys that are set and that the request does not name."""
    named = {change.config for change in changes}
    before = core.state.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {})
    return [
        ConfigChange(name, ConfigOp.DELETE, None) for name in before if is_ours(name) and name not in named
    ]


def _checked(core: GatewayServices, broker: str, changes: Sequence[ConfigChange] | None) -> Ours:
    if changes is None:
        return Ours((), UNKNOWN_OPERATION)
    outcome = check_changes(core.state, ResourceChanges(ResourceType.BROKER, broker, changes))
    return Ours(changes, None if outcome.ok else outcome)


async def _finished(core: GatewayServices, request: Any, response: Any, ours: Mapping[Key, Ours]) -> Any:
    """The upstream's rows, and what became of our keys where it has no objection; in the order of the request."""
    rows = {key_of(each): each for each in response.responses}
    for key, wanted in ours.items():
        row = rows.get(key)
        verdict = NOT_TOLD
        if row is not None:
            verdict = row.error_code, reason(row.error_code, row.error_message)
        if verdict[0] == ErrorCode.NONE:
            verdict = wanted.refused or await _changed(core, wanted.changes, request.validate_only)
        rows[key] = AlterConfigsResourceResponse(*verdict, *key)
    return response._replace(responses=[rows[key_of(each)] for each in request.resources])


async def _changed(core: GatewayServices, changes: Sequence[ConfigChange], validate_only: bool) -> Verdict:
    """Of the brokers' default: on one broker nothing gets so far."""
    if not changes:
        return Outcome(ErrorCode.NONE)
    resource = ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)
    outcomes = await core.submit(AlterConfigs([resource], validate_only))
    return outcomes[0]
