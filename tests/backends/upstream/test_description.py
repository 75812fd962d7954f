from typing import Any

import pytest

from backends.client.errors import BrokerError, RequestTimedOutError
from backends.upstream.description import DescribedPartition, Description, describe
from controller.model.replicas import TopicPartition
from protocol.messages import describe_log_dirs_response as log_dirs
from protocol.messages import list_partition_reassignments_response as moves
from protocol.messages import metadata_response as metadata
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from tests.backends.upstream.scripted import Scripted

ADDING = moves.OngoingPartitionReassignment(1, (4, 1, 2), (4,), (2,))


class Cluster(Scripted):
    """A topic foo with two partitions on brokers 1 and 2; foo-1 is being moved to 4 and 1."""

    cluster_id = "cluster-1"

    def __init__(self) -> None:
        super().__init__(2)
        self.rows = [
            metadata.MetadataResponsePartition(0, 0, 1, replica_nodes=(1, 2), isr_nodes=(1,)),
            metadata.MetadataResponsePartition(0, 1, 2, replica_nodes=(4, 1, 2), isr_nodes=(4, 2)),
        ]
        self.topic_error = self.list_error = self.dirs_error = 0
        self.lists = [[ADDING], [ADDING]]
        self.configs = {"min.insync.replicas": "2"}
        self.answers = {
            MetadataRequest: self._topics,
            ListPartitionReassignmentsRequest: self._moves,
            DescribeLogDirsRequest: self._log_dirs,
            DescribeConfigsRequest: self._configs,
        }

    def _topics(self, *_: Any) -> Any:
        topic = metadata.MetadataResponseTopic(self.topic_error, "foo", partitions=self.rows)
        return metadata.MetadataResponse(topics=[topic])

    def _moves(self, *_: Any) -> Any:
        topic = moves.OngoingTopicReassignment("foo", self.lists.pop(0))
        return moves.ListPartitionReassignmentsResponse(error_code=self.list_error, topics=[topic])

    def _log_dirs(self, _: Any, broker: int | None) -> Any:
        size = 1000 * (broker or 0)
        part = log_dirs.DescribeLogDirsPartition
        topic = log_dirs.DescribeLogDirsTopic("foo", [part(0, size), part(1, size), part(0, 9, 0, True)])
        rows = [log_dirs.DescribeLogDirsResult(self.dirs_error, "/a", [topic], 10**6, 5)]
        return log_dirs.DescribeLogDirsResponse(results=rows)

    def _configs(self, *_: Any) -> Any:
        configs = [DescribeConfigsResourceResult(*each) for each in self.configs.items()]
        return DescribeConfigsResponse(results=[DescribeConfigsResult(resource_name="foo", configs=configs)])


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def partition(found: Description, number: int) -> DescribedPartition:
    return next(row for row in found.partitions if row.key == TopicPartition("foo", number))


async def test_a_partition_has_the_size_at_its_leader(cluster: Cluster) -> None:
    found = await describe(cluster)
    expected = DescribedPartition(
        TopicPartition("foo", 0), (1, 2), (1,), 1, 1000, 2, None, (1000, 2000), ("/a", "/a"), False, (), ()
    )
    assert (partition(found, 0), found.cluster_id, found.gaps) == (expected, "cluster-1", [])
    assert [each.disk_bytes for each in found.brokers] == [10**6, 10**6]
    assert [(each.log_dir, each.usable_bytes) for each in found.brokers[0].dirs] == [("/a", 5)]


async def test_a_topic_in_remote_storage_is_tiered(cluster: Cluster) -> None:
    cluster.configs["remote.storage.enable"] = "true"
    assert [each.tiered for each in (await describe(cluster)).partitions] == [True, True]


async def test_replicas_that_are_being_added_are_left_out(cluster: Cluster) -> None:
    row = partition(await describe(cluster), 1)
    assert (row.replicas, row.isr, row.target) == ((1, 2), (2,), (4, 1))


@pytest.mark.parametrize("lists", [[[ADDING], []], [[], [ADDING]]])
async def test_a_move_that_begins_or_ends_meanwhile_is_not_missed(cluster: Cluster, lists: Any) -> None:
    cluster.lists = lists
    assert partition(await describe(cluster), 1).target == (4, 1)


async def test_sizes_that_are_not_allowed_are_gaps(cluster: Cluster) -> None:
    cluster.dirs_error = 31
    found = await describe(cluster)
    assert (partition(found, 0).bytes, found.brokers[0].disk_bytes) == (None, None)
    assert found.gaps[0].startswith("sizes of broker 1: it names no usable directory; allow DescribeLogDirs")


async def test_a_broker_that_does_not_answer_is_a_gap(cluster: Cluster) -> None:
    cluster.answers[DescribeLogDirsRequest] = lambda _, broker: (
        RequestTimedOutError("slow") if broker == 1 else Cluster()._log_dirs(_, broker)
    )
    found = await describe(cluster)
    assert found.gaps == ["sizes of broker 1: slow"]
    assert [row.bytes for row in found.partitions] == [None, 2000]
    assert [row.sizes for row in found.partitions] == [(None, 2000), (None, 2000)]


async def test_configs_that_cannot_be_read_are_a_gap(cluster: Cluster) -> None:
    cluster.answers[DescribeConfigsRequest] = lambda *_: DescribeConfigsResponse(
        results=[DescribeConfigsResult(29, None, 2, "foo")]
    )
    found = await describe(cluster)
    assert (found.partitions[0].min_isr, found.gaps) == (
        1,
        ["min.insync.replicas of 1 topics; allow DescribeConfigs on them"],
    )
    del cluster.answers[DescribeConfigsRequest]
    cluster.lists = [[], []]
    assert (await describe(cluster)).gaps == ["configs of topics: nobody answers"]


@pytest.mark.parametrize(
    ("attribute", "error"),
    [
        ("topic_error", "topic foo cannot be described: LEADER_NOT_AVAILABLE"),
        ("list_error", "Kafka refuses to list reassignments: LEADER_NOT_AVAILABLE"),
    ],
)
async def test_a_required_part_that_cannot_be_read_is_an_error(
    cluster: Cluster, attribute: str, error: str
) -> None:
    setattr(cluster, attribute, 5)
    with pytest.raises(BrokerError, match=error):
        await describe(cluster)
