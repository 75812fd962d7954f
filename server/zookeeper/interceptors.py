"""The interceptors of a controller's listener by API key. Requests of other keys pass to the broker.

ApiVersions (18) is the broker's response with the versions that reassignd serves, and without APIs that no
one serves in this mode.

Tools send ListGroups (16), DescribeLogDirs (35) and ListTransactions (66) to every broker; for reassignd's
node id the answer is empty. The broker behind the connection would list its groups and directories a second
time. It is asked all the same, because it authorizes the principal; its errors pass.
"""

from collections.abc import Callable, Iterable

from protocol.apis import ApiKey, find_api
from protocol.codec.errors import DecodeError
from protocol.codec.schema import Response
from protocol.frames import RequestFrame, decode_within, encode_request, parse_request
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.create_partitions_request import CreatePartitionsRequest
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from protocol.messages.list_groups_response import ListGroupsResponse
from protocol.messages.list_transactions_response import ListTransactionsResponse
from server.dispatch.configs import CONFIG_REQUESTS
from server.dispatch.registry import ROUTES
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    Exchange,
    IncomingRequest,
    Interceptor,
    Interceptors,
    RelayedClient,
    only_versions,
    rewrite_answer,
)
from server.relay.produce import produce
from server.relay.sasl import FRAMED_TOKENS, authenticate, handshake
from server.zookeeper.authorization import CLUSTER_ACTION, Answer, AnyQuery, operations_query, with_rights
from server.zookeeper.configs import configs
from server.zookeeper.endpoint import ANSWERED, ControllerEndpoint, served

BROKERS_ONLY = frozenset({ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS})
"""APIs that only brokers use."""

UNSERVED = frozenset({57})
"""UpdateFeatures. Only a controller serves it, and reassignd does not. Brokers answer NOT_CONTROLLER, so a
client that saw the API would retry for a minute."""


def controller_interceptors(own_id: int, endpoint: ControllerEndpoint, answer: Answer) -> Interceptors:
    """Return the interceptors; `own_id` is the node id of reassignd.

    `answer` is the endpoint's, with metrics.
    """

    def of_topics(frame: RequestFrame) -> AnyQuery:
        return operations_query(endpoint.safe_to_name(_topics(endpoint, frame)))

    queries: dict[int, Callable[[RequestFrame], AnyQuery]] = {
        **dict.fromkeys(ANSWERED, lambda _: operations_query()),
        **dict.fromkeys(BROKERS_ONLY, lambda _: CLUSTER_ACTION),
        **dict.fromkeys((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS), of_topics),
    }
    return {
        **{key: only_versions(served(key), with_rights(query, answer)) for key, query in queries.items()},
        **dict.fromkeys(CONFIG_REQUESTS, configs(own_id, endpoint, answer)),
        **PER_BROKER_INTERCEPTORS,
        ApiKey.PRODUCE: produce(),
        ApiKey.SASL_HANDSHAKE: only_versions(FRAMED_TOKENS, handshake),
        ApiKey.SASL_AUTHENTICATE: authenticate,
        ApiKey.API_VERSIONS: _api_versions,
    }


def _topics(endpoint: ControllerEndpoint, frame: RequestFrame) -> Iterable[str]:
    """Return the topics that a request has by name or id.

    Raises DecodeError when it is too large to be decoded.
    """
    if len(frame.body) > LARGEST_DECODED:
        raise DecodeError(
            f"a request of {len(frame.body)} bytes for topics, where {LARGEST_DECODED} are allowed"
        )
    # A request with too many rows is decoded in part; the handler refuses it later.
    bounds = ROUTES[frame.api_key].bounds
    if frame.api_key == ApiKey.CREATE_TOPICS:
        return [topic.name for topic in decode_within(frame, CreateTopicsRequest, bounds)[0].topics]
    if frame.api_key == ApiKey.CREATE_PARTITIONS:
        return [topic.name for topic in decode_within(frame, CreatePartitionsRequest, bounds)[0].topics]
    request, _ = decode_within(frame, DeleteTopicsRequest, bounds)
    by_id = {} if endpoint.active is None else endpoint.active.state.cluster.topic_names
    named = [by_id.get(topic.topic_id) if topic.name is None else topic.name for topic in request.topics]
    return [*request.topic_names, *(name for name in named if name is not None)]


def _api_versions(incoming: IncomingRequest, _client: RelayedClient) -> Exchange:
    api = find_api(ApiKey.API_VERSIONS)
    # An unknown version passes. The broker may not know it either; then it says so, and the client retries.
    if api is None or incoming.api_version not in api.versions:
        return PASSED
    return Exchange(finish=rewrite_answer(incoming, ApiVersionsResponse, _with_own_versions))


def _with_own_versions(response: ApiVersionsResponse) -> ApiVersionsResponse:
    if response.error_code:
        return response
    own_versions = {key: served(key) for key in ANSWERED} | {ApiKey.SASL_HANDSHAKE: FRAMED_TOKENS}
    rows = {row.api_key: row for row in response.api_keys if row.api_key not in UNSERVED}
    rows |= {key: ApiVersion(key, versions[0], versions[-1]) for key, versions in own_versions.items()}
    return response._replace(api_keys=[rows[key] for key in sorted(rows)])


LOG_DIR = "reassignd"
"""Log directory without topics. Java's Admin treats a response without directories as a refusal."""


def log_dirs(incoming: IncomingRequest, _client: RelayedClient) -> Exchange | int:
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

    def intercept(incoming: IncomingRequest, _client: RelayedClient) -> Exchange:
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
