"""What answers for reassignd, as the gateway sees it."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.frames import RequestFrame
from server.connections.session import Answer

DENIED = "Cluster authorization failed."


class GatewayServices(NamedTuple):
    """The router's two functions, and the controller's."""

    answer: Answer
    refuse: Callable[[RequestFrame, int, str | None], bytes | Awaitable[bytes]]
    state: State
    submit: SubmitEvent


def reason(error_code: int, message: str | None) -> str | None:
    """The upstream's text beside an error; its refusals name principals and hosts, so ours replace them."""
    return DENIED if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else message
