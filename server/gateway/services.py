"""What the gateway needs to answer reassignd's requests.

Orders of clients without a known name can be refused.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.configs import ConfigChange
from controller.model.errors import Outcome
from protocol.apis import ApiKey
from protocol.frames import RequestFrame
from server.connections.session import Answer
from server.dispatch.context import Caller, RowError, is_named
from server.dispatch.router import Refuse

DENIED = "Cluster authorization failed."

Check = Callable[[str, Sequence[ConfigChange]], Outcome]
"""Checks changes of reassignd's keys on a broker, or on the default (""), as far as that is possible now."""


class GatewayServices(NamedTuple):
    """Functions that answer requests for reassignd, of one router or of the instance that is active.

    They are 45 and 46 as the client sent them, and 32, 33 and 44 for reassignd's keys on the default of all
    brokers.
    """

    answer: Answer
    refuse: Refuse
    check: Check


def reason(error_code: int, message: str | None) -> str | None:
    """Return the broker's error message. A denial names principals and hosts, so a fixed text replaces it."""
    return DENIED if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else message


ORDERS = frozenset({
    ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS,
})  # fmt: skip

NAMELESS: RowError = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    (
        "reassignd cannot read the name of this principal from its login, and"
        " relay.refuse.unknown.principals is set."
    ),
)


def only_named(answer: Answer, refuse: Refuse) -> Answer:
    """Return `answer` that refuses orders of principals without a name."""

    def answered(frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        if frame.api_key in ORDERS and not is_named(caller.principal):
            return refuse(frame, *NAMELESS)
        return answer(frame, caller)

    return answered
