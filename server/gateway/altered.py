"""IncrementalAlterConfigs (44) and AlterConfigs (33), where they name reassignd's keys.

One request goes to the upstream for both: without our keys, and with the brokers' default, whose row says whether the
principal may. What is wrong with ours is known before, so that a resource is changed wholly or not at all. Rows come
back in the order of the request.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple

from controller.config_values import CLUSTER_DEFAULT
from controller.configs import check_changes
from controller.errors import Error, Outcome
from controller.events import AlterConfigs, ConfigChange, ConfigOp, ResourceChanges
from controller.model import ResourceType
from protocol.errors import ErrorCode
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import AlterConfigsResourceResponse
from server.gateway.configs import BROKERS, Key, Split, held, is_ours, key_of, own_key
from server.gateway.core import Core, reason
from server.gateway.exchange import Rule
from server.handlers.incremental_alter_configs import changes_of
from server.verdicts import Verdict

UNKNOWN_OPERATION: Verdict = (ErrorCode.INVALID_REQUEST, "The request has an unknown config operation.")


class Ours(NamedTuple):
    """What a request wants changed in a resource of ours, and why that cannot be, if so."""

    changes: Sequence[ConfigChange]
    refused: Verdict | None


def incremental_alter(core: Core) -> Rule:
    """The rule of IncrementalAlterConfigs, on the brokers' default and on our own id."""
    own = own_key(core)

    def split(request: IncrementalAlterConfigsRequest) -> Split:
        named = {key_of(each): each.configs for each in request.resources}
        ours = {key: _wanted(core, named[key], own=key == own) for key in (BROKERS, own) if key in named}
        theirs: Sequence[AlterableConfig] = ()
        if BROKERS in ours and ours[BROKERS].refused is None:
            theirs = [each for each in named[BROKERS] if not is_ours(each.name)]
        rest = [each for each in request.resources if key_of(each) not in ours]
        upstream = request._replace(resources=[*rest, AlterConfigsResource(*BROKERS, theirs)])
        return Split(upstream, lambda response: _finished(core, request, response, ours))

    return held((BROKERS, own), split)


def alter(core: Core) -> Rule:
    """The rule of AlterConfigs, on the brokers' default and on our own id: what it does not name goes back to its default.

    Asked about nothing the upstream would reset everything; for our own id it gets an IncrementalAlterConfigs instead.
    """
    own = own_key(core)

    def split(request: AlterConfigsRequest) -> Split | None:
        named = {key_of(each): each for each in request.resources}
        key = BROKERS if BROKERS in named else own
        if key == own and len(named) > 1:
            return None
        target = named[key]
        ours = _replaced(core, target.configs, own=key == own)

        def finish(response: Any) -> Awaitable[Any]:
            made = AlterConfigsResponse(response.throttle_time_ms, response.responses)
            return _finished(core, request, made, {key: ours})

        if key == own:
            asking = IncrementalAlterConfigsRequest([AlterConfigsResource(*BROKERS)], request.validate_only)
            return Split(asking, finish, version=1)
        theirs = target._replace(configs=[each for each in target.configs if not is_ours(each.name)])
        resources = [theirs if each is target else each for each in request.resources]
        if ours.refused is not None:
            resources.remove(theirs)
        return Split(request._replace(resources=resources), finish)

    return held((BROKERS, own), split)


def _replaced(core: Core, configs: Sequence[ReplacedConfig], *, own: bool) -> Ours:
    sets = [AlterableConfig(each.name, ConfigOp.SET.value, each.value) for each in configs]
    wanted = _wanted(core, sets, own=own)
    named = {change.config for change in wanted.changes}
    before = core.state.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {})
    resets = [
        ConfigChange(name, ConfigOp.DELETE, None) for name in before if is_ours(name) and name not in named
    ]
    return wanted._replace(changes=[*wanted.changes, *resets])


def _wanted(core: Core, configs: Sequence[AlterableConfig], *, own: bool) -> Ours:
    """Tools clear throttles on every broker (`--verify`); of ours there is nothing to clear, and nothing else to set."""
    changes = changes_of([each for each in configs if is_ours(each.name)])
    if changes is None:
        return Ours((), UNKNOWN_OPERATION)
    foreign = [
        each for each in configs if not is_ours(each.name) and each.config_operation != ConfigOp.DELETE.value
    ]
    if own and foreign:
        text = f"{foreign[0].name} is not a config of broker {core.own_id}, which is reassignd."
        return Ours((), (ErrorCode.INVALID_CONFIG, text))
    return Ours(changes, _refusal(core, changes))


def _refusal(core: Core, changes: Sequence[ConfigChange]) -> Verdict | None:
    outcome = check_changes(core.state, ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes))
    return None if outcome.ok else outcome


async def _finished(core: Core, request: Any, response: Any, ours: Mapping[Key, Ours]) -> Any:
    rows = {key_of(each): each for each in response.responses}
    allowed: Verdict = (ErrorCode.NONE, None)
    if BROKERS in rows:
        answered = rows[BROKERS]
        allowed = (answered.error_code, reason(answered.error_code, answered.error_message))
    for key, wanted in ours.items():
        verdict = allowed
        if verdict[0] == ErrorCode.NONE:
            verdict = wanted.refused or await _changed(core, wanted.changes, request.validate_only)
        rows[key] = AlterConfigsResourceResponse(*verdict, *key)
    return response._replace(responses=[rows[key_of(each)] for each in request.resources])


async def _changed(core: Core, changes: Sequence[ConfigChange], validate_only: bool) -> Verdict:
    if not changes:
        return Outcome(Error.NONE)
    resource = ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)
    outcomes: list[Outcome] = await core.submit(AlterConfigs([resource], validate_only))
    return outcomes[0]
