"""Requests to a controller: answered while reassignd is the active controller, else refused with NOT_CONTROLLER."""

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

ANSWERED = frozenset({
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
"""API keys that the controller answers."""

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})
"""Internal topics, which brokers create themselves."""


class ActiveController(NamedTuple):
    """The services of one term as controller."""

    router: Router
    allocate: Allocate
    alter_user: AlterUser
    state: State


class ControllerOnlyApi(NamedTuple):
    """An API that is answered without the controller, in version 0 only."""

    operation: Operation
    """Operation on the cluster that the principal needs."""
    answer: Callable[[RequestFrame, ActiveController], Awaitable[bytes]]
    refuse: Callable[[RequestFrame, int], bytes]


CONTROLLER_ONLY_APIS = {
    ApiKey.ALLOCATE_PRODUCER_IDS: ControllerOnlyApi(
        Operation.CLUSTER_ACTION,
        lambda frame, active: producer_ids.answer(frame, active.allocate),
        producer_ids.refuse,
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ControllerOnlyApi(
        Operation.ALTER,
        lambda frame, active: scram_users.answer(frame, active.alter_user),
        scram_users.refuse,
    ),
}


class ControllerEndpoint:
    """Answers requests with the services of the current term.

    `active` is None while another controller is active.
    """

    def __init__(self) -> None:
        load()
        self.active: ActiveController | None = None

    def safe_to_name(self, topics: Iterable[str]) -> list[str]:
        """Return the topics that a Metadata request may name.

        Brokers before 2.8 create missing internal topics on Metadata.
        """
        there = frozenset() if self.active is None else self.active.state.topics
        return [name for name in topics if name not in INTERNAL or name in there]

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """Answer the frame as far as the rights in `caller.rights` allow; see `server.dispatch.router.Router.answer`.

        Its API key is one of ANSWERED, or it is a config request about reassignd.
        """
        if self.active is None:
            return not_controller(frame)
        controller_only = CONTROLLER_ONLY_APIS.get(ApiKey(frame.api_key))
        if controller_only is None:
            return self.active.router.answer(frame, caller)
        if caller.rights is None or not caller.rights.allows(
            caller.principal, controller_only.operation, CLUSTER
        ):
            return controller_only.refuse(frame, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return controller_only.answer(frame, self.active)


def served(key: int) -> range:
    """Return the served versions of an API in ANSWERED."""
    return range(1) if key in CONTROLLER_ONLY_APIS else ROUTES[key].versions


def not_controller(frame: RequestFrame) -> bytes:
    """Return a frame with NOT_CONTROLLER; the client looks up the controller again."""
    refusal = ApiError(ErrorCode.NOT_CONTROLLER, "This is not the controller: ask for metadata again.")
    controller_only = CONTROLLER_ONLY_APIS.get(ApiKey(frame.api_key))
    if controller_only is not None:
        return controller_only.refuse(frame, refusal.code)
    return refused(frame, refusal.code, refusal.message)
