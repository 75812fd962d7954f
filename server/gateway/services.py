"""The parts of reassignd that the gateway needs to answer requests."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.frames import RequestFrame
from server.connections.session import Answer

DENIED = "Cluster authorization failed."


class GatewayServices(NamedTuple):
    """Functions of the router, and the controller's state and event queue."""

    answer: Answer
    refuse: Callable[[RequestFrame, int, str | None], bytes | Awaitable[bytes]]
    state: State
    submit: SubmitEvent


def reason(error_code: int, message: str | None) -> str | None:
    """Return the broker's error message. A denial names principals and hosts, so a fixed text replaces it."""
    return DENIED if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else message
