"""Metadata (3)."""

import pytest

from controller.model.access import Operation
from controller.model.cluster import Topic
from protocol.codec.errors import ApiError
from protocol.codec.wire import codec
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponse
from server.dispatch.context import (
    NOT_ASKED,
)
from server.handlers.metadata import (
    describe_all,
    describe_by_id,
    describe_by_name,
    handle,
    leader_error,
    offline_replicas,
    refuse,
)
from tests.builders import InMemoryController, partition
from tests.server.fakes import NOBODY, allowing, answer, context

FOO_ID = b"foo".ljust(16, b"\0")


def controller(**fields: object) -> InMemoryController:
    return InMemoryController((1, 2, 3)).with_partitions(
        partition("foo-0", [1, 2], **fields), partition("bar-0", [3])
    )


def named(*names: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])


def identified(topic_id: bytes) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(topic_id, None)])


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


@pytest.mark.parametrize("version", range(14))
async def test_every_version_lists_all_topics(version: int) -> None:
    request = MetadataRequest(topics=None if version else ())
    response = await answer(handle, request, context(version, controller().state))
    decoded = codec(MetadataResponse, version).decode(codec(MetadataResponse, version).encode(response))
    assert names(decoded) == ["foo", "bar"]
    assert [broker.node_id for broker in decoded.brokers] == [1, 2, 3]


async def test_from_version_1_no_topics_are_none() -> None:
    assert names(await answer(handle, named(), context(1, controller().state))) == []


async def test_a_partition_is_described() -> None:
    moving = controller(isr=(2,), leader=2, leader_epoch=7)
    response = await answer(handle, named("foo"), context(12, moving.state))
    (topic,) = response.topics
    assert (topic.error_code, topic.topic_id, topic.is_internal) == (0, FOO_ID, False)
    assert tuple(topic.partitions[0]) == (0, 0, 2, 7, (1, 2), (2,), ())


async def test_replicas_on_dead_brokers_are_offline_and_dead_brokers_are_not_listed() -> None:
    given = controller(leader=2)
    given.state.cluster.live.discard(1)
    response = await answer(handle, named("foo"), context(12, given.state))
    assert response.topics[0].partitions[0].offline_replicas == (1,)
    assert [broker.node_id for broker in response.brokers] == [2, 3]
    assert response.controller_id == 2


async def test_a_partition_without_a_leader_has_an_error() -> None:
    response = await answer(handle, named("foo"), context(12, controller(leader=-1).state))
    assert response.topics[0].partitions[0].error_code == 5


async def test_no_live_broker_means_no_controller() -> None:
    response = await answer(handle, named(), context(12, InMemoryController((1,), live=()).state))
    assert response.controller_id == -1


@pytest.mark.parametrize(("name", "code"), [("nope", 3), ("no/pe", 17), ("..", 17), ("", 17)])
async def test_an_unknown_topic_has_an_error(name: str, code: int) -> None:
    response = await answer(handle, named(name, "bar"), context(12, controller().state))
    assert [topic.error_code for topic in response.topics] == [code, 0]


async def test_a_topic_is_found_by_id() -> None:
    assert names(await answer(handle, identified(FOO_ID), context(12, controller().state))) == ["foo"]


async def test_an_unknown_id_has_an_error() -> None:
    response = await answer(handle, identified(b"?" * 16), context(12, controller().state))
    assert [tuple(topic[:3]) for topic in response.topics] == [(100, None, b"?" * 16)]


async def test_a_topic_with_neither_name_nor_id_is_refused() -> None:
    with pytest.raises(ApiError):
        await answer(handle, identified(bytes(16)), context(12, controller().state))


async def test_a_name_with_many_ids_is_returned_once() -> None:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(bytes([number] * 16), "foo") for number in range(9)]
    )
    assert names(await answer(handle, request, context(12, controller().state))) == ["foo"]


async def test_a_topic_requested_twice_is_returned_once() -> None:
    assert names(await answer(handle, named("foo", "foo"), context(12, controller().state))) == ["foo"]


async def test_a_topic_without_describe_permission_is_omitted_from_the_list_of_all() -> None:
    asked = context(12, controller().state, authorizer=allowing((Operation.READ, "bar")))
    assert names(await answer(handle, MetadataRequest(topics=None), asked)) == ["bar"]


async def test_a_topic_without_describe_permission_is_refused_by_name() -> None:
    response = await answer(handle, named("foo"), context(12, controller().state, authorizer=NOBODY))
    assert [tuple(topic[:2]) for topic in response.topics] == [(29, "foo")]


async def test_the_name_of_a_topic_without_describe_permission_is_not_revealed() -> None:
    response = await answer(handle, identified(FOO_ID), context(12, controller().state, authorizer=NOBODY))
    assert [tuple(topic[:2]) for topic in response.topics] == [(29, None)]


async def test_authorized_operations_are_returned_only_on_request() -> None:
    request = named("foo")._replace(
        include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    )
    asked = context(8, controller().state, authorizer=allowing((Operation.ALTER, "foo")))
    response = await answer(handle, request, asked)
    assert response.topics[0].topic_authorized_operations == 1 << Operation.ALTER | 1 << Operation.DESCRIBE
    assert response.cluster_authorized_operations == 0
    response = await answer(handle, named("foo"), asked)
    assert response.topics[0].topic_authorized_operations == -2147483648


async def test_a_large_cluster_is_described_in_the_same_way() -> None:
    many = InMemoryController().with_partitions(*[partition(f"foo-{index}", [1, 2]) for index in range(1000)])
    many.put(Topic("empty", b"e" * 16))
    response = await answer(handle, MetadataRequest(topics=None), context(12, many.state))
    assert [len(topic.partitions) for topic in response.topics] == [1000, 0]


def test_a_refusal_is_repeated_for_every_topic() -> None:
    response = refuse(named("foo"), -1, None)
    assert (response.error_code, response.topics[0].error_code) == (-1, -1)


@pytest.mark.parametrize("version", range(10, 14))
async def test_a_topic_without_a_name_is_refused_where_it_is_not_found_by_id(version: int) -> None:
    asked = context(version, controller().state)
    if version >= 12:
        assert names(await answer(handle, identified(FOO_ID), asked)) == ["foo"]
        return
    with pytest.raises(ApiError, match="needs a name"):
        await answer(handle, identified(FOO_ID), asked)
    codec(MetadataResponse, version).encode(refuse(identified(bytes(16)), 42, None)._replace(error_code=0))


STATE = InMemoryController().with_partitions(partition("foo-0", [1]), partition("bar-0", [1])).state


def test_a_topic_is_found_by_name_and_by_id() -> None:
    found = describe_by_name("foo", context(12, STATE), operations=False)
    assert found == describe_by_id(FOO_ID, context(12, STATE), operations=False)
    assert (found.error, found.name, found.id, found.operations) == (0, "foo", FOO_ID, NOT_ASKED)
    assert [each.key for each in found.partitions] == [("foo", 0)]


def test_operations_of_a_topic_are_returned_on_request() -> None:
    asked = context(12, STATE, authorizer=allowing((Operation.DESCRIBE, "foo")))
    assert describe_by_name("foo", asked, operations=True).operations == 1 << Operation.DESCRIBE


@pytest.mark.parametrize(("name", "code"), [("nope", 3), ("no pe", 17), ("x" * 250, 17)])
def test_a_missing_topic_has_an_error(name: str, code: int) -> None:
    assert describe_by_name(name, context(12, STATE), operations=False)[:2] == (code, name)


def test_an_unknown_id_has_no_name() -> None:
    assert describe_by_id(b"?" * 16, context(12, STATE), operations=False)[:3] == (100, None, b"?" * 16)


def test_a_topic_without_describe_permission_is_denied_whether_it_exists_or_not() -> None:
    nobody = context(12, STATE, authorizer=NOBODY)
    assert describe_by_name("foo", nobody, operations=False)[:2] == (29, "foo")
    assert describe_by_name("nope", nobody, operations=False)[:2] == (29, "nope")
    assert describe_by_id(FOO_ID, nobody, operations=False)[:2] == (29, None)


def test_all_topics_with_describe_permission_are_listed() -> None:
    assert [each.name for each in describe_all(context(12, STATE), operations=False)] == ["foo", "bar"]
    assert describe_all(context(12, STATE, authorizer=NOBODY), operations=False) == []


def test_a_partition_without_a_leader_is_in_error() -> None:
    assert leader_error(partition("foo-0", [1])) == 0
    assert leader_error(partition("foo-0", [1], leader=-1)) == 5


def test_offline_replicas_are_those_on_dead_brokers() -> None:
    assert offline_replicas((1, 2, 3), {2}) == (1, 3)
