"""Create, reassign and describe topics with reassignd's own client."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from backends.upstream.client import UpstreamClient
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic

Assignment = Sequence[tuple[int, ...]]

PATIENCE_SECONDS = 60

_topic_numbers = itertools.count(1)


async def until(probe: Callable[[], Any], expected: Any) -> None:
    """Await the probe until it returns the expected value.

    Fails after PATIENCE_SECONDS and shows the last value.
    """
    value: Any = None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (value := await probe()) != expected:
                await asyncio.sleep(0.05)
    except TimeoutError:
        assert value == expected


async def create(client: UpstreamClient, assignment: Assignment) -> str:
    """Create a topic with a new name and these replicas, wait until it is known, and return its name."""
    name = f"made{next(_topic_numbers)}"
    rows = [CreatableReplicaAssignment(partition, ids) for partition, ids in enumerate(assignment)]
    response = await client.ask(CreateTopicsRequest([CreatableTopic(name, -1, -1, rows)], 30_000))
    assert [row.error_code for row in response.topics] == [0], response
    await until(lambda: replicas(client, name), list(assignment))
    return name


async def move(client: UpstreamClient, topic: str, assignment: Assignment) -> Any:
    """Reassign every partition of the topic and return the response."""
    rows = [ReassignablePartition(partition, ids) for partition, ids in enumerate(assignment)]
    return await client.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, rows)]))


async def moving(client: UpstreamClient) -> list[str]:
    """Return the topics with reassignments."""
    listed = await client.ask(ListPartitionReassignmentsRequest())
    return [topic.name for topic in listed.topics]


async def replicas(client: UpstreamClient, topic: str) -> list[tuple[int, ...]]:
    """Return the replicas of each partition; empty while the broker does not know the topic."""
    response = await client.ask(MetadataRequest([MetadataRequestTopic(name=topic)]))
    rows = sorted(response.topics[0].partitions, key=lambda row: row.partition_index)
    return [row.replica_nodes for row in rows]
