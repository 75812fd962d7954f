import pytest

from backends.client.errors import BrokerError, RequestTimedOutError, UnreachableError
from backends.upstream.client import UpstreamBroker
from backends.upstream.every_broker import ask_every_broker, merged
from controller.messages.upstream_events import UpstreamPartition, UpstreamTopic
from controller.model.names import Replicas
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.backends.upstream.scripted import Scripted


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


async def test_live_brokers_are_asked_and_those_that_do_not_answer_are_left_out() -> None:
    client = Scripted(4)
    client.brokers = {**client.brokers, 4: UpstreamBroker(4, "localhost", 9004, fenced=True)}
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
