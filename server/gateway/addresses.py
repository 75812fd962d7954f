"""Where clients find brokers: every address in an answer becomes that of the gateway's port for the broker.

DescribeCluster (60) and FindCoordinator (10) are here; `server.gateway.metadata` and `server.relay.produce` have the
others. A broker without a port of ours is left out: its own address would lead clients past the gateway, from where
they do not come back.
"""

from collections.abc import Collection
from typing import Any, Protocol

from common.address import Address
from common.error_codes import ErrorCode
from protocol.messages.describe_cluster_response import DescribeClusterResponse
from protocol.messages.find_coordinator_response import FindCoordinatorResponse
from server.relay.exchange import Exchange, Rule, rewritten

BROKERS = 1
"""DescribeCluster's endpoint type that is not the controllers'."""

NO_BROKER = -1
NOT_YET = "The coordinator's broker has no port at the gateway yet."


class Addresses(Protocol):
    """The gateway's ports."""

    def advertised(self, broker: int, actual: Address) -> Address | None:
        """Where clients are told this one is. One that has no port yet may get one, to lead to its actual address."""
        ...


def controller_among(live: Collection[int], named: int) -> int:
    """Which of these live brokers clients are told is the controller, when the upstream has named this one.

    Another one stands in for a controller that is not shown. Where the upstream knows of none, clients ask again.
    """
    return named if named in live or named == NO_BROKER else next(iter(live), NO_BROKER)


def describe_cluster(addresses: Addresses) -> Rule:
    """The rule of DescribeCluster. Controllers' endpoints (KIP-919) are not ours to hide."""

    def change(response: DescribeClusterResponse) -> DescribeClusterResponse:
        if response.error_code or response.endpoint_type != BROKERS:
            return response
        found = [
            (each, addresses.advertised(each.broker_id, Address(each.host, each.port)))
            for each in response.brokers
        ]
        brokers = [each._replace(host=at.host, port=at.port) for each, at in found if at is not None]
        live = [each.broker_id for each in brokers if not each.is_fenced]
        return response._replace(
            brokers=brokers, controller_id=controller_among(live, response.controller_id)
        )

    return lambda asked, _client: Exchange(finish=rewritten(asked, change))


def find_coordinator(addresses: Addresses) -> Rule:
    """The rule of FindCoordinator: one coordinator, or from version 4 on a list."""

    def change(response: FindCoordinatorResponse) -> FindCoordinatorResponse:
        coordinators: list[Any] = [moved(each) for each in response.coordinators]
        changed: FindCoordinatorResponse = moved(response)
        return changed._replace(coordinators=coordinators)

    def moved(found: Any) -> Any:
        if found.error_code or not found.host:
            return found
        at = addresses.advertised(found.node_id, Address(found.host, found.port))
        if at is None:
            unknown = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return found._replace(
                node_id=NO_BROKER, host="", port=NO_BROKER, error_code=unknown, error_message=NOT_YET
            )
        return found._replace(host=at.host, port=at.port)

    return lambda asked, _client: Exchange(finish=rewritten(asked, change))
