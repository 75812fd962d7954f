"""Which versions may pass of the APIs that the gateway looks at or must hide; all others are the upstream's affair."""

from protocol.apis import ApiKey, find_api
from protocol.messages.produce_response import SCHEMA as PRODUCE_RESPONSE
from protocol.schema import version_range
from server.dispatch.registry import ROUTES
from server.handlers import load

PRODUCE = 0
FETCH = 1
SHARE_FETCH = 78
SHARE_ACKNOWLEDGE = 79

HIDDEN = frozenset({SHARE_FETCH, SHARE_ACKNOWLEDGE})
"""Their answers name addresses behind the records, where a stream cannot be changed any more."""

WITHOUT_ENDPOINTS = range(16)
"""Fetch: from version 16 on, answers end with addresses (KIP-951), for the same reason. Consumers ask Metadata instead."""

FRAMED_TOKENS = range(1, 2)
"""SaslHandshake: after version 0 come tokens that are no requests."""

REWRITTEN = (
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.API_VERSIONS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.DESCRIBE_CLUSTER,
)
"""By their schemas."""

ANSWERED = (
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
)
"""By our handlers, wholly or in part."""


def _served() -> dict[int, range]:
    load()
    apis = {key: find_api(key) for key in REWRITTEN}
    return {
        PRODUCE: range(version_range(PRODUCE_RESPONSE.versions)[-1] + 1),
        FETCH: WITHOUT_ENDPOINTS,
        ApiKey.SASL_HANDSHAKE: FRAMED_TOKENS,
        **{key: api.versions for key, api in apis.items() if api is not None},
        **{key: ROUTES[key].versions for key in ANSWERED},
    }


SERVED = _served()
"""By API key."""
