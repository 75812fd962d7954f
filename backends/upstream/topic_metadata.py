"""Metadata of an upstream, as the core is told of it."""

from common.error_codes import ErrorCode
from controller.messages.upstream_events import UpstreamPartition, UpstreamTopic
from controller.model.names import TopicPartition
from protocol.messages.metadata_response import MetadataResponse


def seen_topics(response: MetadataResponse, keys: set[TopicPartition] | None) -> list[UpstreamTopic]:
    """The topics in Metadata; of each those partitions that are in `keys`, all of them when that is None.

    A topic that is gone is left out; one whose metadata is not complete yet, too.
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
