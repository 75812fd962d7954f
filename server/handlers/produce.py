"""Produce (0), versions 3-13.

KIP: 467 (v8, error message), 482 (v9), 951 (v10), 516 (v13, topic ids).
ACL: WRITE on the topic.
Errors by partition: TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST.

The embedded cluster has no data path. The API is advertised because Java clients before 2.7 choose their
record format by the broker's version of Produce, and reject a broker without it.
"""

from common.error_codes import ErrorCode
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.messages.produce_request import ProduceRequest, TopicProduceData
from protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles

NO_DATA_PATH = "This cluster moves replicas but stores no records: it is reassignd's embedded cluster."


def refuse(request: ProduceRequest, code: int, message: str | None) -> ProduceResponse:
    """Repeat the error for every partition."""
    return ProduceResponse([_row(topic, code, message) for topic in request.topic_data])


@handles(ApiKey.PRODUCE, ProduceRequest, versions=(3, 13), refuse=refuse)
def handle(request: ProduceRequest, context: Context) -> ProduceResponse:
    """Refuse every partition.

    A request with acks=0 has no response: like Kafka, close the connection on an error.
    """
    if request.acks == 0:
        raise DecodeError(f"a Produce request with acks=0: {NO_DATA_PATH}")
    return ProduceResponse([_refused(topic, context) for topic in request.topic_data])


def _refused(topic: TopicProduceData, context: Context) -> TopicProduceResponse:
    name = topic.name or context.state.cluster.topic_names.get(topic.topic_id, "")
    if context.allows_topic(Operation.WRITE, name):
        return _row(topic, ErrorCode.INVALID_REQUEST, NO_DATA_PATH)
    return _row(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)


def _row(topic: TopicProduceData, code: int, message: str | None) -> TopicProduceResponse:
    partitions = [
        PartitionProduceResponse(row.index_, code, base_offset=-1, error_message=message)
        for row in topic.partition_data
    ]
    return TopicProduceResponse(topic.name, topic.topic_id, partitions)
