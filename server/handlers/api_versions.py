"""ApiVersions (18), versions 0-4.

KIP: 35, 482 (v3), 511 (the router answers a higher version in version 0).
ACL: none.
Errors: INVALID_REQUEST, UNSUPPORTED_VERSION.
"""

import re
from collections.abc import Awaitable

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from server.dispatch.cache import Encoded
from server.dispatch.context import Context
from server.dispatch.registry import ROUTES, handles

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def refuse(_request: ApiVersionsRequest, code: int, _message: str | None) -> ApiVersionsResponse:
    """Return the error; if the version is not served, with those of ApiVersions that are (KIP-511)."""
    rows = _registered().api_keys if code == ErrorCode.UNSUPPORTED_VERSION else ()
    return ApiVersionsResponse(code, tuple(row for row in rows if row.api_key == ApiKey.API_VERSIONS))


@handles(ApiKey.API_VERSIONS, ApiVersionsRequest, versions=(0, 4), refuse=refuse)
def handle(
    request: ApiVersionsRequest, context: Context
) -> ApiVersionsResponse | Encoded | Awaitable[Encoded]:
    """List the registered APIs.

    From version 3 on, the name and version of the client software must be valid.
    """
    software = (request.client_software_name, request.client_software_version)
    if context.api_version >= 3 and not all(map(_SOFTWARE.fullmatch, software)):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return context.services.bodies.get("ApiVersions", 0, context.api_version, _registered, large=False)


def _registered() -> ApiVersionsResponse:
    rows = (ApiVersion(key, route.versions[0], route.versions[-1]) for key, route in sorted(ROUTES.items()))
    return ApiVersionsResponse(api_keys=tuple(rows))
