"""Refuses the orders of clients whose name is not known, if the setting says so."""

from collections.abc import Awaitable

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.frames import RequestFrame
from server.connections.session import Answer
from server.dispatch.authorizer import is_named
from server.dispatch.router import Caller, Refuse
from server.dispatch.row_errors import RowError

ORDERS = frozenset({
    ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS,
})  # fmt: skip

NAMELESS: RowError = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    "reassignd cannot read the name of this principal from its login, and relay.refuse.unknown.principals is set.",
)


def only_named(answer: Answer, refuse: Refuse) -> Answer:
    """Return `answer` that refuses orders of principals without a name."""

    def answered(frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        if frame.api_key in ORDERS and not is_named(caller.principal):
            return refuse(frame, *NAMELESS)
        return answer(frame, caller)

    return answered
