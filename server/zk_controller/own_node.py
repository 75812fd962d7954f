"""Empty answers for reassignd's node id to queries that tools send to every broker.

They are ListGroups (16), DescribeLogDirs (35) and ListTransactions (66).

The broker behind the connection would list its groups and directories a second time. It is asked all the
same, because it authorizes the principal; its errors pass.
"""

from collections.abc import Callable

from protocol.apis import ApiKey, find_api
from protocol.frames import encode_request, parse_request
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from protocol.messages.list_groups_response import ListGroupsResponse
from protocol.messages.list_transactions_response import ListTransactionsResponse
from protocol.schema import Response
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
    return Exchange(upstream, rewrite_answer(incoming, DescribeLogDirsResponse, _one_dir))


def _one_dir(response: DescribeLogDirsResponse) -> DescribeLogDirsResponse:
    if response.error_code or not response.results:
        return response
    return response._replace(results=[DescribeLogDirsResult(log_dir=LOG_DIR)])


def _no_groups(response: ListGroupsResponse) -> ListGroupsResponse:
    return response if response.error_code else response._replace(groups=())


def _no_transactions(response: ListTransactionsResponse) -> ListTransactionsResponse:
    return response if response.error_code else response._replace(transaction_states=())


def emptied(
    key: ApiKey, response_class: type[Response], empty: Callable[[Response], Response]
) -> Interceptor:
    """Return an interceptor that applies `empty` to the response."""

    def intercept(incoming: IncomingRequest, _client: ClientIdentity) -> Exchange:
        return (
            Exchange(finish=rewrite_answer(incoming, response_class, empty))
            if incoming.api_version in _versions(key)
            else PASSED
        )

    return intercept


def _versions(key: ApiKey) -> range:
    """Return the versions with a known schema. The broker may serve others, whose answers pass unchanged."""
    api = find_api(key)
    return range(0) if api is None else api.versions


PER_BROKER_INTERCEPTORS: dict[int, Interceptor] = {
    ApiKey.LIST_GROUPS: emptied(ApiKey.LIST_GROUPS, ListGroupsResponse, _no_groups),
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs,
    ApiKey.LIST_TRANSACTIONS: emptied(ApiKey.LIST_TRANSACTIONS, ListTransactionsResponse, _no_transactions),
}
"""API key -> interceptor."""
