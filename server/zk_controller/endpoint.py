"""What concerns a controller: answered in office; out of it with NOT_CONTROLLER, and clients look for it elsewhere."""

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.errors import ApiError
from protocol.frames import RequestFrame
from server.dispatch.authorizer import CLUSTER, Operation
from server.dispatch.registry import ROUTES
from server.dispatch.router import Caller, Router, refused
from server.handlers import load
from server.zk_controller import producer_ids, scram_users
from server.zk_controller.producer_ids import Allocate
from server.zk_controller.scram_users import AlterUser

OWN = frozenset({
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
})  # fmt: skip
"""What a controller answers."""

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})
"""Topics that brokers make for themselves."""


class ActiveController(NamedTuple):
    """What there is while we are the controller."""

    router: Router
    allocate: Allocate
    alter_user: AlterUser
    state: State


class ControllerOnlyApi(NamedTuple):
    """What is answered without the core, in version 0 alone."""

    operation: Operation
    """That is to be allowed on the cluster."""
    answer: Callable[[RequestFrame, ActiveController], Awaitable[bytes]]
    refuse: Callable[[RequestFrame, int], bytes]


APART = {
    ApiKey.ALLOCATE_PRODUCER_IDS: ControllerOnlyApi(
        Operation.CLUSTER_ACTION,
        lambda frame, office: producer_ids.answer(frame, office.allocate),
        producer_ids.refuse,
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ControllerOnlyApi(
        Operation.ALTER,
        lambda frame, office: scram_users.answer(frame, office.alter_user),
        scram_users.refuse,
    ),
}


class ControllerEndpoint:
    """Answers as `server.dispatch.router.Router.answer` does. `office` is None while somebody else is the controller."""

    def __init__(self) -> None:
        load()
        self.office: ActiveController | None = None

    def safe_to_name(self, topics: Iterable[str]) -> list[str]:
        """Those that Metadata can ask for: before 2.8 brokers make an internal one that is not there, unasked."""
        there = frozenset() if self.office is None else self.office.state.topics
        return [name for name in topics if name not in INTERNAL or name in there]

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """What `caller.asked` allows; a refusal for the rest. The frame is one of OWN, or about configs of ours."""
        if self.office is None:
            return not_controller(frame)
        apart = APART.get(ApiKey(frame.api_key))
        if apart is None:
            return self.office.router.answer(frame, caller)
        if caller.asked is None or not caller.asked.allows(caller.principal, apart.operation, CLUSTER):
            return apart.refuse(frame, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return apart.answer(frame, self.office)


def served(key: int) -> range:
    """The versions of one of OWN."""
    return range(1) if key in APART else ROUTES[key].versions


def not_controller(frame: RequestFrame) -> bytes:
    """The frame that sends the client elsewhere."""
    refusal = ApiError(ErrorCode.NOT_CONTROLLER, "This is not the controller: ask for metadata again.")
    apart = APART.get(ApiKey(frame.api_key))
    if apart is not None:
        return apart.refuse(frame, refusal.code)
    return refused(frame, refusal.code, refusal.message)
