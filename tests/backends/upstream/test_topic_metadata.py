import pytest

from backends.client.errors import BrokerError, RequestTimedOutError, UnreachableError
from backends.upstream.client import ListedBroker
from backends.upstream.topic_metadata import ask_every_broker, merged, ongoing_moves, polled_topics
from controller.gateway.events import UpstreamMove, UpstreamPartition, UpstreamTopic
from controller.model.cluster import NO_ID
from controller.model.replicas import Replicas
from protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.backends.upstream.scripted import Scripted
from tests.builders import key


def test_only_the_requested_partitions_of_a_topic_are_returned() -> None:
    rows = [MetadataResponsePartition(0, n, 1, 7, (1, 2), (1,), ()) for n in range(3)]
    response = MetadataResponse(topics=[MetadataResponseTopic(0, "foo", b"x" * 16, False, rows)])
    (topic,) = polled_topics(response, {key("foo-1")})
    assert (topic.name, topic.id) == ("foo", b"x" * 16)
    assert topic.partitions == {1: UpstreamPartition((1, 2), (1,), 1, 7)}
    assert len(polled_topics(response, None)[0].partitions) == 3


def test_offline_replicas_are_returned() -> None:
    rows = [MetadataResponsePartition(0, n, 1, 7, (1, 2), (1,), (2,) * n) for n in range(2)]
    response = MetadataResponse(topics=[MetadataResponseTopic(0, "foo", b"x" * 16, False, rows)])
    assert [topic.offline for topic in polled_topics(response, None)] == [{1: (2,)}]


@pytest.mark.parametrize("numbers", [(0, -1), (-1,), (0, 2), (0, 0), (1,), (0, 2**31 - 1)], ids=str)
def test_partitions_that_are_not_numbered_from_0_without_gaps_make_no_sense(numbers: tuple[int, ...]) -> None:
    rows = [MetadataResponsePartition(0, n, 1, 7, (1, 2), (1,), ()) for n in numbers]
    response = MetadataResponse(topics=[MetadataResponseTopic(0, "foo", b"x" * 16, False, rows)])
    for keys in (None, {key("foo-0")}):
        with pytest.raises(BrokerError, match="the partitions of topic foo are not numbered from 0"):
            polled_topics(response, keys)


def test_a_partition_without_replicas_makes_no_sense() -> None:
    rows = [MetadataResponsePartition(0, 0, 1, 7, (), (), ())]
    with pytest.raises(BrokerError, match="a partition of topic foo has no replicas"):
        polled_topics(MetadataResponse(topics=[MetadataResponseTopic(0, "foo", partitions=rows)]), None)


@pytest.mark.parametrize(
    "row",
    [OngoingPartitionReassignment(-1, (4,), (4,), ()), OngoingPartitionReassignment(0, (), (), ())],
    ids=str,
)
def test_a_reassignment_without_a_partition_or_replicas_makes_no_sense(
    row: OngoingPartitionReassignment,
) -> None:
    response = ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("foo", [row])])
    with pytest.raises(BrokerError, match="the list of reassignments makes no sense: topic foo"):
        ongoing_moves(response)


def test_a_topic_with_incomplete_metadata_is_left_out() -> None:
    response = MetadataResponse(topics=[MetadataResponseTopic(error_code=5, name="new")])
    assert polled_topics(response, None) == []


def test_reassignments_are_moves_by_partition() -> None:
    row = OngoingPartitionReassignment(1, (4, 1, 2), (4,), (2,))
    response = ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("foo", [row])])
    assert ongoing_moves(response) == {key("foo-1"): UpstreamMove((4, 1, 2), (4,), (2,))}


def test_a_refused_list_is_an_error() -> None:
    with pytest.raises(BrokerError, match="list reassignments: CLUSTER_AUTHORIZATION_FAILED"):
        ongoing_moves(ListPartitionReassignmentsResponse(error_code=31))


def view(replicas: Replicas, epoch: int = 0, name: str = "foo") -> UpstreamTopic:
    return UpstreamTopic(name, b"1", {0: UpstreamPartition(replicas, replicas, replicas[0], epoch)})


def shown(*views: list[UpstreamTopic]) -> dict[str, Replicas]:
    return {topic.name: topic.partitions[0].replicas for topic in merged(views)}


def answer(name: str, error: int = 0) -> MetadataResponse:
    rows = [] if error else [MetadataResponsePartition(0, 0, 1, 0, (1,), (1,), ())]
    return MetadataResponse(topics=[MetadataResponseTopic(error, name, partitions=rows)])


def test_a_topic_that_one_broker_knows_is_in_the_view() -> None:
    assert shown([view((1,))], [view((1,)), view((4,), name="new")]) == {"foo": (1,), "new": (4,)}


@pytest.mark.parametrize(
    ("old", "new"),
    [(view((4, 1), 0), view((1,), 1)), (view((1,), 1), view((1, 4), 1))],
    ids=["dropped", "added"],
)
def test_the_newest_row_of_a_partition_is_in_the_view(old: UpstreamTopic, new: UpstreamTopic) -> None:
    expected = {"foo": new.partitions[0].replicas}
    assert shown([old], [new]) == shown([new], [old]) == expected


def test_a_topic_that_was_made_anew_is_not_mixed_with_the_former_one() -> None:
    former, new = (view((1,))._replace(id=name * 16) for name in (b"f", b"n"))
    with pytest.raises(BrokerError, match="topic foo is shown with two ids: it was made anew; try again"):
        merged([[former], [new]])


def test_brokers_that_know_no_ids_count_too() -> None:
    old, new = view((4, 1), 0)._replace(id=NO_ID), view((1,), 1)._replace(id=b"f" * 16)
    assert merged([[old], [new]]) == merged([[new], [old]]) == [new]


def test_offline_replicas_are_those_of_the_newest_row() -> None:
    failed = view((1, 4), 0)._replace(offline={0: (4,)})
    replaced, failed_later = view((1, 5), 1), view((4, 1), 1)._replace(offline={0: (1,)})
    for old, new in ((failed, replaced), (failed, failed_later)):
        assert merged([[old], [new]])[0].offline == merged([[new], [old]])[0].offline == new.offline


async def test_live_brokers_are_asked_and_those_that_do_not_answer_are_left_out() -> None:
    client = Scripted(4)
    client.brokers = {**client.brokers, 4: ListedBroker(4, "localhost", 9004, fenced=True)}
    given = {1: answer("foo"), 2: RequestTimedOutError("broker 2 is slow"), 3: answer("new")}
    client.answers[MetadataRequest] = lambda _, broker: given[broker or 0]
    assert [topic.name for topic in await ask_every_broker(client)] == ["foo", "new"]


async def test_without_an_answer_there_is_no_view() -> None:
    client = Scripted()
    with pytest.raises(UnreachableError, match="nobody answers"):
        await ask_every_broker(client)
    client.brokers = {}
    with pytest.raises(UnreachableError, match="no live broker"):
        await ask_every_broker(client)


async def test_a_topic_that_no_broker_describes_is_an_error() -> None:
    client = Scripted(2)
    client.answers[MetadataRequest] = lambda _, broker: answer("foo", 5)
    with pytest.raises(BrokerError, match="topic foo cannot be described: LEADER_NOT_AVAILABLE"):
        await ask_every_broker(client)
    client.answers[MetadataRequest] = lambda _, broker: answer("foo", 5 if broker == 1 else 0)
    assert [topic.name for topic in await ask_every_broker(client)] == ["foo"]
