"""What a principal may: a broker is asked, over the connection on which it knows who that is.

Metadata (3) tells the operations that are allowed on the cluster and on topics (KIP-430), of the cluster only to those who
may DESCRIBE it: it is asked in version 8, the last that is the same in all brokers with ZooKeeper. CLUSTER_ACTION, which
brokers may have without DESCRIBE, is told by ControlledShutdown (7) of no broker: every broker checks the right before it
says that it is no controller, and nothing shuts down.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from common.error_codes import ErrorCode
from controller.cluster.topics import MAX_NAME
from protocol.apis import ApiKey
from protocol.errors import DecodeError
from protocol.frames import RequestFrame, decode_response, encode_request, parse_request, parse_response
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponse
from server.dispatch.authorizer import Operation, Resource, ResourceKind
from server.dispatch.router import Caller
from server.relay.exchange import Asked, Client, Exchange, Rule, whole

METADATA_VERSION = 8
SHUTDOWN_VERSION = 2
NO_BROKER = -1
NO_EPOCH = -1

NO_TOPICS: Mapping[str, int] = MappingProxyType({})


class Rights(NamedTuple):
    """Bit fields of allowed operations, by topic and of the cluster. Implements `server.dispatch.authorizer.Authorizer`."""

    cluster: int = 0
    topics: Mapping[str, int] = NO_TOPICS

    def allows(self, _principal: str, operation: Operation, resource: Resource, /) -> bool:
        """Whoever it is: others were not asked about."""
        bits = self.cluster if resource.kind is ResourceKind.CLUSTER else self.topics.get(resource.name, 0)
        return bool(bits >> operation & 1)


class Question(NamedTuple):
    """What goes to a broker, and what its answer says."""

    api_key: ApiKey
    version: int
    request: Any
    read: Callable[[Any], Rights]


def operations(topics: Iterable[str] = ()) -> Question:
    """What is allowed on the cluster and on these topics, whether there are such topics or not."""
    rows = [MetadataRequestTopic(name=name) for name in dict.fromkeys(topics) if len(name) <= MAX_NAME]
    request = MetadataRequest(
        rows,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    return Question(ApiKey.METADATA, METADATA_VERSION, request, _told)


def _told(response: MetadataResponse) -> Rights:
    topics = {row.name: row.topic_authorized_operations for row in response.topics if row.name is not None}
    return Rights(response.cluster_authorized_operations, topics)


AFTER_THE_CHECK = frozenset(
    {ErrorCode.NONE, ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.STALE_CONTROLLER_EPOCH}
)
"""What is said of no broker to those who have the right: by a controller, and by a broker that is none."""


def _may_act(response: ControlledShutdownResponse) -> Rights:
    code = response.error_code
    if code in AFTER_THE_CHECK:
        return Rights(1 << Operation.CLUSTER_ACTION)
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return Rights()
    # An authorizer that fails, for instance, has neither allowed nor denied anything.
    raise DecodeError(f"a broker did not tell the principal's rights, but error {code}")


CLUSTER_ACTION = Question(
    ApiKey.CONTROLLED_SHUTDOWN,
    SHUTDOWN_VERSION,
    ControlledShutdownRequest(broker_id=NO_BROKER, broker_epoch=NO_EPOCH),
    _may_act,
)
"""Whether the principal may do what brokers do."""

Answer = Callable[[RequestFrame, Caller], bytes | Awaitable[bytes]]
"""As `server.dispatch.router.Router.answer`, with `caller.asked`."""


def put(asked: Asked, client: Client, frame: RequestFrame, question: Question, answer: Answer) -> Exchange:
    """The question in the place of a request that is all there, and our answer in the place of the broker's."""

    def settle(payload: bytes) -> bytes | Awaitable[bytes]:
        response = decode_response(parse_response(payload, question.api_key, question.version))
        return answer(frame, client.caller._replace(asked=question.read(response)))

    upstream = encode_request(question.request, question.version, asked.correlation_id, frame.client_id)
    return Exchange(upstream, whole(settle))


def asking(question: Callable[[RequestFrame], Question], answer: Answer) -> Rule:
    """The rule of what is answered here after a question."""

    def ask(asked: Asked, client: Client) -> Exchange | int:
        if not asked.whole:
            return asked.size
        frame = parse_request(bytes(asked.frame))
        return put(asked, client, frame, question(frame), answer)

    return ask
