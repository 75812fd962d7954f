"""API versions that may pass, for APIs that the gateway intercepts or hides.

Other APIs pass in all versions.
"""

from protocol.apis import ApiKey, find_api
from protocol.messages.produce_response import SCHEMA as PRODUCE_RESPONSE
from protocol.schema import version_range
from server.dispatch.registry import ROUTES
from server.handlers import load
from server.relay.sasl import FRAMED_TOKENS

FETCH = 1
SHARE_FETCH = 78
SHARE_ACKNOWLEDGE = 79

HIDDEN = frozenset({SHARE_FETCH, SHARE_ACKNOWLEDGE})
"""Hidden APIs. Their responses have brokers' addresses after the records, where a passing stream cannot be
changed."""

WITHOUT_ENDPOINTS = range(16)
"""Fetch versions that pass. Later responses end with addresses (KIP-951); without them consumers use
Metadata."""

REWRITTEN = (
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.API_VERSIONS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.DESCRIBE_CLUSTER,
)
"""APIs whose responses are rewritten; served in all versions that the schemas have."""

ANSWERED = (
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
)
"""APIs that reassignd answers, completely or in part; served in the versions of the handlers."""


def _served() -> dict[int, range]:
    load()
    apis = {key: find_api(key) for key in REWRITTEN}
    return {
        ApiKey.PRODUCE: range(version_range(PRODUCE_RESPONSE.versions)[-1] + 1),
        FETCH: WITHOUT_ENDPOINTS,
        ApiKey.SASL_HANDSHAKE: FRAMED_TOKENS,
        **{key: api.versions for key, api in apis.items() if api is not None},
        **{key: ROUTES[key].versions for key in ANSWERED},
    }


SERVED = _served()
"""API key -> versions."""
