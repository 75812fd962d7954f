"""The context that a handler gets with a request."""

import asyncio
import threading

import pytest

from controller.model.access import Operation
from server.dispatch.context import (
    CLUSTER,
    LONGEST_CLIENT_ID,
    NOT_ASKED,
    AllowAll,
    authorized_operations,
    merged,
    recorded_client_id,
    repeated,
    topic,
)
from tests.builders import InMemoryController
from tests.server.fakes import CLUSTER_ADMIN, AclTable, allowing, context


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


def test_repeated_returns_values_that_occur_more_than_once() -> None:
    assert repeated(["a", "b", "a", "c", "a"]) == {"a"}


def test_results_are_in_the_order_of_the_request() -> None:
    assert merged([None, (29, None), None], [(0, None), (3, "no")]) == [(0, None), (29, None), (3, "no")]


def test_each_row_must_have_a_result() -> None:
    with pytest.raises((StopIteration, RuntimeError)):
        merged([None, None], [(0, None)])


@pytest.mark.parametrize(
    ("given", "recorded"),
    [("me", "me"), (None, None), ("", ""), (32_767 * "x", LONGEST_CLIENT_ID * "x")],
)
def test_a_client_id_is_cut(given: str | None, recorded: str | None) -> None:
    assert recorded_client_id(given) == recorded


FOO = topic("foo")


def may(granted: Operation, wanted: Operation) -> bool:
    return AclTable([("User:a", granted, FOO)]).allows("User:a", wanted, FOO)


def test_without_an_authorizer_everyone_may_do_everything() -> None:
    assert AllowAll().allows("User:a", Operation.ALTER, CLUSTER)


def test_a_table_allows_only_the_listed_operations() -> None:
    table = AclTable([("User:a", Operation.ALTER, FOO)])
    assert table.allows("User:a", Operation.ALTER, FOO)
    assert not table.allows("User:b", Operation.ALTER, FOO)
    assert not table.allows("User:a", Operation.ALTER, topic("bar"))
    assert not table.allows("User:a", Operation.DELETE, FOO)


@pytest.mark.parametrize("granted", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_other_operations_imply_describe(granted: Operation) -> None:
    assert may(granted, Operation.DESCRIBE)
    assert not may(Operation.DESCRIBE, granted)


def test_alter_configs_implies_describe_configs() -> None:
    assert may(Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS)
    assert not may(Operation.ALTER, Operation.DESCRIBE_CONFIGS)
    assert not may(Operation.CREATE, Operation.DESCRIBE)


def test_authorized_operations_are_a_bit_field() -> None:
    table = AclTable([("User:a", Operation.READ, FOO)])
    assert authorized_operations(table, "User:a", FOO) == 1 << 3 | 1 << 8
    assert authorized_operations(table, "User:b", FOO) == 0


def test_the_bit_fields_for_all_operations_equal_kafkas() -> None:
    assert authorized_operations(AllowAll(), "User:a", FOO) == 0b0000_1101_1111_1000
    assert authorized_operations(AllowAll(), "User:a", CLUSTER) == 0b0001_1111_1010_0000
