"""Convert the responses of a poll to the controller's types."""

from backends.client.errors import BrokerError
from common.error_codes import ErrorCode, error_name
from controller.messages.upstream_events import UpstreamMove, UpstreamPartition, UpstreamTopic
from controller.model.names import TopicPartition
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic


def polled_topics(response: MetadataResponse, keys: set[TopicPartition] | None) -> list[UpstreamTopic]:
    """Return the topics of the response with the partitions in `keys`; None includes all partitions.

    Topics with an error are left out: they do not exist, or their metadata is not complete yet. Raises BrokerError for
    an answer that makes no sense: the controller uses the numbers as indexes.
    """
    topics = []
    for topic in response.topics:
        name = topic.name or ""
        if topic.error_code != ErrorCode.NONE:
            continue
        _check_numbers(topic)
        rows = {
            row.partition_index: UpstreamPartition(
                tuple(row.replica_nodes), tuple(row.isr_nodes), row.leader_id, row.leader_epoch
            )
            for row in topic.partitions
            if keys is None or (name, row.partition_index) in keys
        }
        topics.append(UpstreamTopic(name, topic.topic_id, rows))
    return topics


def _check_numbers(topic: MetadataResponseTopic) -> None:
    numbers = {row.partition_index for row in topic.partitions}
    if numbers and (min(numbers), max(numbers) + 1, len(numbers)) != (0, len(numbers), len(topic.partitions)):
        raise BrokerError(
            f"Metadata makes no sense: the partitions of topic {topic.name} are not numbered from 0"
        )
    if not all(row.replica_nodes for row in topic.partitions):
        raise BrokerError(f"Metadata makes no sense: a partition of topic {topic.name} has no replicas")


def ongoing_moves(response: ListPartitionReassignmentsResponse) -> dict[TopicPartition, UpstreamMove]:
    """Return the reassignments of the response. Raises BrokerError."""
    if response.error_code != ErrorCode.NONE:
        raise BrokerError(f"Kafka refuses to list reassignments: {error_name(response.error_code)}")
    for topic in response.topics:
        if not all(row.partition_index >= 0 and row.replicas for row in topic.partitions):
            raise BrokerError(
                f"the list of reassignments makes no sense: topic {topic.name} has a negative partition"
                " or one without replicas"
            )
    return {
        TopicPartition(topic.name, row.partition_index): UpstreamMove(
            tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
        )
        for topic in response.topics
        for row in topic.partitions
    }
