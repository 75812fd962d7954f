"""Permissions of principals."""

import pytest

from server.dispatch.authorizer import CLUSTER, AllowAll, Operation, authorized_operations, topic
from tests.server.fakes import AclTable

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
