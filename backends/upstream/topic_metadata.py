"""Convert the responses of a poll to the controller's types."""

from backends.client.errors import BrokerError
from common.error_codes import ErrorCode, error_name
from controller.messages.upstream_events import UpstreamMove, UpstreamPartition, UpstreamTopic
from controller.model.names import TopicPartition
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_response import MetadataResponse


def polled_topics(response: MetadataResponse, keys: set[TopicPartition] | None) -> list[UpstreamTopic]:
    """Return the topics of the response with the partitions in `keys`; None includes all partitions.

    Topics with an error are left out: they do not exist, or their metadata is not complete yet.
    """
    topics = []
    for topic in response.topics:
        name = topic.name or ""
        if topic.error_code != ErrorCode.NONE:
            continue
        rows = {
            row.partition_index: UpstreamPartition(
                tuple(row.replica_nodes), tuple(row.isr_nodes), row.leader_id, row.leader_epoch
            )
            for row in topic.partitions
            if keys is None or (name, row.partition_index) in keys
        }
        topics.append(UpstreamTopic(name, topic.topic_id, rows))
    return topics


def ongoing_moves(response: ListPartitionReassignmentsResponse) -> dict[TopicPartition, UpstreamMove]:
    """Return the reassignments of the response. Raises BrokerError."""
    if response.error_code != ErrorCode.NONE:
        raise BrokerError(f"Kafka refuses to list reassignments: {error_name(response.error_code)}")
    return {
        TopicPartition(topic.name, row.partition_index): UpstreamMove(
            tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
        )
        for topic in response.topics
        for row in topic.partitions
    }
