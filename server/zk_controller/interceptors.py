"""The interceptors of a controller's listener by API key. Requests of other keys pass to the broker.

ApiVersions (18) is the broker's response with the versions that reassignd serves, and without APIs that no
one serves in this mode.
"""

from collections.abc import Callable, Iterable

from protocol.apis import ApiKey, find_api
from protocol.errors import DecodeError
from protocol.frames import RequestFrame, decode_within
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.create_partitions_request import CreatePartitionsRequest
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from server.dispatch.registry import ROUTES
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    ClientIdentity,
    Exchange,
    IncomingRequest,
    Interceptors,
    only_versions,
    rewrite_answer,
)
from server.relay.produce import produce
from server.relay.sasl import FRAMED_TOKENS, authenticate, handshake
from server.zk_controller.authorization import (
    CLUSTER_ACTION,
    Answer,
    AnyQuery,
    operations_query,
    with_rights,
)
from server.zk_controller.configs import CONFIGS, configs
from server.zk_controller.endpoint import ANSWERED, ControllerEndpoint, served
from server.zk_controller.own_node import PER_BROKER_INTERCEPTORS

BROKERS_ONLY = frozenset({ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS})
"""APIs that only brokers use."""

UNSERVED = frozenset({57})
"""UpdateFeatures. Only a controller serves it, and reassignd does not. Brokers answer NOT_CONTROLLER, so a client that saw
the API would retry for a minute."""


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
        **dict.fromkeys(CONFIGS, configs(own_id, endpoint, answer)),
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
    by_id = {} if endpoint.active is None else endpoint.active.state.topic_names
    named = [by_id.get(topic.topic_id) if topic.name is None else topic.name for topic in request.topics]
    return [*request.topic_names, *(name for name in named if name is not None)]


def _api_versions(incoming: IncomingRequest, _client: ClientIdentity) -> Exchange:
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
