"""The context that a handler gets with a request."""

import asyncio
import threading

from server.dispatch.authorizer import CLUSTER, Operation
from server.dispatch.context import NOT_ASKED
from tests.builders import InMemoryController
from tests.server.fakes import CLUSTER_ADMIN, allowing, context


def test_the_controller_is_the_lowest_live_broker() -> None:
    assert context(0, InMemoryController((3, 1, 2), live=(3, 2)).state).controller_id == 2
    assert context(0, InMemoryController((1,), live=()).state).controller_id == -1


def test_brokers_are_in_order_of_id() -> None:
    assert [broker.id for broker in context(0, InMemoryController((3, 1, 2)).state).brokers()] == [1, 2, 3]


def test_permissions_are_the_principals() -> None:
    admin = context(0, authorizer=CLUSTER_ADMIN)
    assert admin.allows(Operation.ALTER)
    assert not admin.allows(Operation.CREATE)
    assert context(0, authorizer=allowing((Operation.READ, "foo"))).allows_topic(Operation.READ, "foo")


def test_authorized_operations_are_returned_on_request() -> None:
    admin = context(0, authorizer=CLUSTER_ADMIN)
    assert admin.operations_on(CLUSTER, include=False) == NOT_ASKED
    assert admin.operations_on(CLUSTER, include=True) == 1 << Operation.ALTER | 1 << Operation.DESCRIBE


async def test_many_rows_are_translated_in_another_thread() -> None:
    assert await context(0).off_loop(threading.get_ident) != threading.get_ident()


async def test_others_are_served_after_some_rows() -> None:
    asked = context(0)
    others: list[str] = []
    asyncio.get_running_loop().call_soon(others.append, "served")
    await asked.yield_to_loop(49)
    assert others == []
    await asked.yield_to_loop(50)
    assert others == ["served"]
