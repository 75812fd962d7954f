"""Which rule there is for which API key."""

from collections.abc import Mapping

from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.errors import DecodeError
from protocol.frames import decode_within, parse_request
from server.dispatch.registry import USUAL
from server.gateway.addresses import Addresses, describe_cluster, find_coordinator
from server.gateway.alter_configs import alter, incremental_alter
from server.gateway.api_versions import api_versions
from server.gateway.authorization_probe import question
from server.gateway.configs import describe
from server.gateway.core import GatewayServices
from server.gateway.metadata import metadata
from server.gateway.versions import HIDDEN, PRODUCE, SERVED
from server.relay.exchange import PASSED, Asked, Client, Exchange, Rule
from server.relay.produce import produce
from server.relay.sasl import authenticate, handshake

LARGEST_SEARCH = 1024 * 1024
"""Bytes of a request for coordinators."""

Rules = Mapping[int, Rule]
"""By API key; what has no rule passes."""


def rules_of(core: GatewayServices, addresses: Addresses) -> Rules:
    """The rules of every port. What ApiVersions does not show is refused."""
    changed: dict[int, Rule] = {
        PRODUCE: produce(addresses),
        ApiKey.METADATA: metadata(addresses),
        ApiKey.FIND_COORDINATOR: bounded(USUAL, LARGEST_SEARCH, find_coordinator(addresses)),
        ApiKey.DESCRIBE_CLUSTER: describe_cluster(addresses),
        ApiKey.SASL_HANDSHAKE: handshake,
        ApiKey.SASL_AUTHENTICATE: authenticate,
        ApiKey.DESCRIBE_CONFIGS: describe(core),
        ApiKey.ALTER_CONFIGS: alter(core),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter(core),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: question(core),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: question(core),
    }
    rules = {key: within(versions, changed.get(key, passed)) for key, versions in SERVED.items()}
    return rules | dict.fromkeys(HIDDEN, _hidden) | {ApiKey.API_VERSIONS: api_versions()}


def within(versions: range, rule: Rule) -> Rule:
    """The rule where the version is one of these; any other closes the connection."""

    def ask(asked: Asked, client: Client) -> Exchange | int:
        if asked.api_version not in versions:
            raise DecodeError(f"API key {asked.api_key} version {asked.api_version} is not served")
        return rule(asked, client)

    return ask


def bounded(bounds: Bounds, most: int, rule: Rule) -> Rule:
    """The rule where the request is within the bounds and has at most so many bytes; any other closes the connection.

    For requests whose answers are rewritten: those are as long.
    """

    def ask(asked: Asked, client: Client) -> Exchange | int:
        if not bounds.surely_hold(asked.size):
            if missing := asked.missing(most, "for coordinators"):
                return missing
            _, all_of_it = decode_within(parse_request(bytes(asked.frame)), bounds)
            if not all_of_it:
                raise DecodeError(f"a request for coordinators with more than {bounds.rows} rows")
        return rule(asked, client)

    return ask


def passed(_asked: Asked, _client: Client) -> Exchange:
    """The rule of what is not looked into."""
    return PASSED


def _hidden(asked: Asked, _client: Client) -> Exchange:
    raise DecodeError(f"API key {asked.api_key} is not served")
