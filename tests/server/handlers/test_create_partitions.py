"""CreatePartitions (37)."""

from common.error_codes import ErrorCode
from controller.messages.events import CreatePartitions, NewPartitions
from controller.model.errors import DONE, Outcome
from protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from server.handlers.create_partitions import handle, refuse
from tests.server.fakes import NOBODY, FakeDriver, answer, context, encodable

FOO = CreatePartitionsTopic("foo", 4, None)
BY_HAND = CreatePartitionsTopic("bar", 2, [CreatePartitionsAssignment((1, 2))])


async def test_topics_grow() -> None:
    driver = FakeDriver([("foo", DONE), ("bar", Outcome(ErrorCode.INVALID_PARTITIONS, "no"))])
    request = CreatePartitionsRequest([FOO, BY_HAND], validate_only=True)
    response = encodable(await answer(handle, request, context(3, driver=driver)), 37)
    grown = [NewPartitions("foo", 4, None), NewPartitions("bar", 2, [(1, 2)])]
    assert driver.events == [CreatePartitions(grown, True)]
    assert [tuple(row) for row in response.results] == [("foo", 0, None), ("bar", 37, "no")]


async def test_a_topic_named_twice_is_refused_without_affecting_others() -> None:
    driver = FakeDriver([("bar", DONE)])
    response = await answer(handle, CreatePartitionsRequest([FOO, BY_HAND, FOO]), context(3, driver=driver))
    assert [row.error_code for row in response.results] == [42, 0, 42]


async def test_a_principal_without_alter_permission_is_refused() -> None:
    asked = context(3, driver=FakeDriver([]), authorizer=NOBODY)
    response = await answer(handle, CreatePartitionsRequest([FOO]), asked)
    assert [row.error_code for row in response.results] == [29]


def test_a_refusal_is_repeated_for_every_topic() -> None:
    assert [row.error_code for row in refuse(CreatePartitionsRequest([FOO]), -1, None).results] == [-1]
