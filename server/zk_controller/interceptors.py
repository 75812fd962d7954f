"""Which rule there is for which API key at a controller's listener; what has none passes to the broker.

ApiVersions (18) is the broker's answer, with our versions of what we answer, and without what nobody can answer here.
"""

from collections.abc import Callable, Iterable

from protocol.apis import ApiKey, find_api
from protocol.errors import DecodeError
from protocol.frames import RequestFrame, decode_within
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from server.dispatch.registry import ROUTES
from server.gateway.configs import LARGEST
from server.gateway.interceptors import Rules, within
from server.gateway.versions import FRAMED_TOKENS, PRODUCE
from server.relay.exchange import PASSED, Asked, Client, Exchange, rewritten
from server.relay.produce import produce
from server.relay.sasl import authenticate, handshake
from server.zk_controller.authorization import CLUSTER_ACTION, Answer, Question, asking, operations
from server.zk_controller.configs import CONFIGS, configs
from server.zk_controller.endpoint import OWN, ControllerEndpoint, served
from server.zk_controller.own_id import OF_EACH_BROKER

OF_BROKERS = frozenset({ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS})
"""What only brokers ask."""

UNSERVED = frozenset({57})
"""UpdateFeatures: brokers leave it to the controller, and we do not serve it. A client that is shown it would ask for a
minute, since a broker answers NOT_CONTROLLER, which means: try again."""


def rules(own_id: int, deputy: ControllerEndpoint, answer: Answer) -> Rules:
    """All of them, for a controller that clients take for broker `own_id`. `answer` is the deputy's, as it is measured."""

    def of_topics(frame: RequestFrame) -> Question:
        return operations(deputy.safe_to_name(_topics(deputy, frame)))

    questions: dict[int, Callable[[RequestFrame], Question]] = {
        **dict.fromkeys(OWN, lambda _: operations()),
        **dict.fromkeys(OF_BROKERS, lambda _: CLUSTER_ACTION),
        **dict.fromkeys((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS), of_topics),
    }
    return {
        **{key: within(served(key), asking(question, answer)) for key, question in questions.items()},
        **dict.fromkeys(CONFIGS, configs(own_id, deputy, answer)),
        **OF_EACH_BROKER,
        PRODUCE: produce(),
        ApiKey.SASL_HANDSHAKE: within(FRAMED_TOKENS, handshake),
        ApiKey.SASL_AUTHENTICATE: authenticate,
        ApiKey.API_VERSIONS: _api_versions,
    }


def _topics(deputy: ControllerEndpoint, frame: RequestFrame) -> Iterable[str]:
    """The topics that a request names, or gives the ids of. DecodeError for one too large to be looked into."""
    if len(frame.body) > LARGEST:
        raise DecodeError(f"a request of {len(frame.body)} bytes for topics, where {LARGEST} are allowed")
    # Of a request that is too large the first topics do: it is refused afterwards.
    request, _ = decode_within(frame, ROUTES[frame.api_key].bounds)
    if frame.api_key != ApiKey.DELETE_TOPICS:
        return [topic.name for topic in request.topics]
    by_id = {} if deputy.office is None else deputy.office.state.topic_names
    named = [by_id.get(topic.topic_id) if topic.name is None else topic.name for topic in request.topics]
    return [*request.topic_names, *(name for name in named if name is not None)]


def _api_versions(asked: Asked, _client: Client) -> Exchange:
    api = find_api(ApiKey.API_VERSIONS)
    # A version that we do not know may be one that the broker does not know either: it says so, and the client asks again.
    if api is None or asked.api_version not in api.versions:
        return PASSED
    return Exchange(finish=rewritten(asked, _with_ours))


def _with_ours(response: ApiVersionsResponse) -> ApiVersionsResponse:
    if response.error_code:
        return response
    ours = {key: served(key) for key in OWN} | {ApiKey.SASL_HANDSHAKE: FRAMED_TOKENS}
    rows = {row.api_key: row for row in response.api_keys if row.api_key not in UNSERVED}
    rows |= {key: ApiVersion(key, versions[0], versions[-1]) for key, versions in ours.items()}
    return response._replace(api_keys=[rows[key] for key in sorted(rows)])
