"""CreateTopics (19), CreatePartitions (37), DeleteTopics (20)."""

import asyncio
from typing import Any

from common.error_codes import ErrorCode
from common.tasks import POLL_SECONDS
from controller.messages.events import (
    CreatedTopic,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    NewPartitions,
    NewTopic,
)
from controller.model.access import Operation
from controller.model.cluster import Topic
from controller.model.errors import DONE, Outcome
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from server.dispatch.context import (
    CLUSTER,
)
from server.handlers import create_partitions, create_topics, delete_topics
from tests.builders import InMemoryController, partition
from tests.server.fakes import NEW_ID, NOBODY, FakeDriver, allowing, answer, context, decoded, encodable

FOO = CreatableTopic("foo", 3, 2, configs=[CreatableTopicConfig("min.insync.replicas", "2")])


def created() -> State:
    state = State(mode=EMBEDDED)
    state.put(Topic("foo", NEW_ID))
    return state


async def test_a_topic_is_created_and_described() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
    response = await answer(create_topics.handle, CreateTopicsRequest([FOO]), context(7, created(), driver))
    encodable(response, 19)
    assert driver.events == [CreateTopics([NewTopic("foo", NEW_ID, 3, 2, {}, {"min.insync.replicas": "2"})])]
    (topic,) = response.topics
    assert (topic.topic_id, topic.error_code, topic.error_message) == (NEW_ID, 0, None)
    assert (topic.num_partitions, topic.replication_factor) == (3, 2)
    assert "retention.ms" in {config.name for config in topic.configs}


async def test_replicas_may_be_assigned_by_hand() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 1, 2)])
    topic = CreatableTopic("foo", -1, -1, [CreatableReplicaAssignment(0, (1, 2))])
    await answer(
        create_topics.handle, CreateTopicsRequest([topic], validate_only=True), context(7, created(), driver)
    )
    assert driver.events == [CreateTopics([NewTopic("foo", NEW_ID, -1, -1, {0: (1, 2)})], True)]


async def test_a_partition_assigned_twice_is_refused_without_affecting_others() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
    twice = CreatableTopic("bar", -1, -1, [CreatableReplicaAssignment(0, (1,))] * 2)
    response = await answer(
        create_topics.handle, CreateTopicsRequest([twice, FOO]), context(7, created(), driver)
    )
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("bar", 39), ("foo", 0)]


async def test_a_refused_topic_has_its_error_and_no_configs() -> None:
    driver = FakeDriver([CreatedTopic("foo", Outcome(ErrorCode.TOPIC_ALREADY_EXISTS, "there"))])
    response = await answer(create_topics.handle, CreateTopicsRequest([FOO]), context(7, driver=driver))
    encodable(response, 19)
    assert [topic[:4] for topic in response.topics] == [("foo", bytes(16), 36, "there")]
    assert response.topics[0].configs is None


async def test_validation_only_has_no_topic_id() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
    response = await answer(
        create_topics.handle, CreateTopicsRequest([FOO], validate_only=True), context(7, driver=driver)
    )
    assert response.topics[0].topic_id == bytes(16)


async def test_a_principal_without_create_permission_is_refused() -> None:
    driver = FakeDriver([])
    asked = context(7, driver=driver, authorizer=NOBODY)
    response = await answer(create_topics.handle, CreateTopicsRequest([FOO]), asked)
    assert [topic.error_code for topic in response.topics] == [29]


async def test_create_may_be_allowed_on_the_topic_or_on_the_cluster() -> None:
    for resource in (CLUSTER, "foo"):
        driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
        asked = context(7, created(), driver, allowing((Operation.CREATE, resource)))
        (topic,) = (await answer(create_topics.handle, CreateTopicsRequest([FOO]), asked)).topics
        assert (topic.error_code, topic.topic_config_error_code, topic.configs) == (0, 29, None)


def test_a_refusal_is_repeated_for_every_topic() -> None:
    assert [
        topic.error_code for topic in create_topics.refuse(CreateTopicsRequest([FOO]), -1, None).topics
    ] == [-1]


FOO_OF_CREATE_PARTITIONS = CreatePartitionsTopic("foo", 4, None)
BY_HAND = CreatePartitionsTopic("bar", 2, [CreatePartitionsAssignment((1, 2))])


async def test_topics_grow() -> None:
    driver = FakeDriver([("foo", DONE), ("bar", Outcome(ErrorCode.INVALID_PARTITIONS, "no"))])
    request = CreatePartitionsRequest([FOO_OF_CREATE_PARTITIONS, BY_HAND], validate_only=True)
    response = encodable(await answer(create_partitions.handle, request, context(3, driver=driver)), 37)
    grown = [NewPartitions("foo", 4, None), NewPartitions("bar", 2, [(1, 2)])]
    assert driver.events == [CreatePartitions(grown, True)]
    assert [tuple(row) for row in response.results] == [("foo", 0, None), ("bar", 37, "no")]


async def test_a_topic_named_twice_is_refused_without_affecting_others() -> None:
    driver = FakeDriver([("bar", DONE)])
    response = await answer(
        create_partitions.handle,
        CreatePartitionsRequest([FOO_OF_CREATE_PARTITIONS, BY_HAND, FOO_OF_CREATE_PARTITIONS]),
        context(3, driver=driver),
    )
    assert [row.error_code for row in response.results] == [42, 0, 42]


async def test_a_principal_without_alter_permission_is_refused() -> None:
    asked = context(3, driver=FakeDriver([]), authorizer=NOBODY)
    response = await answer(
        create_partitions.handle, CreatePartitionsRequest([FOO_OF_CREATE_PARTITIONS]), asked
    )
    assert [row.error_code for row in response.results] == [29]


def test_a_refusal_is_repeated_for_every_topic_by_create_partitions() -> None:
    assert [
        row.error_code
        for row in create_partitions.refuse(
            CreatePartitionsRequest([FOO_OF_CREATE_PARTITIONS]), -1, None
        ).results
    ] == [-1]


FOO_ID = b"foo".ljust(16, b"\0")
STATE = InMemoryController().with_partitions(partition("foo-0", [1]), partition("bar-0", [1])).state


def named(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=names)


def identified(topic_id: bytes) -> DeleteTopicsRequest:
    return DeleteTopicsRequest([DeleteTopicState(None, topic_id)])


async def ask(request: DeleteTopicsRequest, driver: FakeDriver, **fields: Any) -> list[tuple[Any, ...]]:
    response = await answer(delete_topics.handle, request, context(6, STATE, driver, **fields))
    return [tuple(row) for row in response.responses]


async def test_topics_are_deleted_by_name() -> None:
    driver = FakeDriver([("foo", DONE), ("nope", Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))])
    rows = await ask(named("foo", "nope"), driver)
    assert driver.events == [DeleteTopics(["foo", "nope"])]
    assert rows == [("foo", bytes(16), 0, None), ("nope", bytes(16), 3, None)]


async def test_topics_are_deleted_by_id() -> None:
    driver = FakeDriver([("foo", DONE)])
    assert await ask(identified(FOO_ID), driver) == [("foo", FOO_ID, 0, None)]
    assert driver.events == [DeleteTopics(["foo"])]


async def test_the_response_waits_until_the_brokers_have_deleted_the_replicas() -> None:
    state = InMemoryController().with_partitions(partition("foo-0", [1])).state
    state.cluster.dropping["foo"] = {(0, 1)}
    request = named("foo")._replace(timeout_ms=60_000)
    asked = context(6, state, FakeDriver([("foo", DONE)]))
    waiting = asyncio.ensure_future(answer(delete_topics.handle, request, asked))
    await asyncio.sleep(3 * POLL_SECONDS)
    assert not waiting.done()
    del state.cluster.dropping["foo"]
    assert [row.error_code for row in (await waiting).responses] == [0]


async def test_the_response_waits_for_the_timeout_at_most() -> None:
    state = InMemoryController().with_partitions(partition("foo-0", [1])).state
    state.cluster.dropping["foo"] = {(0, 1)}
    asked = context(6, state, FakeDriver([("foo", DONE)]))
    response = await answer(delete_topics.handle, named("foo")._replace(timeout_ms=5), asked)
    assert [row.error_code for row in response.responses] == [0]


async def test_an_unknown_id_is_refused() -> None:
    assert await ask(identified(b"?" * 16), FakeDriver([])) == [(None, b"?" * 16, 100, None)]


async def test_a_topic_named_twice_is_refused_without_affecting_others_by_delete_topics() -> None:
    rows = await ask(named("foo", "bar", "foo"), FakeDriver([("bar", DONE)]))
    assert [row[2] for row in rows] == [42, 0, 42]


async def test_a_principal_without_delete_permission_is_refused() -> None:
    rows = await ask(named("foo"), FakeDriver([]), authorizer=NOBODY)
    assert rows == [("foo", bytes(16), 29, None)]


async def test_delete_permission_on_the_cluster_covers_every_topic() -> None:
    may_delete_all = allowing((Operation.DELETE, CLUSTER))
    rows = await ask(named("foo"), FakeDriver([("foo", DONE)]), authorizer=may_delete_all)
    assert rows == [("foo", bytes(16), 0, None)]
    rows = await ask(identified(FOO_ID), FakeDriver([("foo", DONE)]), authorizer=may_delete_all)
    assert rows == [("foo", FOO_ID, 0, None)]


async def test_without_describe_permission_the_topic_name_is_not_revealed() -> None:
    assert await ask(identified(FOO_ID), FakeDriver([]), authorizer=NOBODY) == [(None, FOO_ID, 29, None)]
    may_describe = allowing((Operation.DESCRIBE, "foo"))
    rows = await ask(identified(FOO_ID), FakeDriver([]), authorizer=may_describe)
    assert rows == [("foo", FOO_ID, 29, None)]


def test_a_refusal_is_repeated_for_every_topic_by_delete_topics() -> None:
    assert [row.error_code for row in delete_topics.refuse(named("foo", "bar"), -1, None).responses] == [
        -1,
        -1,
    ]


async def test_an_empty_name_is_answered_with_itself() -> None:
    asked = context(1, STATE, FakeDriver([]), authorizer=NOBODY)
    (row,) = decoded(await answer(delete_topics.handle, named(""), asked), 1).responses
    assert (row.name, row.error_code) == ("", 29)
