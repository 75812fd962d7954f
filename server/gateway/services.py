"""What the gateway needs to answer reassignd's requests; orders of clients without a known name can be refused."""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.configs import ConfigChange
from protocol.apis import ApiKey
from protocol.frames import RequestFrame
from server.connections.session import Answer
from server.dispatch.authorizer import is_named
from server.dispatch.context import RowError
from server.dispatch.router import Caller, Refuse
from server.gateway.own_configs import OwnConfigs, Sender

DENIED = "Cluster authorization failed."


class GatewayServices(NamedTuple):
    """Functions that answer requests, of one router or of the instance that is active, and reassignd's keys."""

    answer: Answer
    refuse: Refuse
    configs: OwnConfigs


def reason(error_code: int, message: str | None) -> str | None:
    """Return the broker's error message. A denial names principals and hosts, so a fixed text replaces it."""
    return DENIED if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else message


class NamedClientsConfigs:
    """Reassignd's keys, which only principals with a name may change."""

    def __init__(self, configs: OwnConfigs) -> None:
        self._configs = configs
        self.check, self.describe = configs.check, configs.describe

    async def alter(
        self, changes: Sequence[ConfigChange], sender: Sender, *, validate_only: bool, replace: bool
    ) -> RowError:
        """See `OwnConfigs.alter`."""
        if not is_named(sender.caller.principal):
            return NAMELESS
        return await self._configs.alter(changes, sender, validate_only=validate_only, replace=replace)


def for_named_clients(services: GatewayServices) -> GatewayServices:
    """Return the services that refuse orders of principals without a name."""
    answer = only_named(services.answer, services.refuse)
    return services._replace(answer=answer, configs=NamedClientsConfigs(services.configs))


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
