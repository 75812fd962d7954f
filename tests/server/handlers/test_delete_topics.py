"""DeleteTopics (20)."""

import asyncio
from typing import Any

from common.error_codes import ErrorCode
from common.tasks import POLL_SECONDS
from controller.messages.events import DeleteTopics
from controller.model.errors import DONE, Outcome
from protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from server.dispatch.authorizer import CLUSTER, Operation
from server.handlers.delete_topics import handle, refuse
from tests.builders import InMemoryController, partition
from tests.server.fakes import NOBODY, FakeDriver, allowing, answer, context, decoded

FOO_ID = b"foo".ljust(16, b"\0")
STATE = InMemoryController().with_partitions(partition("foo-0", [1]), partition("bar-0", [1])).state


def named(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=names)


def identified(topic_id: bytes) -> DeleteTopicsRequest:
    return DeleteTopicsRequest([DeleteTopicState(None, topic_id)])


async def ask(request: DeleteTopicsRequest, driver: FakeDriver, **fields: Any) -> list[tuple[Any, ...]]:
    response = await answer(handle, request, context(6, STATE, driver, **fields))
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
    state.dropping["foo"] = {(0, 1)}
    request = named("foo")._replace(timeout_ms=60_000)
    asked = context(6, state, FakeDriver([("foo", DONE)]))
    waiting = asyncio.ensure_future(answer(handle, request, asked))
    await asyncio.sleep(3 * POLL_SECONDS)
    assert not waiting.done()
    del state.dropping["foo"]
    assert [row.error_code for row in (await waiting).responses] == [0]


async def test_the_response_waits_for_the_timeout_at_most() -> None:
    state = InMemoryController().with_partitions(partition("foo-0", [1])).state
    state.dropping["foo"] = {(0, 1)}
    asked = context(6, state, FakeDriver([("foo", DONE)]))
    response = await answer(handle, named("foo")._replace(timeout_ms=5), asked)
    assert [row.error_code for row in response.responses] == [0]


async def test_an_unknown_id_is_refused() -> None:
    assert await ask(identified(b"?" * 16), FakeDriver([])) == [(None, b"?" * 16, 100, None)]


async def test_a_topic_named_twice_is_refused_without_affecting_others() -> None:
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


def test_a_refusal_is_repeated_for_every_topic() -> None:
    assert [row.error_code for row in refuse(named("foo", "bar"), -1, None).responses] == [-1, -1]


async def test_an_empty_name_is_answered_with_itself() -> None:
    asked = context(1, STATE, FakeDriver([]), authorizer=NOBODY)
    (row,) = decoded(await answer(handle, named(""), asked), 1).responses
    assert (row.name, row.error_code) == ("", 29)
