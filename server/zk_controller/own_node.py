"""Empty answers for reassignd's node id to queries that tools send to every broker.

They are ListGroups (16), DescribeLogDirs (35) and ListTransactions (66).

The broker behind the connection would list its groups and directories a second time. It is asked all the
same, because it authorizes the principal; its errors pass.
"""

from typing import Any

from protocol.apis import ApiKey, find_api
from protocol.frames import encode_request, parse_request
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from server.relay.exchange import (
    PASSED,
    ClientIdentity,
    Exchange,
    IncomingRequest,
    Interceptor,
    rewrite_answer,
)

LOG_DIR = "reassignd"
"""Log directory without topics. Java's Admin treats a response without directories as a refusal."""


def log_dirs(incoming: IncomingRequest, _client: ClientIdentity) -> Exchange | int:
    """Intercept DescribeLogDirs: the broker is asked for no topics."""
    if incoming.api_version not in _versions(ApiKey.DESCRIBE_LOG_DIRS):
        return PASSED
    if not incoming.complete:
        return incoming.size
    request = parse_request(bytes(incoming.frame))
    upstream = encode_request(
        DescribeLogDirsRequest(topics=()), incoming.api_version, incoming.correlation_id, request.client_id
    )
    return Exchange(upstream, rewrite_answer(incoming, _one_dir))


def _one_dir(response: DescribeLogDirsResponse) -> DescribeLogDirsResponse:
    if response.error_code or not response.results:
        return response
    return response._replace(results=[DescribeLogDirsResult(log_dir=LOG_DIR)])


def emptied(key: ApiKey, field: str) -> Interceptor:
    """Return an interceptor that empties a list in the response."""

    def empty(response: Any) -> Any:
        return response if response.error_code else response._replace(**{field: ()})

    def intercept(incoming: IncomingRequest, _client: ClientIdentity) -> Exchange:
        return (
            Exchange(finish=rewrite_answer(incoming, empty))
            if incoming.api_version in _versions(key)
            else PASSED
        )

    return intercept


def _versions(key: ApiKey) -> range:
    """Return the versions with a known schema. The broker may serve others, whose answers pass unchanged."""
    api = find_api(key)
    return range(0) if api is None else api.versions


PER_BROKER_INTERCEPTORS: dict[int, Interceptor] = {
    ApiKey.LIST_GROUPS: emptied(ApiKey.LIST_GROUPS, "groups"),
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs,
    ApiKey.LIST_TRANSACTIONS: emptied(ApiKey.LIST_TRANSACTIONS, "transaction_states"),
}
"""API key -> interceptor."""
