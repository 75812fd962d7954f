"""Requests for configs (32, 33, 44): any broker answers them, but for our own id, and our own keys, which no broker checks.

Where keys of ours and of Kafka's are altered in one request, ours are checked here, and a broker takes them all: it checks
its own, and we hear of ours as of any change.
"""

from typing import Any

from common.error_codes import ErrorCode
from controller.configs.changes import check_changes
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
from server.dispatch.row_errors import Verdict
from server.gateway.configs import LARGEST, PREFIX, is_ours
from server.handlers.incremental_alter_configs import changes_of
from server.relay.exchange import PASSED, Asked, Client, Exchange, Rule
from server.zk_controller.authorization import Answer, operations, put
from server.zk_controller.endpoint import ControllerEndpoint

CONFIGS = frozenset({ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})

UNREADABLE: Verdict = (ErrorCode.INVALID_REQUEST, "The request has an unknown resource type or operation.")


def configs(own_id: int, deputy: ControllerEndpoint, answer: Answer) -> Rule:
    """The rule of the three keys, for a controller that clients take for broker `own_id`."""
    own_name = str(own_id)
    marks = (own_name.encode(), PREFIX.encode())

    def ask(asked: Asked, client: Client) -> Exchange | int:
        if asked.api_version not in ROUTES[asked.api_key].versions:
            return PASSED
        if missing := asked.missing(LARGEST, "for configs"):
            return missing
        payload = bytes(asked.frame)
        if not any(mark in payload for mark in marks):
            return PASSED
        frame = parse_request(payload)
        request, whole = decode_within(frame, ROUTES[asked.api_key].bounds)
        resources = request.resources
        # One that is too large is refused here, by the handler's bounds.
        about_us = not whole or any(_is_broker(each, own_name) for each in resources)
        if not about_us and not any(map(_our_keys, resources)):
            return PASSED
        topics = [each.resource_name for each in resources if each.resource_type == ResourceType.TOPIC]
        question = operations(deputy.safe_to_name(topics))
        office = deputy.office
        if about_us or office is None or not any(map(_with_theirs, resources)):
            return put(asked, client, frame, question, answer)
        wrong = _refusal(office.state, frame, resources)
        if wrong is None:
            return PASSED
        return put(asked, client, frame, question, lambda frame, caller: _refused(frame, caller, wrong))

    return ask


def _is_broker(resource: Any, name: str) -> bool:
    return bool(resource.resource_type == ResourceType.BROKER and resource.resource_name == name)


def _our_keys(resource: Any) -> list[Any]:
    """Those of the resource's configs that no broker checks. What is described has none."""
    return [each for each in getattr(resource, "configs", None) or () if is_ours(each.name)]


def _with_theirs(resource: Any) -> bool:
    return len(_our_keys(resource)) < len(resource.configs)


def _refusal(state: State, frame: RequestFrame, resources: Any) -> Verdict | None:
    """What is wrong with the first of our keys that cannot be."""
    replace = frame.api_key == ApiKey.ALTER_CONFIGS
    for each in resources:
        ours = _our_keys(each)
        if not ours:
            continue
        changes = (
            [ConfigChange(key.name, ConfigOp.SET, key.value) for key in ours] if replace else changes_of(ours)
        )
        if changes is None or each.resource_type not in set(ResourceType):
            return UNREADABLE
        resource = ResourceChanges(ResourceType(each.resource_type), each.resource_name, changes, replace)
        outcome = check_changes(state, resource)
        if not outcome.ok:
            return outcome
    return None


def _refused(frame: RequestFrame, caller: Caller, wrong: Verdict) -> bytes:
    """Whoever may not alter them does not learn what is wrong with them."""
    allowed = caller.asked is not None and caller.asked.allows(
        caller.principal, Operation.ALTER_CONFIGS, CLUSTER
    )
    verdict = wrong if allowed else CLUSTER_DENIED
    return refused(frame, *verdict)
