"""CreateTopics (19)."""

from common.error_codes import ErrorCode
from controller.messages.events import CreatedTopic, CreateTopics, NewTopic
from controller.model.cluster import Topic
from controller.model.errors import DONE, Outcome
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from server.dispatch.authorizer import CLUSTER, Operation
from server.handlers.create_topics import handle, refuse
from tests.server.fakes import NEW_ID, NOBODY, FakeDriver, allowing, answer, context, encodable

FOO = CreatableTopic("foo", 3, 2, configs=[CreatableTopicConfig("min.insync.replicas", "2")])


def created() -> State:
    state = State(mode=EMBEDDED)
    state.put(Topic("foo", NEW_ID))
    return state


async def test_a_topic_is_created_and_described() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
    response = await answer(handle, CreateTopicsRequest([FOO]), context(7, created(), driver))
    encodable(response, 19)
    assert driver.events == [CreateTopics([NewTopic("foo", NEW_ID, 3, 2, {}, {"min.insync.replicas": "2"})])]
    (topic,) = response.topics
    assert (topic.topic_id, topic.error_code, topic.error_message) == (NEW_ID, 0, None)
    assert (topic.num_partitions, topic.replication_factor) == (3, 2)
    assert "retention.ms" in {config.name for config in topic.configs}


async def test_replicas_may_be_assigned_by_hand() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 1, 2)])
    topic = CreatableTopic("foo", -1, -1, [CreatableReplicaAssignment(0, (1, 2))])
    await answer(handle, CreateTopicsRequest([topic], validate_only=True), context(7, created(), driver))
    assert driver.events == [CreateTopics([NewTopic("foo", NEW_ID, -1, -1, {0: (1, 2)})], True)]


async def test_a_partition_assigned_twice_is_refused_without_affecting_others() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
    twice = CreatableTopic("bar", -1, -1, [CreatableReplicaAssignment(0, (1,))] * 2)
    response = await answer(handle, CreateTopicsRequest([twice, FOO]), context(7, created(), driver))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("bar", 39), ("foo", 0)]


async def test_a_refused_topic_has_its_error_and_no_configs() -> None:
    driver = FakeDriver([CreatedTopic("foo", Outcome(ErrorCode.TOPIC_ALREADY_EXISTS, "there"))])
    response = await answer(handle, CreateTopicsRequest([FOO]), context(7, driver=driver))
    encodable(response, 19)
    assert [topic[:4] for topic in response.topics] == [("foo", bytes(16), 36, "there")]
    assert response.topics[0].configs is None


async def test_validation_only_has_no_topic_id() -> None:
    driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
    response = await answer(handle, CreateTopicsRequest([FOO], validate_only=True), context(7, driver=driver))
    assert response.topics[0].topic_id == bytes(16)


async def test_a_principal_without_create_permission_is_refused() -> None:
    driver = FakeDriver([])
    asked = context(7, driver=driver, authorizer=NOBODY)
    response = await answer(handle, CreateTopicsRequest([FOO]), asked)
    assert [topic.error_code for topic in response.topics] == [29]


async def test_create_may_be_allowed_on_the_topic_or_on_the_cluster() -> None:
    for resource in (CLUSTER, "foo"):
        driver = FakeDriver([CreatedTopic("foo", DONE, 3, 2)])
        asked = context(7, created(), driver, allowing((Operation.CREATE, resource)))
        (topic,) = (await answer(handle, CreateTopicsRequest([FOO]), asked)).topics
        assert (topic.error_code, topic.topic_config_error_code, topic.configs) == (0, 29, None)


def test_a_refusal_is_repeated_for_every_topic() -> None:
    assert [topic.error_code for topic in refuse(CreateTopicsRequest([FOO]), -1, None).topics] == [-1]
