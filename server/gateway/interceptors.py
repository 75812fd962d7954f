"""The gateway's interceptors by API key."""

from typing import NamedTuple

from common.off_loop import OffLoop
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.counter import Bounds
from protocol.frames import decode_within, parse_request
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from server.dispatch.registry import USUAL
from server.gateway.addresses import describe_cluster, find_coordinator, metadata
from server.gateway.configs import alter, describe, incremental_alter
from server.gateway.probe import answer_after_probe
from server.gateway.services import GatewayServices
from server.gateway.versions import HIDDEN, SERVED, api_versions
from server.relay.exchange import (
    PASSED,
    Exchange,
    IncomingRequest,
    Interceptor,
    Interceptors,
    RelayedClient,
    only_versions,
)
from server.relay.produce import AdvertisedAddresses, produce
from server.relay.sasl import authenticate, handshake

LARGEST_SEARCH = 1024 * 1024
"""Bytes of the largest request for coordinators."""


def gateway_interceptors(
    services: GatewayServices, addresses: AdvertisedAddresses, off_loop: OffLoop
) -> Interceptors:
    """Return the interceptors, which are the same for all ports.

    APIs and versions that ApiVersions hides are refused.
    """
    changed: dict[int, Interceptor] = {
        ApiKey.PRODUCE: produce(addresses),
        ApiKey.METADATA: metadata(addresses),
        ApiKey.FIND_COORDINATOR: within_bounds(
            FindCoordinatorRequest, USUAL, LARGEST_SEARCH, find_coordinator(addresses)
        ),
        ApiKey.DESCRIBE_CLUSTER: describe_cluster(addresses),
        ApiKey.SASL_HANDSHAKE: handshake,
        ApiKey.SASL_AUTHENTICATE: authenticate,
        ApiKey.DESCRIBE_CONFIGS: describe(services, off_loop),
        ApiKey.ALTER_CONFIGS: alter(services, off_loop),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter(services, off_loop),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: answer_after_probe(services),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: answer_after_probe(services),
    }
    interceptors = {
        key: only_versions(versions, changed.get(key, pass_through)) for key, versions in SERVED.items()
    }
    return interceptors | dict.fromkeys(HIDDEN, _hidden) | {ApiKey.API_VERSIONS: api_versions()}


def within_bounds(
    request_class: type[NamedTuple], bounds: Bounds, most: int, interceptor: Interceptor
) -> Interceptor:
    """Return the interceptor for requests within the bounds and `most` bytes; others close the connection.

    Used for requests whose answers are rewritten, because the answer is as long as the request.
    """

    def intercept(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
        if not bounds.surely_hold(incoming.size):
            if missing := incoming.missing(most, "for coordinators"):
                return missing
            _, all_of_it = decode_within(parse_request(bytes(incoming.frame)), request_class, bounds)
            if not all_of_it:
                raise DecodeError(f"a request for coordinators with more than {bounds.rows} rows")
        return interceptor(incoming, client)

    return intercept


def pass_through(_incoming: IncomingRequest, _client: RelayedClient) -> Exchange:
    """Relay the request unchanged."""
    return PASSED


def _hidden(incoming: IncomingRequest, _client: RelayedClient) -> Exchange:
    raise DecodeError(f"API key {incoming.api_key} is not served")
