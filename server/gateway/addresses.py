"""Brokers' addresses in DescribeCluster (60) and FindCoordinator (10) become those of the gateway's ports.

`server.gateway.metadata` and `server.relay.produce` do the same for the other APIs. A broker without a port
is left out: a client that learned its own address would bypass the gateway from then on.
"""

from collections.abc import Collection
from typing import TypeVar

from common.address import Address
from common.error_codes import ErrorCode
from protocol.messages.describe_cluster_response import DescribeClusterResponse
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from server.relay.addresses import AdvertisedAddresses
from server.relay.exchange import Exchange, Interceptor, rewrite_answer

Found = TypeVar("Found", FindCoordinatorResponse, Coordinator)

DEFAULT_BROKER = 1
"""DescribeCluster: endpoint type of brokers."""

NO_BROKER = -1
NOT_YET = "The coordinator's broker has no port at the gateway yet."


def controller_among(live: Collection[int], named: int) -> int:
    """Return the controller to show to clients, where the upstream named `named`.

    A controller that is not among the live brokers is replaced by one that is. NO_BROKER stays, so that
    clients retry.
    """
    return named if named in live or named == NO_BROKER else next(iter(live), NO_BROKER)


def describe_cluster(addresses: AdvertisedAddresses) -> Interceptor:
    """Return the interceptor of DescribeCluster. Controllers' endpoints (KIP-919) pass unchanged."""

    def change(response: DescribeClusterResponse) -> DescribeClusterResponse:
        if response.error_code or response.endpoint_type != DEFAULT_BROKER:
            return response
        addressed = [
            (broker, addresses.advertised(broker.broker_id, Address(broker.host, broker.port)))
            for broker in response.brokers
        ]
        brokers = [broker._replace(host=at.host, port=at.port) for broker, at in addressed if at is not None]
        live = [broker.broker_id for broker in brokers if not broker.is_fenced]
        return response._replace(
            brokers=brokers, controller_id=controller_among(live, response.controller_id)
        )

    return lambda incoming, _client: Exchange(
        finish=rewrite_answer(incoming, DescribeClusterResponse, change)
    )


def find_coordinator(addresses: AdvertisedAddresses) -> Interceptor:
    """Return the interceptor of FindCoordinator: one coordinator, or from version 4 on a list."""

    def change(response: FindCoordinatorResponse) -> FindCoordinatorResponse:
        coordinators = [moved(row) for row in response.coordinators]
        return moved(response)._replace(coordinators=coordinators)

    def moved(response: Found) -> Found:
        if response.error_code or not response.host:
            return response
        at = addresses.advertised(response.node_id, Address(response.host, response.port))
        if at is None:
            unknown = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return response._replace(
                node_id=NO_BROKER, host="", port=NO_BROKER, error_code=unknown, error_message=NOT_YET
            )
        return response._replace(host=at.host, port=at.port)

    return lambda incoming, _client: Exchange(
        finish=rewrite_answer(incoming, FindCoordinatorResponse, change)
    )
