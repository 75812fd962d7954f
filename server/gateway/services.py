"""The parts of reassignd that the gateway needs to answer requests."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from common.error_codes import ErrorCode
from protocol.frames import RequestFrame
from server.connections.session import Answer
from server.gateway.own_configs import OwnConfigs

DENIED = "Cluster authorization failed."

Refuse = Callable[[RequestFrame, int, str | None], bytes | Awaitable[bytes]]
"""See `server.dispatch.router.Router.refuse`."""


class GatewayServices(NamedTuple):
    """Functions that answer requests, of one router or of the instance that is active, and reassignd's keys."""

    answer: Answer
    refuse: Refuse
    configs: OwnConfigs


def reason(error_code: int, message: str | None) -> str | None:
    """Return the broker's error message. A denial names principals and hosts, so a fixed text replaces it."""
    return DENIED if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else message
