"""API versions that may pass, and ApiVersions (18).

The gateway limits the broker's response to what it can relay.

An unknown version of ApiVersions is answered with error 35 in version 0 (KIP-511), and the client retries.
From version 5 on clients send the broker and cluster they expect (KIP-1242). APIs that the gateway neither
intercepts nor hides pass in all versions.
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey, find_api
from protocol.codec.schema import version_range
from protocol.frames import decode_response, encode_request, encode_response, parse_response
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.produce_response import SCHEMA as PRODUCE_RESPONSE
from server.dispatch.registry import ROUTES
from server.handlers import load
from server.relay.exchange import Exchange, IncomingRequest, Interceptor, RelayedClient, buffered
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


def api_versions() -> Interceptor:
    """Return the interceptor of ApiVersions."""

    def intercept(incoming: IncomingRequest, _client: RelayedClient) -> Exchange | int:
        known = incoming.api_version in SERVED[ApiKey.API_VERSIONS]
        version = incoming.api_version if known else 0
        header = incoming.header._replace(api_version=version)

        def answer(payload: bytes) -> bytes:
            response = decode_response(
                parse_response(payload, incoming.api_key, version), ApiVersionsResponse
            )
            shown = cut(response) if known else unsupported(response)
            said_in = 0 if shown.error_code == ErrorCode.UNSUPPORTED_VERSION else version
            return encode_response(header, shown, said_in)

        upstream = None if known else encode_request(ApiVersionsRequest(), 0, incoming.correlation_id, None)
        return Exchange(upstream, buffered(answer))

    return intercept


def cut(response: ApiVersionsResponse) -> ApiVersionsResponse:
    """Return the response with only those APIs and versions that can be relayed.

    Features stay: transactions need them.
    """
    shown = [_cut(row) for row in response.api_keys if row.api_key not in HIDDEN]
    return response._replace(api_keys=[row for row in shown if row.min_version <= row.max_version])


def unsupported(response: ApiVersionsResponse) -> ApiVersionsResponse:
    """Return the error response with the served versions of ApiVersions."""
    rows = [row for row in cut(response).api_keys if row.api_key == ApiKey.API_VERSIONS]
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=rows)


def _cut(row: ApiVersion) -> ApiVersion:
    served = SERVED.get(row.api_key)
    if served is None:
        return row
    return ApiVersion(row.api_key, max(row.min_version, served[0]), min(row.max_version, served[-1]))
