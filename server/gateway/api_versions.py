"""ApiVersions (18): the upstream's own, cut to what the gateway can rewrite.

A version that we do not read is answered with error 35 in version 0 (KIP-511), and the client asks again. From
version 5 on clients say which broker of which cluster they think they talk to (KIP-1242).
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.frames import decode_response, encode_request, encode_response, parse_response
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from server.gateway.versions import HIDDEN, SERVED
from server.relay.exchange import Asked, Client, Exchange, Rule, whole


def api_versions() -> Rule:
    """The rule of the key."""

    def ask(asked: Asked, _client: Client) -> Exchange | int:
        known = asked.api_version in SERVED[ApiKey.API_VERSIONS]
        version = asked.api_version if known else 0
        header = asked.header._replace(api_version=version)

        def answer(payload: bytes) -> bytes:
            response = decode_response(parse_response(payload, asked.api_key, version))
            shown = cut(response) if known else unsupported(response)
            said_in = 0 if shown.error_code == ErrorCode.UNSUPPORTED_VERSION else version
            return encode_response(header, shown, said_in)

        upstream = None if known else encode_request(ApiVersionsRequest(), 0, asked.correlation_id, None)
        return Exchange(upstream, whole(answer))

    return ask


def cut(response: ApiVersionsResponse) -> ApiVersionsResponse:
    """Leave what can pass, and be answered, unharmed. Features stay: transactions depend on them."""
    shown = [_cut(each) for each in response.api_keys if each.api_key not in HIDDEN]
    return response._replace(api_keys=[each for each in shown if each.min_version <= each.max_version])


def unsupported(response: ApiVersionsResponse) -> ApiVersionsResponse:
    """Say which versions of this one API there are."""
    rows = [each for each in cut(response).api_keys if each.api_key == ApiKey.API_VERSIONS]
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=rows)


def _cut(row: ApiVersion) -> ApiVersion:
    served = SERVED.get(row.api_key)
    if served is None:
        return row
    return ApiVersion(row.api_key, max(row.min_version, served[0]), min(row.max_version, served[-1]))
